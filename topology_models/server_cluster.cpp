#include "topology_models/server_cluster.hpp"

#include <fmt/format.h>
#include <vector>

namespace cclgym {

namespace {

constexpr std::size_t kGpusAPcieSwitch = 2;

constexpr double kHdr_Bps = 25e9;  // HDR InfiniBand: 200 Gb/s a direction
// TE-CCL's alpha of a link between GPU and network switch: 1.3 us, so 2.6 us between servers (also
// in its DGX-2 topology). It covers the whole way from GPU memory to the switch, so that the PCIe
// links on that way add nothing.
constexpr double kNetworkLatency_s = 1.3e-6;
constexpr double kPcieLatency_s = 0;

// The nodes and links of one server after the other.
class ClusterBuilder {
 public:
  ClusterBuilder(const ServerDesign& design, const FabricParameters& parameters)
      : design_(design), parameters_(parameters), builder_(design.fabric) {
    builder_.set_gpu_model(design.gpu_model);
  }

  std::shared_ptr<const Fabric> build() {
    std::vector<NodeId> nics;
    for (int server = 0; server < parameters_.servers; ++server) {
      server_ = server;
      prefix_ = parameters_.servers > 1 ? fmt::format("server{}/", server) : "";
      const std::vector<NodeId> gpus = add_gpus();
      add_nvswitches(gpus);
      for (const NodeId nic : add_nics(gpus)) nics.push_back(nic);
    }
    const NodeId network =
        builder_.add_node({.name = "network", .kind = NodeKind::NetworkSwitch, .server = -1});
    for (const NodeId nic : nics) {
      builder_.add_duplex_link({.source = nic,
                                .target = network,
                                .kind = LinkKind::Network,
                                .latency_s = kNetworkLatency_s,
                                .unit_bandwidth_Bps = kHdr_Bps});
    }
    return builder_.build();
  }

 private:
  NodeId add(const std::string& name, NodeKind kind, int multiplicity = 1) {
    return builder_.add_node(
        {.name = prefix_ + name, .kind = kind, .server = server_, .multiplicity = multiplicity});
  }

  void add_nvlink(NodeId a, NodeId b, int units) {
    builder_.add_duplex_link({.source = a,
                              .target = b,
                              .kind = LinkKind::NvLink,
                              .latency_s = parameters_.latency_s,
                              .unit_bandwidth_Bps = parameters_.bandwidth_Bps,
                              .multiplicity = units,
                              .latency_stated = parameters_.latency_stated});
  }

  void add_pcie(NodeId a, NodeId b) {
    builder_.add_duplex_link({.source = a,
                              .target = b,
                              .kind = LinkKind::Pcie,
                              .latency_s = kPcieLatency_s,
                              .unit_bandwidth_Bps = design_.pcie_Bps});
  }

  std::vector<NodeId> add_gpus() {
    std::vector<NodeId> gpus;
    for (int k = 0; k < design_.boards * design_.gpus_a_board; ++k) {
      gpus.push_back(add(fmt::format("gpu{}", k), NodeKind::Gpu));
    }
    return gpus;
  }

  // The hardware interleaves addresses over all NVSwitches of a board: they act as one crossbar.
  void add_nvswitches(const std::vector<NodeId>& gpus) {
    std::vector<NodeId> crossbars;
    for (int board = 0; board < design_.boards; ++board) {
      crossbars.push_back(add(design_.boards == 1 ? "nvswitch" : fmt::format("nvswitch{}", board),
                              NodeKind::NvSwitch, design_.nvswitches_a_board));
    }
    for (std::size_t k = 0; k < gpus.size(); ++k) {
      const std::size_t board = k / static_cast<std::size_t>(design_.gpus_a_board);
      add_nvlink(gpus[k], crossbars[board], design_.nvlinks_a_gpu);
    }
    for (std::size_t a = 0; a < crossbars.size(); ++a) {
      for (std::size_t b = a + 1; b < crossbars.size(); ++b) {
        add_nvlink(crossbars[a], crossbars[b], design_.nvlinks_between_boards);
      }
    }
  }

  std::vector<NodeId> add_nics(const std::vector<NodeId>& gpus) {
    std::vector<NodeId> nics;
    for (std::size_t first = 0; first < gpus.size(); first += kGpusAPcieSwitch) {
      const NodeId pcie =
          add(fmt::format("pcie{}", first / kGpusAPcieSwitch), NodeKind::PcieSwitch);
      for (std::size_t k = first; k < first + kGpusAPcieSwitch; ++k) add_pcie(gpus[k], pcie);
      for (int k = 0; k < design_.nics_a_gpu_pair; ++k) {
        nics.push_back(add(fmt::format("nic{}", nics.size()), NodeKind::Nic));
        add_pcie(pcie, nics.back());
      }
    }
    return nics;
  }

  const ServerDesign& design_;
  const FabricParameters& parameters_;
  FabricBuilder builder_;
  int server_ = 0;
  std::string prefix_;
};

}  // namespace

std::shared_ptr<const Fabric> build_cluster(const ServerDesign& design,
                                            const FabricParameters& parameters) {
  return ClusterBuilder(design, parameters).build();
}

}  // namespace cclgym
