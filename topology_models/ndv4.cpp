#include <array>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "topology_models/builders.hpp"

namespace cclgym {

namespace {

constexpr int kGpus = 8;
constexpr int kGpusPerPcieSwitch = 2;
constexpr int kNvSwitches = 6;
constexpr int kNvLinks = 12;  // of a GPU: two to each NVSwitch

// NCCL's own figure (graph/topo.h: 12 GB/s for a PCIe Gen3 x16 link, twice that for Gen4): the
// 31.5 GB/s of 16 lanes at 16 GT/s less packet headers and flow control.
constexpr double kPcie_Bps = 24e9;
constexpr double kHdr_Bps = 25e9;  // HDR InfiniBand: 200 Gb/s a direction
// TE-CCL's alpha of a link between GPU and network switch. It covers the whole way from GPU memory
// to the switch, so that the PCIe links on that way add nothing.
constexpr double kNetworkLatency_s = 1.3e-6;
constexpr double kPcieLatency_s = 0;

// Adds the nodes and inner links of one server; returns its NICs.
std::vector<NodeId> add_server(FabricBuilder& builder, int server, const std::string& prefix,
                               const FabricParameters& parameters) {
  const auto add = [&](const std::string& name, NodeKind kind, int multiplicity = 1) {
    return builder.add_node(
        {.name = prefix + name, .kind = kind, .server = server, .multiplicity = multiplicity});
  };
  const auto add_pcie = [&](NodeId a, NodeId b) {
    builder.add_duplex_link({.source = a,
                             .target = b,
                             .kind = LinkKind::Pcie,
                             .latency_s = kPcieLatency_s,
                             .unit_bandwidth_Bps = kPcie_Bps});
  };

  std::array<NodeId, kGpus> gpus{};
  for (std::size_t k = 0; k < gpus.size(); ++k) {
    gpus[k] = add(fmt::format("gpu{}", k), NodeKind::Gpu);
  }
  // The hardware interleaves addresses over all six NVSwitches: they act as one crossbar.
  const NodeId crossbar = add("nvswitch", NodeKind::NvSwitch, kNvSwitches);
  for (const NodeId gpu : gpus) {
    builder.add_duplex_link({.source = gpu,
                             .target = crossbar,
                             .kind = LinkKind::NvLink,
                             .latency_s = parameters.latency_s,
                             .unit_bandwidth_Bps = parameters.bandwidth_Bps,
                             .multiplicity = kNvLinks});
  }

  std::vector<NodeId> nics;
  for (std::size_t first = 0; first < gpus.size(); first += kGpusPerPcieSwitch) {
    const NodeId pcie =
        add(fmt::format("pcie{}", first / kGpusPerPcieSwitch), NodeKind::PcieSwitch);
    for (std::size_t k = first; k < first + kGpusPerPcieSwitch; ++k) add_pcie(gpus[k], pcie);
    for (std::size_t k = first; k < first + kGpusPerPcieSwitch; ++k) {
      nics.push_back(add(fmt::format("nic{}", k), NodeKind::Nic));
      add_pcie(pcie, nics.back());
    }
  }
  return nics;
}

std::shared_ptr<const Fabric> build(const FabricParameters& parameters) {
  FabricBuilder builder("ndv4");
  builder.set_gpu_model("A100");
  std::vector<NodeId> nics;
  for (int server = 0; server < parameters.servers; ++server) {
    const std::string prefix = parameters.servers > 1 ? fmt::format("server{}/", server) : "";
    for (const NodeId nic : add_server(builder, server, prefix, parameters)) nics.push_back(nic);
  }
  const NodeId network =
      builder.add_node({.name = "network", .kind = NodeKind::NetworkSwitch, .server = -1});
  for (const NodeId nic : nics) {
    builder.add_duplex_link({.source = nic,
                             .target = network,
                             .kind = LinkKind::Network,
                             .latency_s = kNetworkLatency_s,
                             .unit_bandwidth_Bps = kHdr_Bps});
  }
  return builder.build();
}

}  // namespace

FabricModel ndv4_model() {
  constexpr double kMostServers = 2048;
  return {{.name = "ndv4",
           .description =
               "Azure NDv4: servers of 8 A100 on NVSwitch, 8 HDR NICs, one non-blocking network",
           // 25 GB/s: an NVLink3 unit, one direction (NVIDIA A100 white paper). 0.35 us: the alpha
           // that TE-CCL uses between a GPU and an NVSwitch (its DGX-2 topology).
           .options = {servers_option(kMostServers), bandwidth_option("25 GB/s"),
                       latency_option("0.35us")}},
          build};
}

}  // namespace cclgym
