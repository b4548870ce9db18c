#include "topology_models/servers/server_design.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "topology_models/servers/host_paths.hpp"

namespace cclgym {

namespace {

constexpr double kPcieLatency_s = 0;  // contained in kNetworkLatency_s

class ServerBuilder {
 public:
  ServerBuilder(FabricBuilder& builder, const ServerDesign& design,
                const FabricParameters& parameters, int server, const std::string& prefix)
      : builder_(builder),
        design_(design),
        parameters_(parameters),
        server_(server),
        prefix_(prefix) {}

  std::vector<NodeId> build() {
    for (int k = 0; k < parameters_.gpus_per_server; ++k) {
      gpus_.push_back(add(fmt::format("gpu{}", k), NodeKind::Gpu));
    }
    for (const GpuPair& pair : design_.pairs) {
      if (std::max(pair.a, pair.b) >= parameters_.gpus_per_server) continue;
      add_gpu_link(gpu(pair.a), gpu(pair.b), pair.units);
    }
    if (design_.boards > 0) add_nvswitches();
    add_pcie_and_nics();
    if (design_.socket_Bps > 0) {
      add_hosts(builder_, {.pcie_Bps = design_.pcie_Bps, .socket_Bps = design_.socket_Bps},
                pcie_switches_, server_, prefix_);
      builder_.set_max_relays(nvb_relays(parameters_.nvb));
    }
    return nics_;
  }

 private:
  NodeId add(const std::string& name, NodeKind kind, int multiplicity = 1, bool computes = false) {
    return builder_.add_node({.name = prefix_ + name,
                              .kind = kind,
                              .server = server_,
                              .multiplicity = multiplicity,
                              .computes = computes});
  }

  [[nodiscard]] NodeId gpu(int k) const { return gpus_[static_cast<std::size_t>(k)]; }

  void add_gpu_link(NodeId a, NodeId b, int units) {
    builder_.add_duplex_link({.source = a,
                              .target = b,
                              .kind = LinkKind::NvLink,
                              .latency_s = parameters_.latency_s,
                              .unit_bandwidth_Bps = parameters_.bandwidth_Bps,
                              .multiplicity = units,
                              .latency_stated = parameters_.latency_stated});
  }

  [[nodiscard]] Link pcie(NodeId source, NodeId target) const {
    return {.source = source,
            .target = target,
            .kind = LinkKind::Pcie,
            .latency_s = kPcieLatency_s,
            .unit_bandwidth_Bps = design_.pcie_Bps};
  }

  // The hardware interleaves addresses over all NVSwitches of a board: they act as one crossbar.
  void add_nvswitches() {
    const int gpus_a_board = design_.gpus / design_.boards;
    std::vector<NodeId> crossbars;
    for (int board = 0; board < design_.boards; ++board) {
      crossbars.push_back(add(design_.boards == 1 ? "nvswitch" : fmt::format("nvswitch{}", board),
                              NodeKind::NvSwitch, design_.nvswitches_a_board, parameters_.nvls));
    }
    for (int k = 0; k < parameters_.gpus_per_server; ++k) {
      add_gpu_link(gpu(k), crossbars[static_cast<std::size_t>(k / gpus_a_board)],
                   design_.nvlinks_a_gpu);
    }
    for (std::size_t a = 0; a < crossbars.size(); ++a) {
      for (std::size_t b = a + 1; b < crossbars.size(); ++b) {
        add_gpu_link(crossbars[a], crossbars[b], design_.nvlinks_between_boards);
      }
    }
  }

  [[nodiscard]] std::vector<int> nics_of_gpu(int k) const {
    if (parameters_.nic_binding == NicBinding::RoundRobin) return {k % design_.nics};
    if (parameters_.nic_binding != NicBinding::TopologyAware) return nearest_nics(k);
    std::vector<int> gpus_of_nic(static_cast<std::size_t>(design_.nics), 0);
    int chosen = 0;
    for (int gpu = 0; gpu <= k; ++gpu) {
      const std::vector<int> near = nearest_nics(gpu);
      chosen = *std::min_element(near.begin(), near.end(), [&](int a, int b) {
        return gpus_of_nic[static_cast<std::size_t>(a)] < gpus_of_nic[static_cast<std::size_t>(b)];
      });
      ++gpus_of_nic[static_cast<std::size_t>(chosen)];
    }
    return {chosen};
  }

  // A GPU's own NICs, or the one that it shares with its neighbours.
  [[nodiscard]] std::vector<int> nearest_nics(int k) const {
    std::vector<int> own;
    for (int nic = k * design_.nics / design_.gpus;
         nic < std::max(k * design_.nics / design_.gpus + 1, (k + 1) * design_.nics / design_.gpus);
         ++nic) {
      own.push_back(nic);
    }
    return own;
  }

  // Goes from PCIe switch to PCIe switch, and adds NICs at their first use. A "port" is the vertex
  // that is linked to NICs: a PCIe switch, or a GPU without one.
  void add_pcie_and_nics() {
    const int gpus_a_port = std::max(1, design_.gpus_a_pcie_switch);
    const bool single = parameters_.nic_binding == NicBinding::SingleNic;
    nics_.assign(static_cast<std::size_t>(design_.nics), -1);
    for (int first = 0; first < parameters_.gpus_per_server; first += gpus_a_port) {
      const int last = std::min(first + gpus_a_port, parameters_.gpus_per_server);
      NodeId port = gpu(first);
      if (design_.gpus_a_pcie_switch > 0) {
        port = add(fmt::format("pcie{}", first / gpus_a_port), NodeKind::PcieSwitch);
        for (int k = first; k < last; ++k) builder_.add_duplex_link(pcie(gpu(k), port));
        pcie_switches_.push_back(port);
      }
      if (single) {
        builder_.add_link(pcie(port, nic(design_.nics - 1)));
        builder_.add_link(pcie(nic(0), port));
        continue;
      }
      // All GPUs of the node count, even if only some of them are used: the NICs stay in place.
      std::vector<int> bound;
      for (int k = first; k < std::min(first + gpus_a_port, design_.gpus); ++k) {
        for (const int number : nics_of_gpu(k)) {
          if (std::find(bound.begin(), bound.end(), number) == bound.end()) bound.push_back(number);
        }
      }
      for (const int number : bound) builder_.add_duplex_link(pcie(port, nic(number)));
    }
    for (int number = 0; number < design_.nics; ++number) nic(number);  // NICs without a GPU
  }

  NodeId nic(int number) {
    NodeId& id = nics_[static_cast<std::size_t>(number)];
    if (id < 0) id = add(fmt::format("nic{}", number), NodeKind::Nic);
    return id;
  }

  FabricBuilder& builder_;
  const ServerDesign& design_;
  const FabricParameters& parameters_;
  int server_;
  const std::string& prefix_;
  std::vector<NodeId> gpus_;
  std::vector<NodeId> nics_;
  std::vector<NodeId> pcie_switches_;
};

}  // namespace

std::vector<GpuPair> all_pairs(int gpus, int units) {
  std::vector<GpuPair> pairs;
  for (int a = 0; a < gpus; ++a) {
    for (int b = a + 1; b < gpus; ++b) pairs.push_back({a, b, units});
  }
  return pairs;
}

std::vector<NodeId> add_server(FabricBuilder& builder, const ServerDesign& design,
                               const FabricParameters& parameters, int server,
                               const std::string& prefix) {
  return ServerBuilder(builder, design, parameters, server, prefix).build();
}

void link_to_network(FabricBuilder& builder, NodeId nic, NodeId network_switch, double nic_Bps) {
  builder.add_duplex_link({.source = nic,
                           .target = network_switch,
                           .kind = LinkKind::Network,
                           .latency_s = kNetworkLatency_s,
                           .unit_bandwidth_Bps = nic_Bps});
}

void link_port(FabricBuilder& builder, NodeId nic, NodeId network_switch,
               const FabricParameters& parameters) {
  builder.add_duplex_link({.source = nic,
                           .target = network_switch,
                           .kind = LinkKind::Network,
                           .latency_s = parameters.latency_s,
                           .unit_bandwidth_Bps = parameters.bandwidth_Bps,
                           .latency_stated = parameters.latency_stated});
}

}  // namespace cclgym
