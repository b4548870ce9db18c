#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/host_paths.hpp"

namespace cclgym {

namespace {

// SCCL section 5.1.2 and figure 3: two islands of three GPUs on xGMI, {0, 2, 3} with 2 in the
// middle and {4, 6, 7}, and the lone GPUs 1 and 5, through which PCIe joins the islands. xGMI is
// assumed to be as fast as PCIe. This is a ring of eight, as the bounds of table 5 show (4 steps
// and 7/2 rounds). The source does not say which end of an island each lone GPU is next to.
//
// The ring's edges over PCIe are SCCL's abstraction of the PCIe links to the hosts, which carry all
// other messages between the islands. The links of the ring are kept beside them, so that the
// bounds hold.
struct Edge {
  int a;
  int b;
  LinkKind kind;
};

constexpr std::array kRing = {Edge{0, 2, LinkKind::NvLink}, Edge{2, 3, LinkKind::NvLink},
                              Edge{3, 1, LinkKind::Pcie},   Edge{1, 4, LinkKind::Pcie},
                              Edge{4, 6, LinkKind::NvLink}, Edge{6, 7, LinkKind::NvLink},
                              Edge{7, 5, LinkKind::Pcie},   Edge{5, 0, LinkKind::Pcie}};

std::shared_ptr<const Fabric> build_z52(const FabricParameters& parameters) {
  constexpr double kPcie_Bps = 27e9;
  constexpr double kSocket_Bps = 16e9;
  constexpr int kGpusAHost = 4;
  FabricBuilder builder("z52");
  builder.set_gpu_model("MI50");
  std::vector<NodeId> gpus;
  for (int gpu = 0; gpu < static_cast<int>(kRing.size()); ++gpu) {
    gpus.push_back(builder.add_node({.name = "gpu" + std::to_string(gpu)}));
  }
  for (const Edge& edge : kRing) {
    builder.add_duplex_link({.source = edge.a,
                             .target = edge.b,
                             .kind = edge.kind,
                             .latency_s = parameters.latency_s,
                             .unit_bandwidth_Bps = parameters.bandwidth_Bps,
                             .latency_stated = parameters.latency_stated});
  }
  add_hosts(builder,
            {.devices_a_host = kGpusAHost, .pcie_Bps = kPcie_Bps, .socket_Bps = kSocket_Bps}, gpus,
            0, "");
  builder.set_max_relays(std::numeric_limits<int>::max());  // xGMI routes by itself
  return builder.build();
}

}  // namespace

FabricModel z52_model() {
  return {{.name = "z52",
           .description = "Gigabyte Z52: 8 MI50, islands of xGMI bridged by PCIe: a ring",
           .options = {fabric_option("bandwidth", {.default_text = "27 GB/s"}),
                       fabric_option("latency", {.default_text = "0.7us"})},
           .facts = {{"27 GB/s per direction over PCIe Gen4 x16", "SCCL section 5.1.2"},
                     {"xGMI (33 GB/s, listed as nvlink) is as fast as PCIe here",
                      "SCCL section 5.1.2: its bounds hold for this model"},
                     {"islands 0-2-3 and 4-6-7, joined by PCIe through the lone GPUs 1 and 5",
                      "SCCL figure 3 and the bounds of its table 5"},
                     {"0.7 us per traversal", "a choice: TE-CCL's alpha of a direct GPU link"},
                     {"xGMI forwards data between GPUs of an island without a common link",
                      "SCCL section 5.1.2; RCCL of ROCm 4.0 (graph/paths.cc)"},
                     {"other GPUs without a common link reach each other through PCIe and the "
                      "hosts",
                      "RCCL of ROCm 4.0 (graph/paths.cc: P2P through AMD's processors)"},
                     {"GPUs 0-3 on one socket and 4-7 on the other", "SCCL figure 3"},
                     {"16 GB/s per direction between the sockets", "NCCL 2.21 (graph/topo.h: AMD)"},
                     {"0.5 us between a GPU and its host, 0 s between the hosts",
                      "a choice: as in dgx1"}}},
          build_z52};
}

}  // namespace cclgym
