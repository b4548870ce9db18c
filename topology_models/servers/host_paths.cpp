#include "topology_models/servers/host_paths.hpp"

#include <fmt/format.h>

namespace cclgym {

void add_hosts(FabricBuilder& builder, const HostDesign& design, const std::vector<NodeId>& devices,
               int server, const std::string& prefix) {
  std::vector<NodeId> hosts;
  for (std::size_t k = 0; k < devices.size(); ++k) {
    if (k % static_cast<std::size_t>(design.devices_a_host) == 0) {
      hosts.push_back(builder.add_node({.name = fmt::format("{}host{}", prefix, hosts.size()),
                                        .kind = NodeKind::Host,
                                        .server = server}));
    }
    builder.add_duplex_link({.source = devices[k],
                             .target = hosts.back(),
                             .kind = LinkKind::Pcie,
                             .latency_s = kHostLatency_s,
                             .unit_bandwidth_Bps = design.pcie_Bps});
  }
  for (std::size_t k = 1; k < hosts.size(); ++k) {
    builder.add_duplex_link({.source = hosts[k - 1],
                             .target = hosts[k],
                             .kind = LinkKind::Generic,
                             .latency_s = 0,
                             .unit_bandwidth_Bps = design.socket_Bps});
  }
}

int nvb_relays(bool nvb) { return nvb ? 1 : 0; }

std::vector<FabricFact> host_facts() {
  return {
      {"one intermediate GPU forwards data between GPUs without a common NVLink, if it has NVLinks "
       "to both (nvb: true)",
       "NCCL 2.8.3 to 2.30 (graph/paths.cc: 1 hop, PATH_NVB; transport/p2p.cc: indirect)"},
      {"all other such data (with nvb: false: all) pass through PCIe and the memory of the hosts, "
       "because GPUs on different Intel sockets do not access each other's memory",
       "NCCL 2.7.8 to 2.30 (graph/paths.cc; transport/shm.cc)"},
      {"0.5 us between a PCIe switch and its host, 0 s between the hosts",
       "NCCL (graph/tuning.cc: 1 us per step of a ring over PCIe with LL, half for each side)"}};
}

}  // namespace cclgym
