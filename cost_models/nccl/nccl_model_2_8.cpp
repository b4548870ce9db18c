// NCCL 2.8.4 (src/graph/tuning.cc): Tree, Ring and one CollNet.
#include "cost_models/nccl/nccl_model.hpp"

namespace cclgym::nccl {

namespace {

constexpr ByAlgorithm kBase_us{{{4.4, 4.4, 0}, {3.6, 10, 8.4}, {4.4, 4.4, 0}}};
constexpr ByLink kHardware_us{{{{{.52, 1.25, 28}, {.47, 1.9, 3.4}, {.5, 1.2, 4}}},
                               {{{1, 1.9, 28}, {1, 2.5, 5.7}, {1, 1.9, 5.5}}},
                               {{{5, 8.5, 28}, {2.7, 4, 9.6}, {5, 5, 10.7}}}}};
// Maximum bandwidth of LL. The first row is for Volta (one node) or Intel CPUs (more nodes), the
// second for Ampere or AMD CPUs.
constexpr std::array<ByNodes, 2> kLlMost_GBps{{{39, 39, 20.4}, {87.7, 22.5, 19}}};
constexpr std::array<ByNodes, 2> kTreeChannelMost_GBps{{{26.5, 18.5, 10}, {24, 22.5, 16}}};
// Maximum bandwidth of LL128 per channel, for Broadcast, Reduce, AllGather, ReduceScatter and
// AllReduce.
constexpr std::array<double, kNcclCollectives> kLl128ChannelMost_GBps{18.8, 12, 18.3, 15.2, 16.9};
constexpr double kAmpereMost_GBps = 235;
constexpr double kLlStepOverServers = 1.8;

class Model {
 public:
  explicit Model(const NcclComm& comm)
      : comm_(comm),
        shape_(comm),
        // 2.8.4 tests for compute capability 8.0 exactly and has nothing newer.
        gpu_(comm.compute_capability == 80 ? 1 : 0),
        ll_most_(kLlMost_GBps[shape_.nodes == 1 ? gpu_ : (comm.cpu == NcclCpu::Amd ? 1 : 0)]
                             [shape_.nodes_column]) {}

  [[nodiscard]] bool offered(NcclCollective collective, NcclAlgorithm algorithm,
                             Protocol protocol) const {
    if (!comm_.graph(algorithm) || algorithm > NcclAlgorithm::CollNetDirect) return false;
    const bool ring = algorithm == NcclAlgorithm::Ring;
    if (collective != NcclCollective::AllReduce && !ring) return false;
    if (algorithm == NcclAlgorithm::CollNetDirect &&
        (!comm_.collnet || protocol == Protocol::LL128)) {
      return false;
    }
    return protocol != Protocol::LL128 || comm_.ll128;
  }

  [[nodiscard]] Estimate estimate(NcclCollective collective, NcclAlgorithm algorithm,
                                  Protocol protocol) const {
    return {latency_us(collective, algorithm, protocol),
            bandwidth_GBps(collective, algorithm, protocol)};
  }

 private:
  [[nodiscard]] double bandwidth_GBps(NcclCollective collective, NcclAlgorithm algorithm,
                                      Protocol protocol) const {
    const NcclGraph& graph = *comm_.graph(algorithm);
    const bool collnet = algorithm == NcclAlgorithm::CollNetDirect;
    double bandwidth =
        graph.channels * ((shape_.nodes <= 2 || collnet ? graph.intra_Bps : graph.inter_Bps) / 1e9);
    if (gpu_ == 1) bandwidth = std::min(bandwidth, kAmpereMost_GBps);
    if (algorithm == NcclAlgorithm::Ring) {
      return ring_GBps(bandwidth, graph.channels, collective, protocol) *
             (static_cast<double>(shape_.ranks) / ring_steps(collective, shape_.ranks));
    }
    if (collnet) return bandwidth * .9 * (protocol == Protocol::LL ? 1.0 / 6.0 : 1) * .5;
    bandwidth = std::min(bandwidth * .92,
                         graph.channels * kTreeChannelMost_GBps[gpu_][shape_.nodes_column]);
    if (protocol == Protocol::LL) bandwidth = std::min(bandwidth / 3.8, ll_most_);
    if (protocol == Protocol::LL128) {
      bandwidth = std::min(bandwidth * (shape_.nodes == 1 ? 7.0 / 9.0 : .915),
                           kLl128ChannelMost_GBps[index(collective)] * graph.channels);
    }
    return bandwidth * .5;
  }

  [[nodiscard]] double ring_GBps(double bandwidth, int channels, NcclCollective collective,
                                 Protocol protocol) const {
    if (protocol == Protocol::LL) {
      const bool quarter = shape_.nodes > 1 || collective == NcclCollective::AllReduce ||
                           collective == NcclCollective::Reduce;
      return std::min(ll_most_, bandwidth * (quarter ? 1.0 / 4.0 : 1.0 / 3.0));
    }
    if (protocol == Protocol::LL128) {
      return std::min(bandwidth * (shape_.ranks_per_node < 2 ? .7 : .92),
                      kLl128ChannelMost_GBps[index(collective)] * channels);
    }
    return bandwidth;
  }

  [[nodiscard]] double latency_us(NcclCollective collective, NcclAlgorithm algorithm,
                                  Protocol protocol) const {
    const NcclGraph& graph = *comm_.graph(algorithm);
    const std::size_t a = index(algorithm);
    const std::size_t p = index(protocol);
    const double base = kBase_us[a][p];
    const double inside = kHardware_us[index(graph.link)][a][p] *
                          (shape_.nodes > 1 && protocol == Protocol::LL ? kLlStepOverServers : 1);
    const double between = kHardware_us[kNetworkRow][a][p];
    const int peers = shape_.whole_ranks_per_node - 1;
    if (algorithm == NcclAlgorithm::Tree) {
      return base + 2 * (peers * inside + shape_.log2_nodes * between);
    }
    if (algorithm == NcclAlgorithm::CollNetDirect) return base + (2 * peers * inside + between);
    const int steps = ring_steps(collective, shape_.ranks);
    if (rooted(collective)) {
      return base + rooted_ring_latency_us(kHardware_us, graph, shape_.nodes, steps, protocol);
    }
    const int between_steps =
        (collective == NcclCollective::AllReduce ? 2 : 1) * (shape_.nodes - 1);
    return base + ((steps - between_steps) * inside + between_steps * between);
  }

  const NcclComm& comm_;
  Shape shape_;
  std::size_t gpu_;
  double ll_most_;
};

}  // namespace

Table estimates_2_8(const NcclComm& comm) { return table_of(Model(comm)); }

}  // namespace cclgym::nccl
