// The table of known GPU models.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

enum class GpuVendor : std::uint8_t { Nvidia, Amd };

struct GpuModel {
  std::string_view name;  ///< as in Fabric::gpu_model(): "A100"
  GpuVendor vendor = GpuVendor::Nvidia;
  int compute_capability = 0;  ///< NVIDIA's compute capability times 10; 0 for AMD
  int gfx = 0;                 ///< AMD's architecture in hexadecimal digits: 0x90a; 0 for NVIDIA
  double peak_flops = 0;  ///< peak of dense half-precision matrix math in the data sheet, FLOP/s
  double memory_Bps = 0;  ///< peak rate of its memory in the data sheet, B/s
  double link_Bps = 0;  ///< rate of an NVLink or xGMI link of its architecture, one direction, B/s
  bool with_arm_cpu = false;  ///< a superchip: NVIDIA's Grace is the CPU of its node
};

[[nodiscard]] const std::vector<GpuModel>& gpu_models();
/// The model of exactly this name (case-sensitive); nullptr if there is none.
[[nodiscard]] const GpuModel* find_gpu_model(std::string_view name);
/// Words of a device's name, of letters and digits: "NVIDIA", "A100", "SXM4" and "40GB".
[[nodiscard]] std::vector<std::string> device_words(std::string_view device);
/// True if a device with this name may be of the model: "NVIDIA A100-SXM4-40GB" of "A100". Cards on
/// PCIe (PCIe, NVL) and parts of a GPU (MIG) are not: their links and rates are others. True if
/// either is empty.
[[nodiscard]] bool is_gpu(std::string_view device, std::string_view model);
/// Compute capability times 10 of a device of NVIDIA that has no model of its own: 90 of "NVIDIA
/// H800"; 0 if it is not known.
[[nodiscard]] int known_compute_capability(std::string_view device);
/// The model with this PCI device number (of NVIDIA or AMD); nullptr if it is of no known model.
[[nodiscard]] const GpuModel* gpu_model_of_device(int pci_device);
/// A kind of GPU, known or not.
struct GpuKind {
  GpuVendor vendor = GpuVendor::Nvidia;
  int architecture = 0;  ///< GpuModel::compute_capability or gfx
  bool with_arm_cpu = false;
};
[[nodiscard]] GpuKind gpu_kind(const GpuModel& gpu);
/// The models of the architecture that is nearest to that of `gpu`, of the same maker: the same
/// generation if there is one, otherwise the nearest number, the lower of two. Those with the same
/// kind of CPU come first, else the order is that of the table. `eligible`: only among these.
[[nodiscard]] std::vector<const GpuModel*> nearest_gpu_models(
    const GpuKind& gpu, const std::function<bool(const GpuModel&)>& eligible = {});
/// How far times may be off if one GPU stands for another one, for warnings: the parameter sets of
/// V100, A100, H100 and GH200 on the links of `hgx-h100`, AllReduce by ring on 16 channels, LL at
/// 1 KiB and Simple at 1 GiB (docs/fabrics.md).
inline constexpr std::string_view kStandInText =
    "times may be off by a factor of 2 to 3, as much as those with the sets of V100, A100, H100 "
    "and "
    "GH200 differ on the same links (2.8 at 1 KiB, 2.1 at 1 GiB)";
/// Message for a name that find_gpu_model does not know: "unknown GPU model 'H800'; expected one of
/// … (did you mean 'H100'?); …", with advice for a GPU that is not in the table.
[[nodiscard]] std::string unknown_gpu_model_message(std::string_view name);

}  // namespace cclgym
