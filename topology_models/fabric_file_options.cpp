// The keys of fabric files.
#include <array>
#include <string>
#include <vector>

#include "core/magnitudes.hpp"
#include "topology_models/fabric_file.hpp"

namespace cclgym {

namespace {

constexpr int kMostUnits = 1'000'000;

template <class Enum, std::size_t n>
std::vector<std::string> names_of_kinds(const std::array<Enum, n>& values) {
  std::vector<std::string> names;
  for (const Enum value : values) names.emplace_back(to_string(value));
  return names;
}

// Names in the order of the enumeration's values.
std::vector<std::string> node_kind_names() {
  return names_of_kinds(std::array{NodeKind::Gpu, NodeKind::NvSwitch, NodeKind::PcieSwitch,
                                   NodeKind::Nic, NodeKind::NetworkSwitch, NodeKind::Generic,
                                   NodeKind::Host});
}

std::vector<std::string> link_kind_names() { return names_of_kinds(kLinkKinds); }

}  // namespace

std::string_view to_string(HostCpu cpu) {
  switch (cpu) {
    case HostCpu::Intel:
      return "intel";
    case HostCpu::Amd:
      return "amd";
    case HostCpu::Arm:
      return "arm";
  }
  return {};
}

const std::vector<OptionSpec>& fabric_file_options() {
  static const std::vector<OptionSpec> options = {
      {.name = "name", .description = "name of the fabric; default: name of the file"},
      {.name = "gpu_model",
       .description = "GPU model (\"A100\"), by which `auto` finds the cost model, or that of the "
                      "nearest GPU with a warning; without it, `auto` is hockney, with a warning"},
      {.name = "compute_capability",
       .kind = OptionKind::Real,
       .description = "compute capability of a `gpu_model` that is not in the list (8.9), by which "
                      "the nearest model stands for it, with a warning; known for H800, L40S and "
                      "others",
       .min = 1,
       .max = 100},
      {.name = "cpu",
       .kind = OptionKind::Choice,
       .description = "maker of the nodes' CPUs, for NCCL's choice (`nccl-default`); default: "
                      "arm if the GPUs are GH200 or GB200, else intel",
       .choices = names_of_kinds(std::array{HostCpu::Intel, HostCpu::Amd, HostCpu::Arm})},
      {.name = "nics_behind_host_bridge",
       .kind = OptionKind::Flag,
       .description =
           "NCCL finds a host bridge between GPUs and NICs (its path PHB) although both "
           "are at one PCIe switch here, and does not use LL128 between nodes. If no NIC "
           "is at a PCIe switch, this is so in any case",
       .default_text = "false"},
      {.name = "network",
       .kind = OptionKind::Choice,
       .description = "network between the nodes, by which, and by `gpu_model`, `auto` finds the "
                      "cost model; InfiniBand stands for RoCE, too",
       .default_text = "infiniband",
       .choices = names_of_kinds(kNetworkKinds)},
      {.name = "cost_model",
       .description = "cost model that `auto` is here: a shipped set, or a file beside this one"},
      {.name = "relays",
       .kind = OptionKind::Integer,
       .description =
           "number of GPUs that data may pass through along NVLinks, within a node, before a path "
           "through PCIe and hosts is preferred: 1 for NCCL from 2.8.3 on (NVB), 1000 for xGMI, "
           "which routes by itself",
       .min = 0,
       .max = 1000,
       .default_text = "0"},
      {.name = "nodes",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "devices; GPUs become ranks 0, 1, … in this order, after those of `servers`"},
      {.name = "servers",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "templates of servers: devices and links that are repeated"},
      {.name = "links",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "links between the nodes"},
  };
  return options;
}

const std::vector<OptionSpec>& fabric_server_options() {
  static const std::vector<OptionSpec> options = {
      {.name = "name",
       .description = "name of the server; `s0..15` makes 16 equal servers. Elsewhere in the file, "
                      "their devices are `s0/gpu0`, …, or `s0..15/gpu0..3`",
       .required = true},
      {.name = "nodes",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "devices of each server; network switches belong to none",
       .required = true},
      {.name = "links",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "links between the devices of one server"},
  };
  return options;
}

const std::vector<OptionSpec>& fabric_node_options() {
  static const std::vector<OptionSpec> options = {
      {.name = "name",
       .description = "name of the node; `gpu0..3` stands for the four nodes gpu0 to gpu3",
       .required = true},
      {.name = "kind",
       .kind = OptionKind::Choice,
       .description = "kind of device",
       .default_text = "gpu",
       .choices = node_kind_names()},
      {.name = "server",
       .kind = OptionKind::Integer,
       .description = "number of the server that the device sits in, counted from 0; -1: none; "
                      "default: -1 for network switches, 0 for others",
       .min = -1,
       .max = 99'999},
      {.name = "multiplicity",
       .kind = OptionKind::Integer,
       .description =
           "number of identical chips that act as one (six NVSwitches that hardware interleaves)",
       .min = 1,
       .max = kMostUnits,
       .default_text = "1"},
      {.name = "computes",
       .kind = OptionKind::Flag,
       .description = "true for a switch that copies data to several links and reduces data from "
                      "several links (NVLink SHARP, SHARP)",
       .default_text = "false"},
  };
  return options;
}

const std::vector<OptionSpec>& fabric_link_options() {
  static const std::vector<OptionSpec> options = {
      {.name = "from",
       .description = "source: one node, or several (`gpu0..3`), which are joined first to first, "
                      "second to second, …, or all to the one node at the other end"},
      {.name = "to", .description = "target: one node, or several, as for `from`"},
      {.name = "mesh", .description = "nodes that are joined pairwise; instead of `from` and `to`"},
      {.name = "kind",
       .kind = OptionKind::Choice,
       .description = "kind of link; cost models have an efficiency for each kind",
       .default_text = "generic",
       .choices = link_kind_names()},
      {.name = "bandwidth",
       .kind = OptionKind::Rate,
       .description = "bandwidth of one unit, in one direction",
       .min = kLeastRate_Bps,
       .max = kMostRate_Bps,
       .required = true},
      {.name = "latency",
       .kind = OptionKind::Time,
       .description = "latency of one traversal; has priority over a cost model's alpha. Without "
                      "it, the alpha applies or, with a model that has none, 0.35 us for an NVLink "
                      "to an NVSwitch and 0.7 us for others, 0.5 us for PCIe to a host and 0 s for "
                      "other PCIe, and 1.3 us from a NIC to a switch; required for other links",
       .min = 0,
       .max = kMostLatency_s},
      {.name = "multiplicity",
       .kind = OptionKind::Integer,
       .description = "number of parallel units over which traffic is striped",
       .min = 1,
       .max = kMostUnits,
       .default_text = "1"},
      {.name = "duplex",
       .kind = OptionKind::Flag,
       .description = "true: adds the same link in the other direction; false: one direction only "
                      "(not for a mesh)",
       .default_text = "true"},
  };
  return options;
}

}  // namespace cclgym
