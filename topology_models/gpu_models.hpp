// The table of known GPU models.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

enum class GpuVendor : std::uint8_t { Nvidia, Amd };

struct GpuModel {
  std::string_view name;  ///< as in Fabric::gpu_model(): "A100"
  GpuVendor vendor = GpuVendor::Nvidia;
  int compute_capability = 0;  ///< NVIDIA's compute capability times 10; 0 for AMD
  double peak_flops = 0;  ///< peak of dense half-precision matrix math in the data sheet, FLOP/s
  double memory_Bps = 0;  ///< peak rate of its memory in the data sheet, B/s
  bool with_arm_cpu = false;  ///< a superchip: NVIDIA's Grace is the CPU of its node
};

[[nodiscard]] const std::vector<GpuModel>& gpu_models();
/// The model of exactly this name (case-sensitive); nullptr if there is none.
[[nodiscard]] const GpuModel* find_gpu_model(std::string_view name);
/// Message for a name that find_gpu_model does not know: "unknown GPU model 'H800'; expected one of
/// … (did you mean 'H100'?); …", with advice for a GPU that is not in the table.
[[nodiscard]] std::string unknown_gpu_model_message(std::string_view name);

}  // namespace cclgym
