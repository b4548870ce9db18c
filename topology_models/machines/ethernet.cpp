// Nodes with one Ethernet port each, on one switch, for MPI over TCP. The ranks are processes, not
// GPUs; the processes of a node communicate through its memory.
#include <fmt/format.h>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/server_design.hpp"

namespace cclgym {

namespace {

constexpr double kMemory_Bps = 5e9;
constexpr double kMemoryLatency_s = 0.5e-6;  // from one rank to another

std::shared_ptr<const Fabric> build_ethernet(const FabricParameters& parameters) {
  FabricBuilder builder("ethernet");
  builder.set_network(NetworkKind::Tcp);
  const NodeId network =
      builder.add_node({.name = "network", .kind = NodeKind::NetworkSwitch, .server = -1});
  for (int server = 0; server < parameters.servers; ++server) {
    const auto add = [&](const std::string& name, NodeKind kind) {
      return builder.add_node(
          {.name = fmt::format("server{}/{}", server, name), .kind = kind, .server = server});
    };
    const NodeId nic = add("nic", NodeKind::Nic);
    link_port(builder, nic, network, parameters);
    const int ranks = parameters.gpus_per_server;
    const NodeId memory = ranks > 1 ? add("memory", NodeKind::Generic) : NodeId{-1};
    for (int rank = 0; rank < ranks; ++rank) {
      const NodeId process = add(fmt::format("rank{}", rank), NodeKind::Gpu);
      // The kernel's copy to the port is part of the cost model's time per message.
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

}  // namespace

FabricModel ethernet_model() {
  constexpr double kMostServers = 1024;
  constexpr int kMostRanks = 64;
  return {
      {.name = "ethernet",
       .description = "hosts on one Ethernet switch, one port each, for MPI over TCP",
       .options =
           {fabric_option(
                "nodes",
                {.max = kMostServers, .default_text = "4", .description = "number of hosts"}),
            fabric_option("gpus_per_node", {.max = kMostRanks,
                                            .default_text = "1",
                                            .description = "number of ranks on each host"}),
            fabric_option("bandwidth",
                          {.default_text = "1 Gb/s",
                           .description = "bandwidth of a host's port, in one direction"}),
            fabric_option(
                "latency",
                {.default_text = "12.5us",
                 .description =
                     "latency between a host and the switch: half of the latency between hosts"})},
       .facts = {{"one full-duplex port of 1 Gb/s per host, on a switch that does not limit them",
                  "a choice: Gigabit Ethernet (IEEE 802.3ab)"},
                 {"25 us from host to host", "a choice; measure yours (cclgym calibrate)"},
                 {"ranks of a host reach each other (in 0.5 us) and the port at 5 GB/s",
                  "a choice; measure yours (cclgym calibrate)"}}},
      build_ethernet};
}

}  // namespace cclgym
