// NCCL 2.23 and newer (src/graph/tuning.cc of each release up to 2.30.7).
#include "cost_models/nccl/nccl_model.hpp"
#include "cost_models/nccl/nccl_search.hpp"

namespace cclgym::nccl {

namespace {

// Constants of 2.28.9.
constexpr NcclConstants kConstants{
    .base_us =
        {{{6.8, 14, 8.4}, {6.6, 14, 8.4}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {8, 8, 8}}},
    .hardware_us =
        {{{{{.6, 1.25, 4},
            {.6, 1.9, 3.4},
            {0, 0, 3.7},
            {0, 0, 2.8},
            {0, 0, 25},
            {0, 0, 25},
            {0, 0, 4}}},
          {{{1, 1.9, 4}, {1, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 0}, {0, 0, 0}, {0, 0, 4}}},
          {{{5, 8.5, 14},
            {2.7, 4, 14},
            {0, 0, 31},
            {0, 0, 30},
            {0, 0, 18},
            {0, 0, 20.9},
            {0, 0, 14}}}}},
    .ll_most_GBps =
        {{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {2 * 141.0, 2 * 45.0, 2 * 35.0}}},
    .ring_ll128_GBps = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {73.4, 34.6, 73.4}}},
    .tree_ll128_GBps = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}},
    .tree_GBps = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}},
    .nvls_tree_GBps = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 43.8}}}};
constexpr NcclConstants::ByNodes kBlackwellRingLl128Of2_29_GBps{34.5, 34.6, 34.5};
constexpr NcclConstants::ByNodes kBlackwellRingLl128Of2_30_GBps{40, 40, 40};
constexpr double kBlackwellNvlsTreeOf2_30_GBps = 80;  // three nodes or more
// Before 2.28, twice Hopper's.
constexpr NcclConstants::ByNodes kBlackwellRingLl128Of2_25_GBps{2 * 36.7, 2 * 36.7, 2 * 36.7};
constexpr NcclConstants::ByNodes kBlackwellTreeLl128Of2_25_GBps{2 * 36.7, 2 * 36.7, 2 * 29.0};
constexpr NcclConstants::ByNodes kBlackwellTreeOf2_25_GBps{2 * 38.7, 2 * 41.4, 2 * 36.0};
constexpr double kBlackwellNvlsTreeOf2_28_GBps = 43.1;  // from 2.28.3 on, three nodes or more
constexpr double kNvlsTreeNetworkOf2_23_us = 14;
constexpr std::array<double, 4> kNvlsEfficiency{0, 0, .85, .74};
constexpr std::size_t kBlackwell = 3;

// Rules that differ between releases.
struct Rules {
  explicit Rules(const NcclVersion& version)
      : nvls_by_gpu(version >= NcclVersion{2, 28, 0}),
        gathers_over_nodes(version >= NcclVersion{2, 27, 0}),
        pat_share(version < NcclVersion{2, 24, 0} ? .85 : .75) {}

  bool nvls_by_gpu;         // NVLS has an efficiency by GPU; otherwise 5/6 of the bandwidth
  bool gathers_over_nodes;  // NVLS gathers and scatters over several nodes, too
  double pat_share;
};

class Model223 {
 public:
  Model223(const NcclVersion& version, const NcclComm& comm, const NcclConstants& constants)
      : comm_(comm),
        shape_(comm),
        constants_(constants),
        rules_(version),
        place_(nccl_constants_place(version, comm)) {}

  [[nodiscard]] bool offered(NcclCollective collective, NcclAlgorithm algorithm,
                             Protocol protocol) const {
    if (!comm_.graph(algorithm)) return false;
    const bool direct = algorithm == NcclAlgorithm::CollNetDirect;
    const bool chain = algorithm == NcclAlgorithm::CollNetChain;
    const bool nvls = algorithm == NcclAlgorithm::Nvls;
    const bool nvls_tree = algorithm == NcclAlgorithm::NvlsTree;
    const bool pat = algorithm == NcclAlgorithm::Pat;
    if (rooted(collective) && algorithm != NcclAlgorithm::Ring) return false;
    if (collective == NcclCollective::AllReduce && pat) return false;
    if (sliced(collective)) {
      if (algorithm == NcclAlgorithm::Tree || chain || nvls_tree) return false;
      if (nvls && shape_.nodes > 1 && !rules_.gathers_over_nodes) return false;
      if (nvls && shape_.ranks_per_node > kMostNvlsHeads) return false;
      // Every GPU must be a head: it needs its own access to the reducing network.
      if ((nvls || direct) && shape_.nodes > 1 && comm_.heads < shape_.ranks_per_node) return false;
    }
    if ((direct || chain || nvls || nvls_tree || pat) && protocol != Protocol::Simple) return false;
    if (pat && shape_.nodes != shape_.ranks) return false;
    if ((direct || chain || (nvls && shape_.nodes > 1)) && !comm_.collnet) return false;
    if (direct && !comm_.nvswitch) return false;
    if (nvls_tree && shape_.nodes == 1) return false;
    if (rules_.nvls_by_gpu && (nvls || nvls_tree) && comm_.graph(algorithm)->channels < 2) {
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
  [[nodiscard]] double of_gpu(const NcclConstants::ByGpu& table) const {
    return table[place_.gpu_row][place_.column];
  }
  [[nodiscard]] double ll_most_GBps() const {
    return constants_.ll_most_GBps[place_.ll_row][place_.column];
  }

  [[nodiscard]] double channel_GBps(const NcclGraph& graph, NcclCollective collective,
                                    NcclAlgorithm algorithm) const {
    const double intra = graph.intra_Bps / 1e9;
    const double inter = graph.inter_Bps / 1e9;
    const bool nvls_tree = algorithm == NcclAlgorithm::NvlsTree;
    if (!rules_.nvls_by_gpu && nvls_tree) {
      return std::min(intra, shape_.nodes <= 2 ? inter : inter / 2);
    }
    if (!rules_.nvls_by_gpu && algorithm == NcclAlgorithm::Nvls) {
      if (!rules_.gathers_over_nodes || !sliced(collective)) return std::min(intra, inter);
      return std::min(intra * (shape_.ranks_per_node - 1) / shape_.ranks_per_node, inter * .9);
    }
    if (algorithm == NcclAlgorithm::Nvls || nvls_tree) {
      const double passes = collective == NcclCollective::AllReduce
                                ? 2
                                : (shape_.ranks_per_node - 1) / shape_.ranks_per_node;
      const double inside =
          intra * kNvlsEfficiency[place_.gpu_row] * (graph.channels - 1) / graph.channels * passes;
      const double between = inter * (shape_.nodes <= 2 && nvls_tree ? 2 : 1);
      const double channel = std::min(inside, between);
      return nvls_tree ? std::min(channel, of_gpu(constants_.nvls_tree_GBps)) : channel;
    }
    const bool collnet =
        algorithm == NcclAlgorithm::CollNetDirect || algorithm == NcclAlgorithm::CollNetChain;
    return shape_.nodes <= 2 || collnet ? intra : inter;
  }

  [[nodiscard]] double bandwidth_GBps(NcclCollective collective, NcclAlgorithm algorithm,
                                      Protocol protocol) const {
    const NcclGraph& graph = *comm_.graph(algorithm);
    double bandwidth = graph.channels * channel_GBps(graph, collective, algorithm);
    const double ring_ratio =
        static_cast<double>(shape_.ranks) / ring_steps(collective, shape_.ranks);
    switch (algorithm) {
      case NcclAlgorithm::Ring:
        if (protocol == Protocol::LL) bandwidth = std::min(ll_most_GBps(), bandwidth * .5);
        if (protocol == Protocol::LL128) {
          bandwidth =
              std::min(bandwidth * .92, graph.channels * of_gpu(constants_.ring_ll128_GBps));
        }
        return bandwidth * ring_ratio;
      case NcclAlgorithm::Tree:
        bandwidth = std::min(bandwidth * .92, graph.channels * of_gpu(constants_.tree_GBps));
        if (protocol == Protocol::LL) bandwidth = std::min(bandwidth / 3.8, ll_most_GBps());
        if (protocol == Protocol::LL128) {
          bandwidth = std::min(bandwidth * (shape_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                               graph.channels * of_gpu(constants_.tree_ll128_GBps));
        }
        if (comm_.plain_tree) bandwidth *= .85;
        return bandwidth * .5;
      case NcclAlgorithm::CollNetDirect: {
        if (sliced(collective) && !rules_.gathers_over_nodes) {
          const double weight = (shape_.ranks_per_node - 1) / 7;
          return shape_.ranks_per_node * (graph.intra_Bps / 1e9) *
                 (weight * .85 + (1 - weight) * .95);
        }
        if (sliced(collective)) {
          return shape_.ranks_per_node *
                 std::min(graph.intra_Bps / 1e9, .9 * (graph.inter_Bps / 1e9));
        }
        double gpus_a_nic = shape_.ranks_per_node / graph.channels;
        gpus_a_nic -= (gpus_a_nic - 1) / 2;
        bandwidth /= gpus_a_nic;
        if (comm_.compute_capability >= 90) bandwidth *= .85;
        return bandwidth * .5;
      }
      case NcclAlgorithm::CollNetChain:
        return bandwidth * .5;
      case NcclAlgorithm::Nvls:
      case NcclAlgorithm::NvlsTree:
        if (sliced(collective)) return bandwidth;
        return bandwidth * (rules_.nvls_by_gpu ? ring_ratio : 5.0 / 6.0);
      case NcclAlgorithm::Pat:
        return bandwidth * rules_.pat_share;
    }
    return 0;
  }

  [[nodiscard]] double latency_us(NcclCollective collective, NcclAlgorithm algorithm,
                                  Protocol protocol) const {
    const NcclGraph& graph = *comm_.graph(algorithm);
    const std::size_t a = index(algorithm);
    const std::size_t p = index(protocol);
    const double base = constants_.base_us[a][p];
    const double inside = constants_.hardware_us[index(graph.link)][a][p];
    // With one GPU per node nothing hides the network: all algorithms have Tree's latency. Simple
    // also pays for the flush after the data.
    const std::size_t exposed = shape_.ranks == shape_.nodes ? index(NcclAlgorithm::Tree) : a;
    const double between = constants_.hardware_us[kNetworkRow][exposed][p] +
                           graph.inter_latency_s * 1e6 * (protocol == Protocol::Simple ? 2 : 1);
    const int peers = shape_.whole_ranks_per_node - 1;
    switch (algorithm) {
      case NcclAlgorithm::Ring:
        return base + ring_latency_us(collective, graph, protocol, inside, between);
      case NcclAlgorithm::Tree:
        return base + 2 * (peers * inside + shape_.log2_nodes * between);
      case NcclAlgorithm::CollNetDirect:
        return base + (2 * (std::min(1, peers) * inside + peers * .4) + between);
      case NcclAlgorithm::CollNetChain:
        return base + (2 * peers * inside + between);
      case NcclAlgorithm::Nvls:
        return inside + (shape_.nodes > 1 ? between : 0);
      case NcclAlgorithm::NvlsTree:
        return base + (inside + 2 * shape_.log2_nodes * between);
      case NcclAlgorithm::Pat:
        return base + (shape_.log2_nodes * between / 3.5 + shape_.ranks * 2.8);
    }
    return 0;
  }

  [[nodiscard]] double ring_latency_us(NcclCollective collective, const NcclGraph& graph,
                                       Protocol protocol, double inside, double between) const {
    const int steps = ring_steps(collective, shape_.ranks);
    if (rooted(collective)) {
      return rooted_ring_latency_us(constants_.hardware_us, graph, shape_.nodes, steps, protocol);
    }
    const int between_steps =
        (collective == NcclCollective::AllReduce ? 2 : 1) * (shape_.nodes - 1);
    return (steps - between_steps) * std::max(inside, network_overhead_us(comm_, protocol)) +
           between_steps * between;
  }

  const NcclComm& comm_;
  Shape shape_;
  const NcclConstants& constants_;
  Rules rules_;
  NcclConstantsPlace place_;
};

}  // namespace

Table estimates_2_23(const NcclVersion& version, const NcclComm& comm,
                     const NcclConstants& constants) {
  return table_of(Model223(version, comm, constants));
}

}  // namespace cclgym::nccl

namespace cclgym {

NcclConstants nccl_constants(const NcclVersion& version) {
  NcclConstants constants = nccl::kConstants;
  if (version >= NcclVersion{2, 30, 0}) {
    constants.ring_ll128_GBps[nccl::kBlackwell] = nccl::kBlackwellRingLl128Of2_30_GBps;
    constants.nvls_tree_GBps[nccl::kBlackwell][2] = nccl::kBlackwellNvlsTreeOf2_30_GBps;
  } else if (version >= NcclVersion{2, 29, 0}) {
    constants.ring_ll128_GBps[nccl::kBlackwell] = nccl::kBlackwellRingLl128Of2_29_GBps;
  }
  if (version < NcclVersion{2, 28, 7}) {
    constants.ring_ll128_GBps[nccl::kBlackwell] = nccl::kBlackwellRingLl128Of2_25_GBps;
  }
  if (version < NcclVersion{2, 28, 9}) {
    constants.nvls_tree_GBps[nccl::kBlackwell][2] = nccl::kBlackwellNvlsTreeOf2_28_GBps;
    constants.hardware_us[nccl::kNetworkRow][nccl::index(NcclAlgorithm::NvlsTree)]
                         [nccl::index(Protocol::Simple)] = nccl::kNvlsTreeNetworkOf2_23_us;
  }
  if (version < NcclVersion{2, 28, 0}) {
    constants.tree_ll128_GBps[nccl::kBlackwell] = nccl::kBlackwellTreeLl128Of2_25_GBps;
    constants.tree_GBps[nccl::kBlackwell] = nccl::kBlackwellTreeOf2_25_GBps;
  }
  return constants;
}

NcclConstantsPlace nccl_constants_place(const NcclVersion& version, const NcclComm& comm) {
  NcclConstantsPlace place;
  // Blackwell is supported from 2.25 on; older releases treat its GPUs as Hopper.
  place.gpu_row = nccl::gpu_row(comm.compute_capability,
                                version < NcclVersion{2, 25, 0} ? 2 : nccl::kBlackwell);
  const bool amd =
      comm.cpu == NcclCpu::Amd || (comm.cpu == NcclCpu::Mixed && version >= NcclVersion{2, 24, 0});
  place.ll_row = comm.nodes == 1 ? place.gpu_row : amd ? 1 : 0;
  place.column = nccl::Shape(comm).nodes_column;
  return place;
}

}  // namespace cclgym
