// Records of the options of shipped fabrics, and facts that several of them share.
#include <utility>

#include "core/magnitudes.hpp"
#include "topology_models/servers/builders.hpp"

namespace cclgym {

OptionSpec servers_option(double max) {
  return {.name = "servers",
          .kind = OptionKind::Integer,
          .description = "number of servers (cluster nodes)",
          .min = 1,
          .max = max,
          .default_text = "1"};
}

OptionSpec gpus_option(double min, double max) {
  return {.name = "gpus",
          .kind = OptionKind::Integer,
          .description = "number of GPUs",
          .min = min,
          .max = max,
          .default_text = "8"};
}

OptionSpec bandwidth_option(std::string default_text) {
  return {.name = "bandwidth",
          .kind = OptionKind::Rate,
          .description = "of one GPU link unit, in one direction",
          .min = kLeastRate_Bps,
          .max = kMostRate_Bps,
          .default_text = std::move(default_text)};
}

OptionSpec latency_option(std::string default_text) {
  return {.name = "latency",
          .kind = OptionKind::Time,
          .description = "of one traversal of a GPU link",
          .min = 0,
          .max = kMostLatency_s,
          .default_text = std::move(default_text)};
}

OptionSpec gpus_per_server_option(int gpus) {
  return {.name = "gpus_per_server",
          .kind = OptionKind::Integer,
          .description = "number of GPUs of each server that are used, from its first on",
          .min = 1,
          .max = gpus,
          .default_text = std::to_string(gpus)};
}

OptionSpec nic_binding_option() {
  std::vector<std::string> names;
  for (const NicBinding binding :
       {NicBinding::PcieLocal, NicBinding::RoundRobin, NicBinding::SingleNic}) {
    names.emplace_back(to_string(binding));
  }
  return {.name = "nic_binding",
          .kind = OptionKind::Choice,
          .description =
              "NICs that a GPU uses: the nearest; number k mod n for GPU k; or, as in a "
              "fault of Cray MPICH, all GPUs the last to send and the first to receive",
          .default_text = names.front(),
          .choices = names};
}

OptionSpec oversubscription_option(std::string default_text) {
  return {.name = "oversubscription",
          .kind = OptionKind::Real,
          .description =
              "bandwidth of a leaf switch to its NICs over that to the spine; 1: one "
              "non-blocking network",
          .unit = "ratio",
          .min = 1,
          .max = 1000,
          .default_text = std::move(default_text)};
}

OptionSpec servers_per_leaf_option(int servers) {
  return {.name = "servers_per_leaf",
          .kind = OptionKind::Integer,
          .description = "number of servers that share leaf switches, with no limit among them",
          .min = 1,
          .max = 65536,
          .default_text = std::to_string(servers)};
}

OptionSpec groups_option(int groups) {
  return {.name = "groups",
          .kind = OptionKind::Integer,
          .description =
              "number of dragonfly groups over which the servers are spread evenly; 0: "
              "they fill one group after the other",
          .min = 0,
          .max = groups,
          .default_text = "0"};
}

OptionSpec routing_option() {
  std::vector<std::string> names;
  for (const Routing routing : {Routing::Adaptive, Routing::Minimal, Routing::Valiant}) {
    names.emplace_back(to_string(routing));
  }
  return {.name = "routing",
          .kind = OptionKind::Choice,
          .description =
              "ways through the dragonfly: by load, minimal or a detour (UGAL); always "
              "the same minimal one; always the same detour",
          .default_text = names.front(),
          .choices = names};
}

OptionSpec nvls_option() {
  return {.name = "nvls",
          .kind = OptionKind::Flag,
          .description = "may NCCL let the NVSwitches copy and add (NVLink SHARP)?",
          .default_text = "true"};
}

OptionSpec sharp_option() {
  return {.name = "sharp",
          .kind = OptionKind::Flag,
          .description = "may NCCL let the network switches copy and add (SHARP)?",
          .default_text = "false"};
}

FabricFact nvlink_fact(int generation) {
  switch (generation) {
    case 2:
      return {"an NVLink2 unit carries 25 GB/s a direction", "NVIDIA V100 white paper"};
    case 3:
      return {"an NVLink3 unit carries 25 GB/s a direction", "NVIDIA A100 white paper"};
    default:
      return {"an NVLink4 unit carries 25 GB/s a direction", "NVIDIA H100 white paper"};
  }
}

FabricFact infiniband_latency_fact() {
  return {"1.3 us from GPU memory to the network switch, PCIe included", "TE-CCL (alpha of NDv2)"};
}

FabricFact pcie_fact(int generation) {
  const char* rate = generation == 3 ? "12" : generation == 4 ? "24" : "48";
  return {std::string(rate) + " GB/s a direction over 16 lanes of PCIe Gen" +
              std::to_string(generation),
          "NCCL (graph/topo.h: what is left after packet headers and flow control)"};
}

}  // namespace cclgym
