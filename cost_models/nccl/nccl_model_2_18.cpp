// NCCL 2.18 to 2.22 (src/graph/tuning.cc of 2.18.6, 2.19.4, 2.20.5, 2.21.5 and 2.22.3).
#include "cost_models/nccl/nccl_model.hpp"

namespace cclgym::nccl {

namespace {

// Constants and rules of one release.
struct Release218 {
  ByAlgorithm base_us;
  ByLink hardware_us;
  std::array<ByNodes, 3> ll_most_GBps;  // row Volta (or Intel), Ampere (or AMD), Hopper
  bool ll_half;          // Ring LL reaches half of the bandwidth; otherwise a quarter or a third
  bool nvls_gathers;     // NVLS also supports gathering and scattering, in one node
  bool collnet_gathers;  // so does CollNetDirect
  double collnet_arity_us;
};

constexpr ByNodes kVoltaLl_GBps{39, 39, 20.4};
constexpr ByNodes kAmpereLl_GBps{87.7, 22.5, 19};

constexpr Release218 kRelease2_18{
    .base_us = {{{6.8, 14, 0}, {6.6, 14, 8.4}, {6.8, 14, 0}, {6.8, 14, 0}, {0, 0, 23}, {0, 0, 23}}},
    .hardware_us =
        {{{{{.6, 1.25, 4}, {.6, 1.9, 3.4}, {0, 0, 8}, {0, 0, 4.75}}},
          {{{1, 1.9, 6}, {1, 2.5, 5.7}, {0, 0, 8}, {0, 0, 8}}},
          {{{5, 8.5, 14}, {2.7, 4, 14}, {0, 0, 10.7}, {0, 0, 14}, {0, 0, 18}, {0, 0, 19}}}}},
    .ll_most_GBps = {kVoltaLl_GBps, kAmpereLl_GBps, kAmpereLl_GBps},
    .ll_half = false,
    .nvls_gathers = false,
    .collnet_gathers = false,
    .collnet_arity_us = .5};

constexpr ByLink kHardware2_19_us{
    {{{{.6, 1.25, 28}, {.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 23}, {0, 0, 23}}},
     {{{1, 1.9, 28}, {1, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}}},
     {{{5, 8.5, 28}, {2.7, 4, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 14}}}}};
constexpr ByAlgorithm kBase2_19_us{{{6.8, 14, 0}, {6.6, 14, 8.4}}};

constexpr Release218 kRelease2_19{.base_us = kBase2_19_us,
                                  .hardware_us = kHardware2_19_us,
                                  .ll_most_GBps = {kVoltaLl_GBps, kAmpereLl_GBps, kAmpereLl_GBps},
                                  .ll_half = false,
                                  .nvls_gathers = true,
                                  .collnet_gathers = false,
                                  .collnet_arity_us = .4};
constexpr Release218 kRelease2_20 = [] {
  Release218 release = kRelease2_19;
  release.collnet_gathers = true;
  return release;
}();

// These releases assume better LL than 2.20, and 2 us more for NVLS.
constexpr ByLink kHardware2_21_us = [] {
  ByLink hardware = kHardware2_19_us;
  for (const NcclAlgorithm nvls : {NcclAlgorithm::Nvls, NcclAlgorithm::NvlsTree}) {
    hardware[index(NcclLink::NvLink)][index(nvls)][index(Protocol::Simple)] = 25;
  }
  return hardware;
}();
constexpr Release218 kRelease2_21{.base_us = kBase2_19_us,
                                  .hardware_us = kHardware2_21_us,
                                  .ll_most_GBps = {kVoltaLl_GBps, kAmpereLl_GBps, {141, 45, 35}},
                                  .ll_half = true,
                                  .nvls_gathers = true,
                                  .collnet_gathers = true,
                                  .collnet_arity_us = .4};

// Maximum bandwidth per channel. Rows: Volta, Ampere, Hopper.
constexpr std::array<ByNodes, 3> kRingLl128_GBps{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}}};
constexpr std::array<ByNodes, 3> kTreeLl128_GBps{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}}};
constexpr std::array<ByNodes, 3> kTree_GBps{{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}}};

const Release218& release218(const NcclVersion& version) {
  if (version.minor <= 18) return kRelease2_18;
  if (version.minor == 19) return kRelease2_19;
  return version.minor == 20 ? kRelease2_20 : kRelease2_21;
}

class Model218 {
 public:
  Model218(const NcclVersion& version, const NcclComm& comm)
      : release_(release218(version)),
        of_2_18_(&release_ == &kRelease2_18),
        comm_(comm),
        shape_(comm),
        gpu_(gpu_row(comm.compute_capability, 2)),
        ll_most_(release_.ll_most_GBps[shape_.nodes == 1          ? gpu_
                                       : comm.cpu == NcclCpu::Amd ? 1
                                                                  : 0][shape_.nodes_column]) {}

  [[nodiscard]] bool offered(NcclCollective collective, NcclAlgorithm algorithm,
                             Protocol protocol) const {
    if (!comm_.graph(algorithm) || algorithm == NcclAlgorithm::Pat) return false;
    if (rooted(collective) && algorithm != NcclAlgorithm::Ring) return false;
    const bool direct = algorithm == NcclAlgorithm::CollNetDirect;
    const bool chain = algorithm == NcclAlgorithm::CollNetChain;
    const bool nvls = algorithm == NcclAlgorithm::Nvls;
    const bool nvls_tree = algorithm == NcclAlgorithm::NvlsTree;
    if (sliced(collective) && algorithm != NcclAlgorithm::Ring) {
      if (!(nvls && release_.nvls_gathers) && !(direct && release_.collnet_gathers)) return false;
      if (shape_.nodes > 1 && (nvls || comm_.heads < shape_.ranks_per_node)) return false;
    }
    if ((nvls || nvls_tree || direct || chain) && protocol != Protocol::Simple) return false;
    if ((direct || chain || (nvls && shape_.nodes > 1)) && !comm_.collnet) return false;
    if (direct && !comm_.nvswitch) return false;
    if (nvls_tree && shape_.nodes == 1) return false;
    return protocol != Protocol::LL128 || comm_.ll128;
  }

  [[nodiscard]] Estimate estimate(NcclCollective collective, NcclAlgorithm algorithm,
                                  Protocol protocol) const {
    return {latency_us(collective, algorithm, protocol),
            bandwidth_GBps(collective, algorithm, protocol)};
  }

 private:
  [[nodiscard]] double channel_GBps(const NcclGraph& graph, NcclAlgorithm algorithm) const {
    const double intra = graph.intra_Bps / 1e9;
    const double inter = graph.inter_Bps / 1e9;
    if (!of_2_18_ && algorithm == NcclAlgorithm::Nvls) return std::min(intra, inter);
    if (!of_2_18_ && algorithm == NcclAlgorithm::NvlsTree) {
      return std::min(intra, shape_.nodes <= 2 ? inter : inter / 2);
    }
    const bool collnet =
        algorithm == NcclAlgorithm::CollNetDirect || algorithm == NcclAlgorithm::CollNetChain;
    return shape_.nodes <= 2 || collnet ? intra : inter;
  }

  [[nodiscard]] double bandwidth_GBps(NcclCollective collective, NcclAlgorithm algorithm,
                                      Protocol protocol) const {
    const NcclGraph& graph = *comm_.graph(algorithm);
    const double channel = channel_GBps(graph, algorithm);
    double bandwidth = graph.channels * channel;
    switch (algorithm) {
      case NcclAlgorithm::Ring:
        bandwidth = ring_GBps(bandwidth, graph.channels, collective, protocol);
        return bandwidth *
               (static_cast<double>(shape_.ranks) / ring_steps(collective, shape_.ranks));
      case NcclAlgorithm::Tree:
        bandwidth =
            std::min(bandwidth * .92, graph.channels * kTree_GBps[gpu_][shape_.nodes_column]);
        if (protocol == Protocol::LL) bandwidth = std::min(bandwidth / 3.8, ll_most_);
        if (protocol == Protocol::LL128) {
          bandwidth = std::min(bandwidth * (shape_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                               graph.channels * kTreeLl128_GBps[gpu_][shape_.nodes_column]);
        }
        return bandwidth * (comm_.plain_tree ? .85 : 1) * .5;
      case NcclAlgorithm::CollNetDirect: {
        const double ranks_per_node = shape_.ranks_per_node;
        if (sliced(collective)) {
          const double weight = (ranks_per_node - 1) / 7;
          return ranks_per_node * channel * (weight * .85 + (1 - weight) * .95);
        }
        double gpus_a_nic = ranks_per_node / graph.channels;
        gpus_a_nic -= (gpus_a_nic - 1) / 2;
        bandwidth /= gpus_a_nic;
        return bandwidth * (comm_.compute_capability >= 90 ? .85 : 1) * .5;
      }
      case NcclAlgorithm::CollNetChain:
        return bandwidth * .5;
      case NcclAlgorithm::NvlsTree:
        if (of_2_18_) return bandwidth * (.70 * shape_.nodes / (2 * (shape_.nodes - 1)));
        return bandwidth * (5.0 / 6.0);
      case NcclAlgorithm::Nvls:
        return bandwidth * (5.0 / 6.0);
      case NcclAlgorithm::Pat:
        break;
    }
    return 0;
  }

  [[nodiscard]] double ring_GBps(double bandwidth, int channels, NcclCollective collective,
                                 Protocol protocol) const {
    if (protocol == Protocol::LL) {
      const bool quarter = shape_.nodes > 1 || collective == NcclCollective::AllReduce ||
                           collective == NcclCollective::Reduce;
      const double share = release_.ll_half ? .5 : quarter ? 1.0 / 4.0 : 1.0 / 3.0;
      return std::min(ll_most_, bandwidth * share);
    }
    if (protocol == Protocol::LL128) {
      return std::min(bandwidth * (shape_.ranks_per_node < 2 ? .7 : .92),
                      channels * kRingLl128_GBps[gpu_][shape_.nodes_column]);
    }
    return bandwidth;
  }

  [[nodiscard]] double latency_us(NcclCollective collective, NcclAlgorithm algorithm,
                                  Protocol protocol) const {
    const NcclGraph& graph = *comm_.graph(algorithm);
    const std::size_t a = index(algorithm);
    const std::size_t p = index(protocol);
    const double base = release_.base_us[a][p];
    const double inside = release_.hardware_us[index(graph.link)][a][p];
    const double hardware_between = release_.hardware_us[kNetworkRow][a][p];
    // Simple also pays for the flush after the data.
    const double between =
        hardware_between + graph.inter_latency_s * 1e6 * (protocol == Protocol::Simple ? 2 : 1);
    const int peers = shape_.whole_ranks_per_node - 1;
    switch (algorithm) {
      case NcclAlgorithm::Ring:
        return base + ring_latency_us(collective, graph, protocol, inside, between);
      case NcclAlgorithm::Tree:
        return base + 2 * (peers * inside + shape_.log2_nodes * between);
      case NcclAlgorithm::CollNetDirect:
        return base +
               (2 * (std::min(1, peers) * inside + peers * release_.collnet_arity_us) + between);
      case NcclAlgorithm::CollNetChain:
        return base + (2 * peers * inside + between);
      case NcclAlgorithm::Nvls:
        if (of_2_18_) return base + (shape_.nodes > 1 ? hardware_between : 0);
        return inside + (shape_.nodes > 1 ? between : 0);
      case NcclAlgorithm::NvlsTree:
        if (of_2_18_) return base + 2 * (shape_.nodes - 1) * hardware_between;
        return base + inside + 2 * shape_.log2_nodes * between;
      case NcclAlgorithm::Pat:
        break;
    }
    return 0;
  }

  [[nodiscard]] double ring_latency_us(NcclCollective collective, const NcclGraph& graph,
                                       Protocol protocol, double inside, double between) const {
    const int steps = ring_steps(collective, shape_.ranks);
    if (rooted(collective)) {
      return rooted_ring_latency_us(release_.hardware_us, graph, shape_.nodes, steps, protocol);
    }
    // For AllReduce, NCCL counts one step too many between nodes in each direction.
    const int between_steps = shape_.nodes == 1                         ? 0
                              : collective == NcclCollective::AllReduce ? 2 * shape_.nodes
                                                                        : shape_.nodes - 1;
    return (steps - between_steps) * std::max(inside, network_overhead_us(comm_, protocol)) +
           between_steps * between;
  }

  const Release218& release_;
  bool of_2_18_;
  const NcclComm& comm_;
  Shape shape_;
  std::size_t gpu_;
  double ll_most_;
};

}  // namespace

Table estimates_2_18(const NcclVersion& version, const NcclComm& comm) {
  return table_of(Model218(version, comm));
}

}  // namespace cclgym::nccl
