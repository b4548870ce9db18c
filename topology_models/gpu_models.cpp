#include "topology_models/gpu_models.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace cclgym {

const std::vector<GpuModel>& gpu_models() {
  using enum GpuVendor;
  static const std::vector<GpuModel> models{
      {.name = "V100",
       .vendor = Nvidia,
       .compute_capability = 70,
       .peak_flops = 125e12,
       .memory_Bps = 900e9},
      {.name = "A100",
       .vendor = Nvidia,
       .compute_capability = 80,
       .peak_flops = 312e12,
       .memory_Bps = 1555e9},  // 40 GB
      // AWS, Amazon EC2 G5 instances: 70 TFLOP/s in half precision, 600 GB/s.
      {.name = "A10G",
       .vendor = Nvidia,
       .compute_capability = 86,
       .peak_flops = 70e12,
       .memory_Bps = 600e9},
      {.name = "H100",
       .vendor = Nvidia,
       .compute_capability = 90,
       .peak_flops = 989e12,
       .memory_Bps = 3350e9},
      {.name = "H200",
       .vendor = Nvidia,
       .compute_capability = 90,
       .peak_flops = 989e12,
       .memory_Bps = 4800e9},
      // H20: not in a public data sheet; as its resellers list it.
      {.name = "H20",
       .vendor = Nvidia,
       .compute_capability = 90,
       .peak_flops = 148e12,
       .memory_Bps = 4000e9},
      {.name = "GH200",
       .vendor = Nvidia,
       .compute_capability = 90,
       .peak_flops = 989e12,
       .memory_Bps = 4000e9,
       .with_arm_cpu = true},
      {.name = "B200",
       .vendor = Nvidia,
       .compute_capability = 100,
       .peak_flops = 2250e12,
       .memory_Bps = 8000e9},
      {.name = "GB200",
       .vendor = Nvidia,
       .compute_capability = 100,
       .peak_flops = 2500e12,
       .memory_Bps = 8000e9,
       .with_arm_cpu = true},
      {.name = "MI50", .vendor = Amd, .peak_flops = 26.5e12, .memory_Bps = 1024e9},
      {.name = "MI250X",
       .vendor = Amd,
       .peak_flops = 191.5e12,
       .memory_Bps = 1638e9},  // one of two dies
      {.name = "MI300X", .vendor = Amd, .peak_flops = 1307e12, .memory_Bps = 5300e9},
      {.name = "MI325X", .vendor = Amd, .peak_flops = 1307e12, .memory_Bps = 6000e9},
  };
  return models;
}

const GpuModel* find_gpu_model(std::string_view name) {
  const auto& all = gpu_models();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const GpuModel& gpu) { return gpu.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string unknown_gpu_model_message(std::string_view name) {
  std::vector<std::string> names;
  for (const GpuModel& gpu : gpu_models()) names.emplace_back(gpu.name);
  return unknown_name_message("GPU model", name, names) +
         "; for another GPU, leave gpu_model out and name the cost model to use";
}

}  // namespace cclgym
