// Hosts with one Ethernet port each, on one switch: what MPI over TCP runs on. The ranks are
// processes, not GPUs; those of a host talk through its memory.
#include <fmt/format.h>

#include "topology_models/machines/machines.hpp"

namespace cclgym {

namespace {

constexpr double kMemory_Bps = 5e9;
constexpr double kMemoryLatency_s = 0.5e-6;  // from one rank to another

std::shared_ptr<const Fabric> build_ethernet(const FabricParameters& parameters) {
  FabricBuilder builder("ethernet");
  const NodeId network =
      builder.add_node({.name = "network", .kind = NodeKind::NetworkSwitch, .server = -1});
  for (int server = 0; server < parameters.servers; ++server) {
    const auto add = [&](const std::string& name, NodeKind kind) {
      return builder.add_node(
          {.name = fmt::format("server{}/{}", server, name), .kind = kind, .server = server});
    };
    const NodeId nic = add("nic", NodeKind::Nic);
    builder.add_duplex_link({.source = nic,
                             .target = network,
                             .kind = LinkKind::Network,
                             .latency_s = parameters.latency_s,
                             .unit_bandwidth_Bps = parameters.bandwidth_Bps,
                             .latency_stated = parameters.latency_stated});
    const int ranks = parameters.gpus_per_server;
    const NodeId memory = ranks > 1 ? add("memory", NodeKind::Generic) : NodeId{-1};
    for (int rank = 0; rank < ranks; ++rank) {
      const NodeId process = add(fmt::format("rank{}", rank), NodeKind::Gpu);
      // The kernel's copy to the port costs no more time than the cost model says of messages.
      builder.add_duplex_link({.source = process,
                               .target = nic,
                               .kind = LinkKind::Pcie,
                               .unit_bandwidth_Bps = kMemory_Bps});
      if (ranks == 1) continue;
      builder.add_duplex_link({.source = process,
                               .target = memory,
                               .latency_s = kMemoryLatency_s / 2,
                               .unit_bandwidth_Bps = kMemory_Bps});
    }
  }
  return builder.build();
}

// An option of other fabrics, said of hosts.
OptionSpec of_hosts(OptionSpec option, const char* description, const char* default_text) {
  option.description = description;
  option.default_text = default_text;
  return option;
}

}  // namespace

FabricModel ethernet_model() {
  constexpr double kMostServers = 1024;
  constexpr int kMostRanks = 64;
  return {
      {.name = "ethernet",
       .description = "hosts on one Ethernet switch, a port each, for MPI over TCP",
       .options = {of_hosts(servers_option(kMostServers), "number of hosts", "4"),
                   of_hosts(gpus_per_server_option(kMostRanks), "number of ranks on each host",
                            "1"),
                   of_hosts(bandwidth_option(""), "of a host's port, in one direction", "1 Gb/s"),
                   of_hosts(latency_option(""),
                            "between a host and the switch: half of that between hosts", "12.5us")},
       .facts = {{"ports of 1 Gb/s, one a host, full duplex, on a switch that does not limit them",
                  "a choice: Gigabit Ethernet (IEEE 802.3ab)"},
                 {"25 us from host to host", "a choice; measure yours (cclgym calibrate)"},
                 {"ranks of a host reach each other and the port at 5 GB/s, each other in 0.5 us",
                  "a choice; measure yours (cclgym calibrate)"}}},
      build_ethernet};
}

}  // namespace cclgym
