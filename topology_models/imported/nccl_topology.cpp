// Reads NCCL's and RCCL's topology as src/graph/xml.cc and topo.cc of NCCL 2.28 do: what those
// leave out is left out here, and what they assume is assumed, with a warning.
#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <utility>

#include "core/xml/xml_document.hpp"
#include "topology_models/imported/machine.hpp"

namespace cclgym {

namespace {

using pugi::xml_node;

constexpr const char* kExpected =
    "NCCL's topology, which begins with <system: NCCL writes it to the file that "
    "NCCL_TOPO_DUMP_FILE names";
constexpr int kMostLevels = 32;
constexpr double kDefaultNic_Bps = 1.25e9;
constexpr double kC2cLatency_s = 0.5e-6;  // a choice: as PCIe to a host

// Reads the whole of a text as a hexadecimal number; -1 if it is none.
std::int64_t hexadecimal(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 ? value : -1;
}

// NCCL's number of a bus: its digits. "00000000:C1:00.0" and "0000:c1:00.0" are the same.
std::int64_t bus_number(std::string_view bus) {
  std::string digits;
  for (const char c : bus) {
    if (c != ':' && c != '.') digits += c;
  }
  return hexadecimal(digits);
}

// Gb/s of a PCIe lane (NCCL's kvDictPciGen), or nothing for a text that NCCL does not know.
std::optional<double> lane_gbps(std::string_view speed) {
  constexpr std::array<std::pair<double, double>, 6> kLanes{
      {{2.5, 1.5}, {5, 3}, {8, 6}, {16, 12}, {32, 24}, {64, 48}}};
  double transfers = 0;
  const auto [end, error] = std::from_chars(speed.data(), speed.data() + speed.size(), transfers);
  const std::string_view unit(end, static_cast<std::size_t>(speed.data() + speed.size() - end));
  if (error != std::errc() || (unit != " GT/s" && unit != " GT/s PCIe")) return std::nullopt;
  const auto* const lane = std::ranges::find(kLanes, transfers, &std::pair<double, double>::first);
  if (lane == kLanes.end()) return std::nullopt;
  return lane->second;
}

class SystemReader {
 public:
  SystemReader(std::string_view text, const std::string& file) : document_(text, file, kExpected) {
    machine_.source = "NCCL's topology " + file;
  }

  Machine read() {
    const xml_node system = root();
    static_cast<void>(document_.number(system, "version", {1, 2}));  // 2: RCCL
    for (const xml_node cpu : system.children()) {
      if (std::string_view(cpu.name()) == "cpu") {
        read_cpu(cpu);
      } else {
        ignored_.insert(cpu.name());
      }
    }
    check_gpus(system);
    choose_model();
    for (const Gpu& gpu : gpus_) read_links(gpu);
    add_gpu_links();
    if (switch_targets_ > 0) machine_.devices[nvswitch_].chips = switch_targets_;
    machine_.relays = amd_ ? 1000 : 1;  // xGMI routes by itself; NCCL's NVB
    const bool near = std::ranges::any_of(
        nic_trees_, [&](std::int64_t tree) { return gpu_trees_.contains(tree); });
    machine_.nics_behind_host_bridge = !nic_trees_.empty() && !near;
    add_warnings();
    return std::move(machine_);
  }

 private:
  struct Gpu {
    xml_node element{};
    std::size_t device = 0;
    std::size_t host = 0;
    std::int64_t system = 0;
  };
  // Position of a <pci> below its <cpu>.
  struct Place {
    std::size_t parent = 0;  // device above it
    std::size_t host = 0;
    std::int64_t system = 0;  // number of the host machine (several in NVL72)
    std::int64_t tree = 0;    // number of the PCIe tree under the CPU
    int level = 0;
  };
  using Bus = std::pair<std::int64_t, std::int64_t>;  // machine, number

  [[nodiscard]] xml_node root() const {
    if (document_.top() == "graphs") {
      document_.fail(document_.root("graphs"),
                     "element <graphs>, NCCL's rings and trees (NCCL_GRAPH_DUMP_FILE); expected "
                     "<system>, its topology (NCCL_TOPO_DUMP_FILE)");
    }
    if (document_.top() == "algo") {
      document_.fail(document_.root("algo"),
                     "element <algo>, a program in MSCCL XML (for --program); expected <system>, "
                     "NCCL's topology (NCCL_TOPO_DUMP_FILE)");
    }
    return document_.root("system");
  }

  void read_cpu(const xml_node& cpu) {
    const std::string_view hash = cpu.attribute("host_hash").value();
    const auto system =
        static_cast<std::int64_t>(systems_.emplace(hash, systems_.size()).first->second);
    const double between_Bps = between_cpus_Bps(cpu);
    const std::size_t host =
        machine_.add({.kind = NodeKind::Host, .order = static_cast<int>(machine_.devices.size())});
    for (const auto& [other, its_system] : hosts_) {
      if (its_system != system) continue;
      machine_.links.push_back({.from = other,
                                .to = host,
                                .kind = LinkKind::Generic,
                                .unit_Bps = between_Bps,
                                .latency_s = 0});
    }
    hosts_.emplace_back(host, system);
    for (const xml_node child : cpu.children()) {
      const std::string_view name = child.name();
      if (name == "pci") {
        read_pci(child, {.parent = host, .host = host, .system = system, .tree = trees_++});
      } else if (name == "nic") {  // a virtual device
        read_nic(child, {.parent = host, .host = host, .system = system, .tree = trees_++}, 0);
      } else {
        ignored_.emplace(name);
      }
    }
  }

  // Rate between two sockets (ncclTopoGetInterCpuBw), B/s. Also notes the maker of the CPUs.
  double between_cpus_Bps(const xml_node& cpu) {
    const std::string_view arch = cpu.attribute("arch").value();
    const std::string_view vendor = cpu.attribute("vendor").value();
    const int family = cpu.attribute("familyid").as_int();
    const int model = cpu.attribute("modelid").as_int();
    if (arch == "arm64") {
      machine_.cpu = HostCpu::Arm;
      return 6e9;
    }
    if (vendor == "AuthenticAMD") {
      machine_.cpu = HostCpu::Amd;
      return 16e9;
    }
    if (vendor != "GenuineIntel" || arch != "x86_64") unknown_cpu_ = true;
    if (arch == "ppc64") return 32e9;
    if (vendor != "GenuineIntel" || family != 6) return 6e9;
    return model >= 0xCF ? 40e9 : model >= 0x8F ? 22e9 : model >= 0x55 ? 10e9 : 6e9;
  }

  // True if NCCL keeps the device or one below it.
  bool is_used(const xml_node& pci, int level) const {
    if (level > kMostLevels) {
      document_.fail(pci,
                     fmt::format("<pci> on level {}; expected at most {}", level, kMostLevels));
    }
    if (pci.child("gpu") || pci.child("nic")) return true;
    const auto below = pci.children("pci");
    return std::any_of(below.begin(), below.end(),
                       [&](const xml_node& child) { return is_used(child, level + 1); });
  }

  void read_pci(const xml_node& pci, Place place) {
    if (!is_used(pci, place.level)) {
      count_unused(pci);
      return;
    }
    const double rate_Bps = pcie_Bps(pci);
    for (const xml_node child : pci.children()) {
      const std::string_view name = child.name();
      if (name != "gpu" && name != "nic" && name != "pci") ignored_.emplace(name);
    }
    if (pci.child("gpu")) {
      read_gpu(pci, place, rate_Bps);
      return;
    }
    if (const xml_node nic = pci.child("nic")) {
      read_nic(nic, place, rate_Bps);
      return;
    }
    const std::size_t bridge = machine_.add(
        {.kind = NodeKind::PcieSwitch, .order = static_cast<int>(machine_.devices.size())});
    add_pcie(bridge, place.parent, rate_Bps);
    place.parent = bridge;
    ++place.level;
    for (const xml_node child : pci.children("pci")) read_pci(child, place);
  }

  // Counts the devices that a template leaves to NCCL: GPUs and NICs by their PCI class.
  void count_unused(const xml_node& pci) {
    const std::string_view kind = pci.attribute("class").value();
    if (!pci.child("pci")) ++unused_;
    if (kind.starts_with("0x03") || kind.starts_with("0x12")) ++classed_gpus_;
    if (kind.starts_with("0x02")) ++classed_nics_;
    for (const xml_node child : pci.children("pci")) count_unused(child);
  }

  void add_pcie(std::size_t device, std::size_t parent, double rate_Bps) {
    MachineLink link{.from = device, .to = parent, .unit_Bps = rate_Bps};
    // The cost model's alpha is for the way between two devices at one switch.
    if (machine_.devices[device].kind == NodeKind::PcieSwitch &&
        machine_.devices[parent].kind == NodeKind::PcieSwitch) {
      link.latency_s = 0;
    }
    machine_.links.push_back(link);
  }

  double pcie_Bps(const xml_node& pci) {
    const std::string_view speed = pci.attribute("link_speed").value();
    const std::optional<double> lane = lane_gbps(speed);
    if (!lane) ++unknown_speeds_;
    constexpr int kMostLanes = 32;
    int width = pci.attribute("link_width").as_int();
    if (width < 1 || width > kMostLanes) {
      width = 16;
      ++unknown_widths_;
    }
    return lane.value_or(6) / 8 * width * 1e9;
  }

  void read_gpu(const xml_node& pci, const Place& place, double rate_Bps) {
    const xml_node element = pci.child("gpu");
    if (element.next_sibling("gpu")) {
      document_.fail(element.next_sibling("gpu"),
                     "a second <gpu> of one device: several ranks or partitions of a GPU, which "
                     "are not modelled; expected one");
    }
    const Bus bus = bus_of(pci, "busid", place.system);
    const bool ranked = !element.attribute("rank").empty();
    const int order = document_.small(element, ranked ? "rank" : "dev", {0, 1'000'000});
    const std::size_t device = machine_.add({.kind = NodeKind::Gpu, .order = order});
    if (!by_bus_.emplace(bus, device).second) {
      document_.fail(pci, fmt::format("a second device with busid {}",
                                      quoted(pci.attribute("busid").value())));
    }
    (ranked ? ranked_ : unranked_)++;
    if (!orders_.insert(order).second) {
      document_.fail(element,
                     fmt::format("a second GPU has {} {}", ranked ? "rank" : "dev", order));
    }
    add_pcie(device, place.parent, rate_Bps);
    gpu_trees_.insert(place.tree);
    gpus_.push_back(
        {.element = element, .device = device, .host = place.host, .system = place.system});
    if (gpus_.size() == 1) {
      const std::int64_t number = hexadecimal(pci.attribute("device").value());
      pci_device_ = number > 0xffff ? 0 : static_cast<int>(std::max<std::int64_t>(number, 0));
    }
  }

  // The ports of a card share its PCIe link. NCCL leaves out a <net> without dev.
  void read_nic(const xml_node& nic, const Place& place, double pcie_Bps) {
    std::vector<xml_node> ports;
    for (const xml_node net : nic.children("net")) {
      if (net.attribute("dev") && net.attribute("net").as_int(1) != 0) ports.push_back(net);
    }
    for (const xml_node& net : ports) {
      const int speed_mbps = net.attribute("speed").as_int();
      if (speed_mbps <= 0) ++unknown_nics_;
      const double rate_Bps = speed_mbps > 0 ? speed_mbps * 1e6 / 8 : kDefaultNic_Bps;
      if (std::string_view(net.attribute("gdr").value()) == "0") ++nics_without_gdr_;
      const std::size_t device = machine_.add({.kind = NodeKind::Nic,
                                               .order = document_.small(net, "dev", {0, 1'000'000}),
                                               .known_as = printable(net.attribute("name").value()),
                                               .network_Bps = rate_Bps});
      machine_.links.push_back(
          {.from = device,
           .to = place.parent,
           .unit_Bps = pcie_Bps > 0 ? pcie_Bps / static_cast<double>(ports.size()) : rate_Bps});
      nic_trees_.insert(place.tree);
    }
  }

  // The name of a device for a comment of one line.
  static std::string printable(std::string_view name) {
    std::string text(name.substr(0, 40));
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < 0x21 || c == 0x7f; }, '?');
    return text;
  }

  Bus bus_of(const xml_node& node, const char* attribute, std::int64_t system) const {
    const std::string_view text = document_.text(node, attribute);
    const std::int64_t number = bus_number(text);
    if (number < 0) {
      document_.fail(node, fmt::format("{} {}; expected a PCI address such as 0000:c1:00.0",
                                       attribute, quoted(text)));
    }
    return {system, number};
  }

  void check_gpus(const xml_node& system) const {
    if (gpus_.empty() && unused_ > 0) {
      document_.fail(
          system,
          fmt::format(
              "{} PCI devices, of them {} GPUs and {} network cards by their class, but no "
              "<gpu>: a template for NCCL_TOPO_FILE, to which NCCL adds NVLinks, GPU models "
              "and NIC rates on the machine; expected the result: run a program of NCCL "
              "there with NCCL_TOPO_FILE=this file and NCCL_TOPO_DUMP_FILE=system.xml, or "
              "name a shipped fabric (cclgym list fabrics)",
              unused_, classed_gpus_, classed_nics_));
    }
    if (gpus_.empty()) document_.fail(system, fmt::format("no <gpu>; expected {}", kExpected));
    if (ranked_ > 0 && unranked_ > 0) {
      document_.fail(system, fmt::format("{} GPUs with a rank and {} without; expected all or none",
                                         ranked_, unranked_));
    }
  }

  // Compute capability, or AMD's architecture: "906", "gfx90a:sramecc+"; older files have "910" for
  // gfx90a.
  [[nodiscard]] int architecture_of(const Gpu& gpu) const {
    if (!amd_) return document_.small(gpu.element, "sm", {10, 999});
    const std::string_view whole = document_.text(gpu.element, "gcn");
    std::string_view text = whole.substr(0, whole.find(':'));
    if (text == "910") text = "90a";
    if (text.starts_with("gfx")) text.remove_prefix(3);
    const std::int64_t number = hexadecimal(text);
    if (number < 0x600 || number > 0xffff) {
      document_.fail(gpu.element,
                     fmt::format("gcn {}; expected an architecture such as gfx942", quoted(whole)));
    }
    return static_cast<int>(number);
  }

  void choose_model() {
    amd_ = !gpus_.front().element.attribute("gcn").empty();
    const int architecture = architecture_of(gpus_.front());
    for (const Gpu& gpu : gpus_) {
      if (architecture_of(gpu) != architecture) {
        document_.fail(gpu.element,
                       "a GPU of another architecture than the first one; expected "
                       "GPUs of one model");
      }
    }
    const GpuModel& model = choose_gpu_model(machine_,
                                             {.vendor = amd_ ? GpuVendor::Amd : GpuVendor::Nvidia,
                                              .architecture = architecture,
                                              .with_arm_cpu = machine_.cpu == HostCpu::Arm},
                                             pci_device_);
    link_Bps_ = model.link_Bps;
    // NVLink SHARP.
    switch_computes_ = !amd_ && architecture >= 90;
  }

  void read_links(const Gpu& gpu) {
    int to_switches = 0;
    for (const xml_node child : gpu.element.children()) {
      const std::string_view name = child.name();
      if (name == "c2c") {
        // NCCL's bw is in MB/s.
        const double rate_Bps =
            static_cast<double>(document_.number(child, "bw", {1, 10'000'000})) * 1e6;
        machine_.links.push_back({.from = gpu.device,
                                  .to = gpu.host,
                                  .kind = LinkKind::Generic,
                                  .unit_Bps = rate_Bps,
                                  .units = document_.small(child, "count", {1, 1000}),
                                  .latency_s = kC2cLatency_s});
        continue;
      }
      if (name != "nvlink" && name != "xgmi") {
        ignored_.emplace(name);
        continue;
      }
      const int count = document_.small(child, "count", {1, 1000});
      const std::string_view kind = document_.text(child, "tclass");
      if (kind.starts_with("0x03") || kind.starts_with("0x12")) {
        const auto found = by_bus_.find(bus_of(child, "target", gpu.system));
        if (found == by_bus_.end()) {
          ++lost_links_;
        } else if (found->second == gpu.device) {
          ++own_links_;
        } else {
          gpu_links_[{gpu.device, found->second}] += count;
        }
      } else if (kind == "0x068001") {  // POWER9
        machine_.links.push_back({.from = gpu.device,
                                  .to = gpu.host,
                                  .kind = LinkKind::Generic,
                                  .unit_Bps = link_Bps_,
                                  .units = count,
                                  .latency_s = kC2cLatency_s});
      } else {
        to_switches += count;
        switches_.emplace(document_.text(child, "target"));
      }
    }
    if (to_switches == 0) return;
    if (switch_targets_ == 0) {
      nvswitch_ = machine_.add({.kind = NodeKind::NvSwitch, .computes = switch_computes_});
    }
    switch_targets_ = static_cast<int>(switches_.size());
    machine_.links.push_back({.from = gpu.device,
                              .to = nvswitch_,
                              .kind = LinkKind::NvLink,
                              .unit_Bps = link_Bps_,
                              .units = to_switches});
  }

  void add_gpu_links() {
    for (const auto& [ends, count] : gpu_links_) {
      const auto back = gpu_links_.find({ends.second, ends.first});
      const int returned = back == gpu_links_.end() ? 0 : back->second;
      if (returned != count) {
        const auto gpu = std::ranges::find(gpus_, ends.first, &Gpu::device);
        document_.fail(
            gpu->element,
            fmt::format("{} links to a GPU that has {} back; expected as many", count, returned));
      }
      if (machine_.devices[ends.first].order > machine_.devices[ends.second].order) continue;
      machine_.links.push_back({.from = ends.first,
                                .to = ends.second,
                                .kind = LinkKind::NvLink,
                                .unit_Bps = link_Bps_,
                                .units = count});
    }
  }

  void warn(int count, std::string_view what, std::string_view assumed) {
    if (count == 0) return;
    machine_.warnings.push_back(fmt::format("{} {}: {}", count, what, assumed));
  }

  void add_warnings() {
    warn(unknown_speeds_, "PCIe devices have no link_speed that NCCL knows",
         "it takes 8 GT/s (Gen3) for them");
    warn(unknown_widths_, "PCIe devices have no link_width", "NCCL takes 16 lanes for them");
    warn(unknown_nics_, "NICs have no speed", "NCCL takes 10 Gb/s for them");
    warn(
        nics_without_gdr_, "NICs without GPUDirect (gdr=0)",
        "copies through the memory of the hosts are not modelled, so that times across the network "
        "are too short");
    warn(lost_links_, "NVLinks lead to GPUs that are not in the file", "they are left out");
    warn(own_links_, "NVLinks lead from a GPU to itself", "they are left out");
    warn(classed_gpus_, "GPUs have no <gpu>", "NCCL leaves them out");
    warn(classed_nics_, "network cards have no <net>", "NCCL does not use them");
    if (unknown_cpu_) {
      machine_.warnings.emplace_back(
          "CPUs of a maker that is not modelled, or not stated: taken for intel");
    }
    if (!ignored_.empty()) {
      std::string names;
      for (const std::string& name : ignored_)
        names += (names.empty() ? "<" : ", <") + printable(name) + ">";
      machine_.warnings.push_back("elements are not read: " + names);
    }
  }

  XmlDocument document_;
  Machine machine_;
  std::map<std::string, std::size_t, std::less<>> systems_;  // by host_hash
  std::vector<std::pair<std::size_t, std::int64_t>> hosts_;  // device, system
  std::vector<Gpu> gpus_;
  std::map<Bus, std::size_t> by_bus_;  // GPUs
  std::set<int> orders_;
  std::map<std::pair<std::size_t, std::size_t>, int> gpu_links_;  // in one direction
  std::set<std::string, std::less<>> switches_;                   // targets
  std::set<std::string> ignored_;
  std::set<std::int64_t> gpu_trees_;
  std::set<std::int64_t> nic_trees_;
  std::int64_t trees_ = 0;
  std::size_t nvswitch_ = 0;
  int switch_targets_ = 0;
  bool switch_computes_ = false;
  bool amd_ = false;
  bool unknown_cpu_ = false;
  double link_Bps_ = 0;
  int pci_device_ = 0;
  int ranked_ = 0;
  int unranked_ = 0;
  int unused_ = 0;  // devices without <gpu> or <nic>
  int classed_gpus_ = 0;
  int classed_nics_ = 0;
  int unknown_speeds_ = 0;
  int unknown_widths_ = 0;
  int unknown_nics_ = 0;
  int nics_without_gdr_ = 0;
  int lost_links_ = 0;
  int own_links_ = 0;
};

}  // namespace

Machine read_nccl_topology(std::string_view text, const std::string& file) {
  return SystemReader(text, file).read();
}

}  // namespace cclgym
