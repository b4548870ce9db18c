#include "topology_models/gpu_models.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <tuple>

#include "core/error.hpp"
#include "core/names.hpp"

namespace cclgym {

namespace {

// GPUs without a model of their own (GpuModel): their compute capability times 10.
constexpr std::pair<std::string_view, int> kOtherGpus[] = {{"P100", 60}, {"A30", 80},   {"A40", 86},
                                                           {"3090", 86}, {"A6000", 86}, {"L40", 89},
                                                           {"5090", 120}};

}  // namespace

const std::vector<GpuModel>& gpu_models() {
  using enum GpuVendor;
  static const std::vector<GpuModel> models{
      {.name = "V100",
       .vendor = Nvidia,
       .compute_capability = 70,
       .peak_flops = 125e12,
       .memory_Bps = 900e9,
       .link_Bps = 25e9},
      // It has no NVLinks; the rate is that of its architecture (TITAN RTX).
      {.name = "T4",
       .vendor = Nvidia,
       .compute_capability = 75,
       .peak_flops = 65e12,
       .memory_Bps = 320e9,
       .link_Bps = 25e9},
      {.name = "A100",
       .vendor = Nvidia,
       .compute_capability = 80,
       .peak_flops = 312e12,
       .memory_Bps = 1555e9,
       .link_Bps = 25e9},  // 40 GB
      {.name = "A800",
       .vendor = Nvidia,
       .compute_capability = 80,
       .peak_flops = 312e12,
       .memory_Bps = 2039e9,
       .link_Bps = 25e9},
      // AWS, Amazon EC2 G5 instances: 70 TFLOP/s in half precision, 600 GB/s. It has no NVLinks;
      // the rate is that of the A40 (data sheet: 112.5 GB/s over 4 links, both directions).
      {.name = "A10G",
       .vendor = Nvidia,
       .compute_capability = 86,
       .peak_flops = 70e12,
       .memory_Bps = 600e9,
       .link_Bps = 14.0625e9},
      // These four have no NVLinks, either.
      {.name = "A10",
       .vendor = Nvidia,
       .compute_capability = 86,
       .peak_flops = 125e12,
       .memory_Bps = 600e9,
       .link_Bps = 14.0625e9},
      {.name = "L4",
       .vendor = Nvidia,
       .compute_capability = 89,
       .peak_flops = 121e12,
       .memory_Bps = 300e9,
       .link_Bps = 14.0625e9},
      {.name = "L40S",
       .vendor = Nvidia,
       .compute_capability = 89,
       .peak_flops = 362e12,
       .memory_Bps = 864e9,
       .link_Bps = 14.0625e9},
      {.name = "4090",
       .vendor = Nvidia,
       .compute_capability = 89,
       .peak_flops = 165e12,
       .memory_Bps = 1008e9,
       .link_Bps = 14.0625e9},
      {.name = "H100",
       .vendor = Nvidia,
       .compute_capability = 90,
       .peak_flops = 989e12,
       .memory_Bps = 3350e9,
       .link_Bps = 25e9},
      {.name = "H200",
       .vendor = Nvidia,
       .compute_capability = 90,
       .peak_flops = 989e12,
       .memory_Bps = 4800e9,
       .link_Bps = 25e9},
      // Resellers list it as an H100 with 8 NVLinks.
      {.name = "H800",
       .vendor = Nvidia,
       .compute_capability = 90,
       .peak_flops = 989e12,
       .memory_Bps = 3350e9,
       .link_Bps = 25e9},
      // H20: not in a public data sheet; as its resellers list it.
      {.name = "H20",
       .vendor = Nvidia,
       .compute_capability = 90,
       .peak_flops = 148e12,
       .memory_Bps = 4000e9,
       .link_Bps = 25e9},
      {.name = "GH200",
       .vendor = Nvidia,
       .compute_capability = 90,
       .peak_flops = 989e12,
       .memory_Bps = 4000e9,
       .link_Bps = 25e9,
       .with_arm_cpu = true},
      {.name = "B200",
       .vendor = Nvidia,
       .compute_capability = 100,
       .peak_flops = 2250e12,
       .memory_Bps = 8000e9,
       .link_Bps = 50e9},
      {.name = "GB200",
       .vendor = Nvidia,
       .compute_capability = 100,
       .peak_flops = 2500e12,
       .memory_Bps = 8000e9,
       .link_Bps = 50e9,
       .with_arm_cpu = true},
      {.name = "B300",
       .vendor = Nvidia,
       .compute_capability = 103,
       .peak_flops = 2250e12,
       .memory_Bps = 8000e9,
       .link_Bps = 50e9},
      {.name = "GB300",
       .vendor = Nvidia,
       .compute_capability = 103,
       .peak_flops = 2500e12,
       .memory_Bps = 8000e9,
       .link_Bps = 50e9,
       .with_arm_cpu = true},
      // Its xGMI: SCCL section 5.1.2.
      {.name = "MI50",
       .vendor = Amd,
       .gfx = 0x906,
       .peak_flops = 26.5e12,
       .memory_Bps = 1024e9,
       .link_Bps = 33e9},
      {.name = "MI250X",
       .vendor = Amd,
       .gfx = 0x90a,
       .peak_flops = 191.5e12,
       .memory_Bps = 1638e9,  // one of two dies
       .link_Bps = 50e9},
      {.name = "MI300X",
       .vendor = Amd,
       .gfx = 0x942,
       .peak_flops = 1307e12,
       .memory_Bps = 5300e9,
       .link_Bps = 64e9},
      {.name = "MI325X",
       .vendor = Amd,
       .gfx = 0x942,
       .peak_flops = 1307e12,
       .memory_Bps = 6000e9,
       .link_Bps = 64e9},
      {.name = "MI350X",
       .vendor = Amd,
       .gfx = 0x950,
       .peak_flops = 2300e12,
       .memory_Bps = 8000e9,
       .link_Bps = 76.8e9},
      {.name = "MI355X",
       .vendor = Amd,
       .gfx = 0x950,
       .peak_flops = 2500e12,
       .memory_Bps = 8000e9,
       .link_Bps = 76.8e9},
  };
  return models;
}

const GpuModel* find_gpu_model(std::string_view name) {
  const auto& all = gpu_models();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const GpuModel& gpu) { return gpu.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const GpuModel* gpu_model_of_device(int pci_device) {
  struct Device {
    int number;
    std::string_view model;
  };
  // The PCI ID Repository.
  static constexpr std::array kDevices{
      Device{0x1db1, "V100"},   Device{0x1db4, "V100"},   Device{0x1db5, "V100"},
      Device{0x1db6, "V100"},   Device{0x1db8, "V100"},   Device{0x20b0, "A100"},
      Device{0x20b2, "A100"},   Device{0x20b5, "A100"},   Device{0x20f1, "A100"},
      Device{0x2237, "A10G"},   Device{0x2321, "H100"},   Device{0x2330, "H100"},
      Device{0x2331, "H100"},   Device{0x2335, "H200"},   Device{0x233b, "H200"},
      Device{0x2329, "H20"},    Device{0x2342, "GH200"},  Device{0x2901, "B200"},
      Device{0x2941, "GB200"},  Device{0x66a1, "MI50"},   Device{0x7408, "MI250X"},
      Device{0x740c, "MI250X"}, Device{0x74a1, "MI300X"}, Device{0x74b5, "MI300X"},
      Device{0x74a5, "MI325X"}, Device{0x74b9, "MI325X"}, Device{0x1eb8, "T4"},
      Device{0x20f3, "A800"},   Device{0x2236, "A10"},    Device{0x27b8, "L4"},
      Device{0x26b9, "L40S"},   Device{0x2684, "4090"},   Device{0x2324, "H800"},
      Device{0x3182, "B300"},   Device{0x31c2, "GB300"},  Device{0x75a0, "MI350X"},
      Device{0x75a3, "MI355X"}};
  const auto found = std::ranges::find(kDevices, pci_device, &Device::number);
  return found == kDevices.end() ? nullptr : find_gpu_model(found->model);
}

GpuKind gpu_kind(const GpuModel& gpu) {
  return {.vendor = gpu.vendor,
          .architecture = gpu.compute_capability + gpu.gfx,
          .with_arm_cpu = gpu.with_arm_cpu};
}

std::vector<const GpuModel*> nearest_gpu_models(
    const GpuKind& gpu, const std::function<bool(const GpuModel&)>& eligible) {
  // An Ada GPU (8.9) is nearer to Ampere (8.6) than to Hopper (9.0).
  const int generation = gpu.vendor == GpuVendor::Nvidia ? 10 : 0x10;
  std::vector<const GpuModel*> nearest;
  std::tuple<int, int, int> least{};
  for (const GpuModel& model : gpu_models()) {
    if (model.vendor != gpu.vendor || (eligible && !eligible(model))) continue;
    const int architecture = gpu_kind(model).architecture;
    const std::tuple<int, int, int> distance{
        std::abs(architecture / generation - gpu.architecture / generation),
        std::abs(architecture - gpu.architecture), architecture};
    if (nearest.empty() || distance < least) {
      nearest.clear();
      least = distance;
    }
    if (distance == least) nearest.push_back(&model);
  }
  // clang 14 cannot parse the form for ranges.
  std::stable_partition(nearest.begin(), nearest.end(), [&](const GpuModel* model) {
    return model->with_arm_cpu == gpu.with_arm_cpu;
  });
  return nearest;
}

std::vector<std::string> device_words(std::string_view device) {
  std::vector<std::string> words(1);
  for (const char c : device) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

bool is_gpu(std::string_view device, std::string_view model) {
  if (device.empty() || model.empty()) return true;
  const std::vector<std::string> words = device_words(device);
  const bool other = std::ranges::any_of(words, [](const std::string& word) {
    const std::string plain = plain_name(word);
    return plain == "pcie" || plain == "nvl" || plain == "mig";
  });
  return !other && std::ranges::find(words, model) != words.end();
}

int known_compute_capability(std::string_view device) {
  int capability = 0;
  for (const std::string& word : device_words(device)) {
    for (const auto& [name, its_capability] : kOtherGpus) {
      if (word == name) capability = its_capability;
    }
  }
  return capability;
}

std::string unknown_gpu_model_message(std::string_view name) {
  std::vector<std::string> names;
  for (const GpuModel& gpu : gpu_models()) names.emplace_back(gpu.name);
  return unknown_name_message("GPU model", name, names) +
         "; for another GPU, add its compute_capability (nvidia-smi --query-gpu=compute_cap "
         "--format=csv), and the nearest one stands for it";
}

}  // namespace cclgym
