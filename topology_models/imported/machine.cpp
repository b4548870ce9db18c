#include "topology_models/imported/machine.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <numeric>
#include <utility>

#include "topology_models/fabric_file.hpp"
#include "topology_models/fabric_option_error.hpp"

namespace cclgym {

namespace {

// Order of the kinds in a file, and the names of their devices.
constexpr std::pair<NodeKind, std::string_view> kNamesOfKinds[] = {{NodeKind::Gpu, "gpu"},
                                                                   {NodeKind::NvSwitch, "nvswitch"},
                                                                   {NodeKind::PcieSwitch, "pcie"},
                                                                   {NodeKind::Host, "host"},
                                                                   {NodeKind::Nic, "nic"}};

// A device in the file: "gpu3".
struct FileName {
  std::string_view word;
  int number = 0;

  [[nodiscard]] std::string up_to(int last) const {
    return last > number ? fmt::format("{}{}..{}", word, number, last)
                         : fmt::format("{}{}", word, number);
  }
};

std::string rate_text(double rate_Bps) { return fmt::format("{} GB/s", rate_Bps / 1e9); }

// A file's name as a YAML scalar.
std::string quoted_name(const std::string& name) {
  std::string text = "'";
  for (const char c : name) text += c == '\'' ? "''" : std::string(1, c);
  return text + "'";
}

class FabricText {
 public:
  FabricText(const Machine& machine, int nodes) : machine_(machine), nodes_(nodes) {
    for (const auto& [kind, word] : kNamesOfKinds) {
      std::vector<std::size_t> all;
      for (std::size_t k = 0; k < machine.devices.size(); ++k) {
        if (machine.devices[k].kind == kind) all.push_back(k);
      }
      std::ranges::stable_sort(all, {}, [&](std::size_t k) { return machine.devices[k].order; });
      order_.insert(order_.end(), all.begin(), all.end());
    }
    names_.resize(machine.devices.size());
    std::map<NodeKind, int> next;
    for (const std::size_t device : order_) {
      const NodeKind kind = machine.devices[device].kind;
      names_[device] = {
          std::ranges::find(kNamesOfKinds, kind, [](const auto& of) { return of.first; })->second,
          next[kind]++};
    }
  }

  std::string text(const std::string& name) const {
    std::string text = fmt::format("# From {}.\n", machine_.source);
    for (const std::string& warning : machine_.warnings) text += "# Assumed: " + warning + "\n";
    text += "name: " + quoted_name(name) + "\n";
    if (!machine_.gpu_model.empty()) text += "gpu_model: " + machine_.gpu_model + "\n";
    text += fmt::format("cpu: {}\n", to_string(machine_.cpu));
    if (machine_.nics_behind_host_bridge) text += "nics_behind_host_bridge: true\n";
    if (machine_.relays > 0) text += fmt::format("relays: {}\n", machine_.relays);
    const std::string network_switch = "- {name: network, kind: network-switch}\n";
    const std::string network = network_links();
    const bool joined = !network.empty();
    if (nodes_ == 1) {
      text += "nodes:\n" + indented(device_items() + (joined ? network_switch : ""), 2);
      const std::string links = link_items() + network;
      return links.empty() ? text : text + "links:\n" + indented(links, 2);
    }
    if (!joined) {
      throw FabricOptionError("nodes", fmt::format("{} has no NIC to join {} nodes with; expected "
                                                   "nodes = 1, or a description with NICs",
                                                   machine_.source, nodes_));
    }
    text += fmt::format("servers:\n  - name: node0..{}\n    nodes:\n", nodes_ - 1);
    text += indented(device_items(), 6) + "    links:\n" + indented(link_items(), 6);
    return text + "nodes:\n" + indented(network_switch, 2) + "links:\n" + indented(network, 2);
  }

 private:
  static std::string indented(std::string_view lines, int spaces) {
    std::string text;
    while (!lines.empty()) {
      const std::size_t end = lines.find('\n') + 1;
      text += std::string(static_cast<std::size_t>(spaces), ' ').append(lines.substr(0, end));
      lines.remove_prefix(end);
    }
    return text;
  }

  // Successive devices with the same properties are one item.
  [[nodiscard]] std::string device_items() const {
    std::string text;
    for (std::size_t k = 0; k < order_.size();) {
      const MachineDevice& first = machine_.devices[order_[k]];
      std::vector<std::string> known;
      std::size_t end = k;
      while (end < order_.size()) {
        const MachineDevice& device = machine_.devices[order_[end]];
        if (device.kind != first.kind || device.chips != first.chips ||
            device.computes != first.computes) {
          break;
        }
        if (!device.known_as.empty()) known.push_back(device.known_as);
        ++end;
      }
      text += "- {name: " + names_[order_[k]].up_to(names_[order_[end - 1]].number);
      if (first.kind != NodeKind::Gpu) text += fmt::format(", kind: {}", to_string(first.kind));
      if (first.chips > 1) text += fmt::format(", multiplicity: {}", first.chips);
      if (first.computes) text += ", computes: true";
      text += known.empty() ? "}\n" : fmt::format("}}  # {}\n", fmt::join(known, ", "));
      k = end;
    }
    return text;
  }

  [[nodiscard]] static std::string properties(const MachineLink& link) {
    std::string text =
        fmt::format("kind: {}, bandwidth: {}", to_string(link.kind), rate_text(link.unit_Bps));
    if (link.units > 1) text += fmt::format(", multiplicity: {}", link.units);
    if (link.latency_s) text += fmt::format(", latency: {}us", *link.latency_s * 1e6);
    return text;
  }

  // The links between all GPUs if they are equal: one item instead of one per pair.
  [[nodiscard]] bool is_mesh() const {
    const auto gpus = static_cast<std::size_t>(
        std::ranges::count(machine_.devices, NodeKind::Gpu, &MachineDevice::kind));
    std::size_t pairs = 0;
    const MachineLink* first = nullptr;
    for (const MachineLink& link : machine_.links) {
      if (!between_gpus(link)) continue;
      if (first == nullptr) first = &link;
      if (properties(link) != properties(*first)) return false;
      ++pairs;
    }
    return gpus > 2 && pairs == gpus * (gpus - 1) / 2;
  }

  [[nodiscard]] bool between_gpus(const MachineLink& link) const {
    return machine_.devices[link.from].kind == NodeKind::Gpu &&
           machine_.devices[link.to].kind == NodeKind::Gpu;
  }

  [[nodiscard]] std::string link_items() const {
    std::string text;
    const bool mesh = is_mesh();
    bool mesh_said = false;
    // An item joins devices first to first, second to second, …, or all of them to one.
    std::vector<MachineLink> links;
    for (const MachineLink& link : machine_.links) {
      if (!mesh || !between_gpus(link)) {
        links.push_back(link);
      } else if (!std::exchange(mesh_said, true)) {
        const int last = static_cast<int>(std::ranges::count(machine_.devices, NodeKind::Gpu,
                                                             &MachineDevice::kind)) -
                         1;
        text += fmt::format("- {{mesh: gpu0..{}, {}}}\n", last, properties(link));
      }
    }
    std::ranges::stable_sort(links, {}, [&](const MachineLink& link) {
      return std::pair(names_[link.from].word, names_[link.from].number);
    });
    std::ranges::stable_sort(links, {}, &MachineLink::kind);
    for (std::size_t k = 0; k < links.size();) {
      const std::size_t end = end_of_item(links, k);
      const FileName from = names_[links[k].from];
      const FileName to = names_[links[k].to];
      text += fmt::format("- {{from: {}, to: {}, {}}}\n",
                          from.up_to(names_[links[end - 1].from].number),
                          to.up_to(names_[links[end - 1].to].number), properties(links[k]));
      k = end;
    }
    return text;
  }

  [[nodiscard]] std::size_t end_of_item(const std::vector<MachineLink>& links,
                                        std::size_t first) const {
    const FileName from = names_[links[first].from];
    const FileName to = names_[links[first].to];
    int step = 0;  // between the numbers at the other end
    std::size_t end = first + 1;
    for (; end < links.size(); ++end) {
      const int count = static_cast<int>(end - first);
      const FileName next_from = names_[links[end].from];
      const FileName next_to = names_[links[end].to];
      if (count == 1) step = next_to.number - to.number;
      if (next_from.word != from.word || next_from.number != from.number + count ||
          next_to.word != to.word || step < 0 || step > 1 ||
          next_to.number != to.number + step * count ||
          properties(links[end]) != properties(links[first])) {
        break;
      }
    }
    return end;
  }

  // Successive NICs of the same rate are one item.
  [[nodiscard]] std::string network_links() const {
    std::string text;
    const std::string prefix = nodes_ > 1 ? fmt::format("node0..{}/", nodes_ - 1) : "";
    for (std::size_t k = 0; k < order_.size();) {
      const MachineDevice& first = machine_.devices[order_[k]];
      std::size_t end = k + 1;
      if (first.kind == NodeKind::Nic) {
        while (end < order_.size() &&
               machine_.devices[order_[end]].network_Bps == first.network_Bps) {
          ++end;
        }
        text += fmt::format("- {{from: {}{}, to: network, kind: network, bandwidth: {}}}\n", prefix,
                            names_[order_[k]].up_to(names_[order_[end - 1]].number),
                            rate_text(first.network_Bps));
      }
      k = end;
    }
    return text;
  }

  const Machine& machine_;
  int nodes_;
  std::vector<std::size_t> order_;  // devices in the order of the file
  std::vector<FileName> names_;     // by device
};

// "compute capability 8.9", "architecture gfx90a".
std::string architecture_text(GpuVendor vendor, int architecture) {
  return vendor == GpuVendor::Nvidia
             ? fmt::format("compute capability {}.{}", architecture / 10, architecture % 10)
             : fmt::format("architecture gfx{:x}", architecture);
}

}  // namespace

std::string fabric_text(const Machine& machine, const std::string& name, int nodes) {
  return FabricText(machine, nodes).text(name);
}

const GpuModel& choose_gpu_model(Machine& machine, const GpuKind& gpus, int pci_device) {
  const std::vector<const GpuModel*> nearest = nearest_gpu_models(gpus);
  const GpuModel* const known = gpu_model_of_device(pci_device);
  if (known != nullptr && std::ranges::find(nearest, known) != nearest.end()) {
    machine.gpu_model = known->name;
    return *known;
  }
  const GpuModel& chosen = *nearest.front();
  machine.gpu_model = chosen.name;
  const std::string own = architecture_text(gpus.vendor, gpus.architecture);
  const int architecture = gpu_kind(chosen).architecture;
  if (architecture != gpus.architecture) {
    machine.warnings.push_back(fmt::format(
        "there is no model of GPUs of {}; {} ({}), the nearest, stands for them in links, memory, "
        "NCCL's choice and cost model: {}",
        own, chosen.name, architecture_text(gpus.vendor, architecture), kStandInText));
    return chosen;
  }
  std::vector<std::string_view> others;
  for (const GpuModel* gpu : nearest) {
    if (gpu != &chosen && gpu->with_arm_cpu == chosen.with_arm_cpu) others.push_back(gpu->name);
  }
  if (others.empty()) return chosen;
  machine.warnings.push_back(fmt::format(
      "GPUs of {} are taken for {}; for another one ({}), set gpu_model in the file that "
      "cclgym describe fabric --yaml writes",
      own, chosen.name, fmt::join(others, ", ")));
  return chosen;
}

}  // namespace cclgym
