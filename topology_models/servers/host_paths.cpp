#include "topology_models/servers/host_paths.hpp"

#include <fmt/format.h>

namespace cclgym {

namespace {

constexpr double kSocket_Bps = 6e9;      // host_facts() has the sources
constexpr double kHostLatency_s = 5e-7;  // half of a path from GPU to GPU
constexpr std::size_t kSwitchesPerHost = 2;

}  // namespace

void add_hosts(FabricBuilder& builder, const std::vector<NodeId>& pcie_switches, double pcie_Bps,
               int server, const std::string& prefix) {
  std::vector<NodeId> hosts;
  for (std::size_t k = 0; k < pcie_switches.size(); ++k) {
    if (k % kSwitchesPerHost == 0) {
      hosts.push_back(builder.add_node({.name = fmt::format("{}host{}", prefix, hosts.size()),
                                        .kind = NodeKind::Host,
                                        .server = server}));
    }
    builder.add_duplex_link({.source = pcie_switches[k],
                             .target = hosts.back(),
                             .kind = LinkKind::Pcie,
                             .latency_s = kHostLatency_s,
                             .unit_bandwidth_Bps = pcie_Bps});
  }
  for (std::size_t k = 1; k < hosts.size(); ++k) {
    builder.add_duplex_link({.source = hosts[k - 1],
                             .target = hosts[k],
                             .kind = LinkKind::Generic,
                             .latency_s = 0,
                             .unit_bandwidth_Bps = kSocket_Bps});
  }
}

std::vector<FabricFact> host_facts() {
  return {
      {"an intermediate GPU forwards data between GPUs without a common NVLink (nvb: true)",
       "NCCL 2.8 (release notes: one hop communication through NVLink for cube meshes)"},
      {"without it (nvb: false), such data pass through the memory of the hosts, because GPUs on "
       "different sockets of a Broadwell machine do not access each other's memory",
       "NCCL 2.7.8 (graph/paths.cc; transport/shm.cc)"},
      {"two Xeon E5-2698 v4 (Broadwell) with two PCIe switches each, and two GPUs per switch",
       "NVIDIA DGX-1 with Tesla V100 white paper"},
      {"6 GB/s per direction between the sockets", "NCCL (graph/topo.h: QPI)"},
      {"0.5 us between a PCIe switch and its host, 0 s between the hosts",
       "NCCL (graph/tuning.cc: 1 us per step of a ring over PCIe with LL, half for each side)"}};
}

}  // namespace cclgym
