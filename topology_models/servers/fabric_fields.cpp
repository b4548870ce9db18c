#include "topology_models/servers/fabric_fields.hpp"

#include <initializer_list>
#include <stdexcept>
#include <utility>

#include "core/magnitudes.hpp"

namespace cclgym {

std::string_view to_string(NicBinding binding) {
  switch (binding) {
    case NicBinding::PcieLocal:
      return "pcie_local";
    case NicBinding::RoundRobin:
      return "round_robin";
    case NicBinding::TopologyAware:
      return "topology_aware";
    case NicBinding::SingleNic:
      break;
  }
  return "single_nic";
}

namespace {

template <class Enum>
std::vector<std::string> names_of(std::initializer_list<Enum> values) {
  std::vector<std::string> names;
  for (const Enum value : values) names.emplace_back(to_string(value));
  return names;
}

template <class Value>
FabricField fabric_field(OptionSpec spec, std::optional<Value> FabricSpec::*given,
                         Value FabricParameters::*resolved, std::string argument) {
  return {.given = {spec, given}, .resolved = {spec, resolved}, .argument = std::move(argument)};
}

}  // namespace

const std::vector<FabricField>& fabric_fields() {
  using Given = FabricSpec;
  using Resolved = FabricParameters;
  static const std::vector<FabricField> fields{
      fabric_field({.name = "nodes",
                    .kind = OptionKind::Integer,
                    .description = "number of nodes (hosts with their GPUs)",
                    .min = 1,
                    .default_text = "1",
                    .aliases = {"servers"}},
                   &Given::servers, &Resolved::servers, "N"),
      fabric_field({.name = "gpus",
                    .kind = OptionKind::Integer,
                    .description = "number of GPUs",
                    .default_text = "8"},
                   &Given::gpus, &Resolved::gpus, "N"),
      fabric_field({.name = "gpus_per_node",
                    .kind = OptionKind::Integer,
                    .description = "number of GPUs used on each node, starting with its first",
                    .min = 1,
                    .aliases = {"gpus_per_server"}},
                   &Given::gpus_per_server, &Resolved::gpus_per_server, "N"),
      fabric_field({.name = "bandwidth",
                    .kind = OptionKind::Rate,
                    .description = "bandwidth of one GPU link unit in one direction",
                    .min = kLeastRate_Bps,
                    .max = kMostRate_Bps},
                   &Given::bandwidth_Bps, &Resolved::bandwidth_Bps, ""),
      fabric_field({.name = "latency",
                    .kind = OptionKind::Time,
                    .description = "latency of one traversal of a GPU link",
                    .min = 0,
                    .max = kMostLatency_s},
                   &Given::latency_s, &Resolved::latency_s, ""),
      fabric_field(
          {.name = "nic_binding",
           .kind = OptionKind::Choice,
           .description =
               "NICs of a GPU: the nearest (pcie_local); NIC k mod n for GPU k "
               "(round_robin); the nearest NIC with the fewest GPUs "
               "(topology_aware); or, as in a bug of Cray MPICH, the last NIC for sends of "
               "all GPUs and the first for their receives (single_nic)",
           .default_text = std::string(to_string(NicBinding::PcieLocal)),
           .choices = names_of({NicBinding::PcieLocal, NicBinding::RoundRobin,
                                NicBinding::TopologyAware, NicBinding::SingleNic})},
          &Given::nic_binding, &Resolved::nic_binding, "NAME"),
      fabric_field({.name = "oversubscription",
                    .kind = OptionKind::Real,
                    .description =
                        "bandwidth of a leaf switch to its NICs divided by its "
                        "bandwidth to the spine; 1: one non-blocking network, unless rails is true",
                    .unit = "ratio",
                    .min = 1,
                    .max = 1000},
                   &Given::oversubscription, &Resolved::oversubscription, "RATIO"),
      fabric_field({.name = "nodes_per_leaf",
                    .kind = OptionKind::Integer,
                    .description = "number of nodes on the same leaf switches, which do not limit "
                                   "the bandwidth between them",
                    .min = 1,
                    .max = 65536,
                    .aliases = {"servers_per_leaf"}},
                   &Given::servers_per_leaf, &Resolved::servers_per_leaf, "N"),
      fabric_field({.name = "rails",
                    .kind = OptionKind::Flag,
                    .description = "true: the leaf switches are rail-optimised: leaf k of "
                                   "nodes_per_leaf nodes serves NIC k of each",
                    .default_text = "false"},
                   &Given::rails, &Resolved::rails, "true|false"),
      fabric_field({.name = "shape",
                    .description = "number of GPUs in each dimension of a torus, e.g. 4x4 or 4x4x2",
                    .default_text = "4x4"},
                   &Given::shape, &Resolved::shape, "AxB[xC]"),
      fabric_field({.name = "groups",
                    .kind = OptionKind::Integer,
                    .description = "number of dragonfly groups over which the nodes are spread "
                                   "evenly; 0: nodes fill one group after another",
                    .min = 0,
                    .default_text = "0"},
                   &Given::groups, &Resolved::groups, "N"),
      fabric_field(
          {.name = "routing",
           .kind = OptionKind::Choice,
           .description = "routes through the dragonfly: a minimal route or a detour, depending on "
                          "the load (UGAL); always the same minimal route; always the same detour",
           .default_text = std::string(to_string(Routing::Adaptive)),
           .choices = names_of({Routing::Adaptive, Routing::Minimal, Routing::Valiant})},
          &Given::routing, &Resolved::routing, "NAME"),
      fabric_field({.name = "nvls",
                    .kind = OptionKind::Flag,
                    .description = "true if NCCL may copy and add in the NVSwitches (NVLink SHARP)",
                    .default_text = "true"},
                   &Given::nvls, &Resolved::nvls, "true|false"),
      fabric_field({.name = "sharp",
                    .kind = OptionKind::Flag,
                    .description = "true if NCCL may copy and add in the network switches (SHARP)",
                    .default_text = "false"},
                   &Given::sharp, &Resolved::sharp, "true|false"),
      fabric_field({.name = "nvb",
                    .kind = OptionKind::Flag,
                    .description = "path between GPUs of a node without a common NVLink: through "
                                   "one intermediate GPU with NVLinks to both, if there is one "
                                   "(true; NCCL's NVB, since 2.8), or always through PCIe and the "
                                   "memory of the hosts (false; NCCL up to 2.7)",
                    .default_text = "true"},
                   &Given::nvb, &Resolved::nvb, "true|false"),
      fabric_field({.name = "cross_nic",
                    .kind = OptionKind::Flag,
                    .description = "true if NCCL's rings may leave a node by another NIC than that "
                                   "by which they entered (NCCL_CROSS_NIC of 1 or 2)",
                    .default_text = "true"},
                   &Given::cross_nic, &Resolved::cross_nic, "true|false"),
      fabric_field(
          {.name = "without",
           .description = "failed parts that are left out, with commas in between: devices "
                          "(server0/nic1) or the links between two devices (gpu0:gpu4)"},
          &Given::without, &Resolved::without, "PARTS"),
  };
  return fields;
}

OptionSpec fabric_option(std::string_view key, const FabricBounds& bounds) {
  for (const FabricField& field : fabric_fields()) {
    if (field.key() != key) continue;
    OptionSpec spec = field.spec();
    if (bounds.min) spec.min = bounds.min;
    if (bounds.max) spec.max = bounds.max;
    if (!bounds.default_text.empty()) spec.default_text = bounds.default_text;
    if (!bounds.description.empty()) spec.description = bounds.description;
    return spec;
  }
  throw std::logic_error("no fabric has an option '" + std::string(key) + "'");
}

}  // namespace cclgym
