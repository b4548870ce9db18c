#include "cost_models/nccl/nccl_comm_for.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

namespace {

// --- the CPU --------------------------------------------------------------------------------

// DGX-1, DGX-2, DGX and HGX H100 and H200, NDv2 and ABCI have Xeons, NDv4 has EPYC 7V12
// (Microsoft's page of the series), Perlmutter and Polaris have EPYC Milan (NERSC's and ALCF's
// pages), and Alps has Grace.
NcclCpu cpu_of(const Fabric& fabric) {
  for (const std::string_view amd : {"ndv4", "perlmutter", "polaris"}) {
    if (fabric.name() == amd) return NcclCpu::Amd;
  }
  return fabric.gpu_model() == "GH200" || fabric.gpu_model() == "GB200" ? NcclCpu::Arm
                                                                        : NcclCpu::Intel;
}

// True if measurements show that NCCL did not trust LL128 between nodes although the NICs sit
// behind PCIe switches. On 128 V100 of ABCI, NCCL 2.8.4's AllReduce gets faster from 512 KiB to 1
// MiB (730 to 507 us), which fits a change from LL to Simple at this size.
bool distrusts_ll128(const Fabric& fabric) { return fabric.name() == "abci-v"; }

int compute_capability_of(const Fabric& fabric) {
  const std::string& model = fabric.gpu_model();
  if (model.empty()) {
    throw UserError(fmt::format(
        "NCCL's default choice depends on the GPU, but fabric '{}' does not say which it has; "
        "set its gpu_model (e.g. A100)",
        fabric.name()));
  }
  const GpuModel* gpu = find_gpu_model(model);
  if (gpu == nullptr) throw std::logic_error("a fabric has GPU model '" + model + "'");
  if (gpu->vendor != GpuVendor::Nvidia) {
    throw UserError(fmt::format(
        "NCCL's default choice is modelled for NVIDIA GPUs; fabric '{}' has {}, which uses RCCL "
        "with tuning tables of its own: name rccl-default (MI250X, MI300X) or an algorithm",
        fabric.name(), model));
  }
  return gpu->compute_capability;
}

// --- links ------------------------------------------------------------------------------------

// NCCL's figure for one NVLink in one direction, GB/s (src/graph/topo.h).
double nvlink_GBps(const NcclVersion& version, int compute_capability) {
  if (family(version) == NcclFamily::V2_8) return 21;
  if (compute_capability >= 100) return 40.1;
  if (compute_capability >= 90) return version < NcclVersion{2, 21, 0} ? 20.0 : 20.6;
  return 20;
}

// Number of NVLinks in a link of the fabric. A bundle given as one link has the bundle's bandwidth;
// an NVLink has 25 GB/s in every generation up to 4, and 50 GB/s in the 5th.
int nvlinks_of(const Link& link, int compute_capability) {
  const double nvlink_Bps = compute_capability >= 100 ? 50e9 : 25e9;
  if (link.multiplicity > 1 || link.unit_bandwidth_Bps < 1.5 * nvlink_Bps) return link.multiplicity;
  return static_cast<int>(std::lround(link.unit_bandwidth_Bps / nvlink_Bps));
}

struct Server {
  std::vector<int> nvlinks;  // NVLinks of a GPU by neighbour; all switches form one neighbour
  bool nvswitch = false;
  bool nvls = false;              // the NVSwitches can copy and reduce
  std::vector<double> nics_GBps;  // each limited by its PCIe path
  // True if the NICs sit behind PCIe switches shared with GPUs, not at the CPU: NCCL trusts LL128
  // only there.
  bool nics_at_switches = false;
  double pcie_GBps = 12;  // PCIe Gen3 x16, if the fabric has no PCIe links
};

Server first_server(const Fabric& fabric, int compute_capability) {
  Server server;
  const auto nodes = fabric.nodes();
  const NodeId gpu = fabric.gpu(0);
  const int here = nodes[static_cast<std::size_t>(gpu)].server;
  std::vector<double> nic_out(nodes.size(), 0);
  std::vector<double> nic_in(nodes.size(), 0);
  int to_switches = 0;
  for (const Link& link : fabric.links()) {
    const Node& source = nodes[static_cast<std::size_t>(link.source)];
    const Node& target = nodes[static_cast<std::size_t>(link.target)];
    if (link.source == gpu && link.kind == LinkKind::NvLink) {
      const int nvlinks = nvlinks_of(link, compute_capability);
      if (target.kind == NodeKind::NvSwitch) {
        to_switches += nvlinks;
        server.nvls = target.computes;
      } else {
        server.nvlinks.push_back(nvlinks);
      }
    }
    if (link.source == gpu && link.kind == LinkKind::Pcie) {
      server.pcie_GBps = link.capacity_Bps() / 1e9;
    }
    if (source.kind == NodeKind::Nic && source.server == here && target.kind != NodeKind::Gpu &&
        link.kind == LinkKind::Network) {
      nic_out[static_cast<std::size_t>(link.source)] += link.capacity_Bps() / 1e9;
    }
    if (target.kind == NodeKind::Nic && target.server == here && link.kind == LinkKind::Pcie) {
      double& in = nic_in[static_cast<std::size_t>(link.target)];
      in = std::max(in, link.capacity_Bps() / 1e9);
      if (source.kind == NodeKind::PcieSwitch) server.nics_at_switches = true;
    }
  }
  server.nvswitch = to_switches > 0;
  if (server.nvswitch) server.nvlinks.push_back(to_switches);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (nic_out[node] <= 0) continue;
    server.nics_GBps.push_back(nic_in[node] > 0 ? std::min(nic_out[node], nic_in[node])
                                                : nic_out[node]);
  }
  return server;
}

// --- the search (src/graph/search.cc) -----------------------------------------------------------

// Bandwidths that the search tries, GB/s, in its order.
constexpr std::array kSpeeds2_8{42.0, 24.0, 21.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0,
                                6.0,  5.0,  4.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kInside{40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0,
                             9.0,  7.0,  6.0,  5.0,  4.0,  3.0};
constexpr std::array kBetween{48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0,
                              7.0,  6.0,  5.0,  4.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kInsideHopper{60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0};
constexpr std::array kBetweenHopper{48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5,
                                    15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array kInsideBlackwell{90.0, 80.0, 70.0, 60.0, 50.0, 45.0,
                                      40.0, 30.0, 24.0, 20.0, 19.0, 18.0};
constexpr std::array kBetweenBlackwell{96.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0,
                                       17.5, 15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};

struct Found {
  int channels = 0;
  double inside_GBps = 0;
  double between_GBps = 0;
};

class Search {
 public:
  Search(const Server& server, const NcclVersion& version, int compute_capability, bool one_server)
      : server_(server),
        old_(family(version) == NcclFamily::V2_8),
        hopper_(compute_capability >= 90),
        one_server_(one_server),
        nvlink_(nvlink_GBps(version, compute_capability)),
        speeds_(speeds(compute_capability, one_server)),
        most_channels_(version < NcclVersion{2, 23, 0} ? 16 : 32) {}  // MAXCHANNELS / 2

  // Rings inside one node, as many as the GPU's links can carry at the best bandwidth.
  [[nodiscard]] Found ring_inside() const {
    const Found found = best([this](double speed) { return channels_inside(speed); });
    return doubled(found, most_channels_);
  }

  // Rings over several nodes, as many as both the NICs and the links inside a node can carry.
  [[nodiscard]] Found ring_between() const {
    const Found found = best(
        [this](double speed) { return std::min(channels_between(speed), channels_inside(speed)); });
    return doubled(found, most_channels_);
  }

  // Trees over several nodes may run up to twice as fast inside a node: with two nodes, each link
  // between them carries half.
  [[nodiscard]] Found tree_between(const Found& ring) const {
    Found tree = ring;
    for (std::size_t next = place(ring.inside_GBps); next > 0; --next) {
      const double speed = speeds_[next - 1];
      if (tree.inside_GBps >= 2 * tree.between_GBps || channels_inside(speed) < ring.channels) {
        break;
      }
      tree.inside_GBps = speed;
    }
    return tree;
  }

  // NVLS has one channel per GPU. This GPU is its head, and the head's link carries the channel
  // twice.
  [[nodiscard]] Found nvls(int gpus) const {
    for (const double speed : speeds_) {
      if ((gpus + 1) * speed > width()) continue;
      return {gpus, speed, one_server_ ? speeds_.front() : slowest_nic()};
    }
    return {};
  }

 private:
  [[nodiscard]] std::span<const double> speeds(int compute_capability, bool one_server) const {
    if (old_) return kSpeeds2_8;
    if (compute_capability >= 100) {
      return one_server ? std::span<const double>(kInsideBlackwell)
                        : std::span<const double>(kBetweenBlackwell);
    }
    if (compute_capability >= 90) {
      return one_server ? std::span<const double>(kInsideHopper)
                        : std::span<const double>(kBetweenHopper);
    }
    return one_server ? std::span<const double>(kInside) : std::span<const double>(kBetween);
  }

  [[nodiscard]] double width() const {
    double all = 0;
    for (const int nvlinks : server_.nvlinks) all += nvlinks * nvlink_;
    return all;
  }

  // A channel needs its full bandwidth on one link.
  [[nodiscard]] int channels_inside(double speed) const {
    if (server_.nvlinks.empty()) return speed <= server_.pcie_GBps ? 1 : 0;
    int channels = 0;
    for (const int nvlinks : server_.nvlinks) channels += whole(nvlinks * nvlink_, speed);
    return std::min(channels, most_channels_);
  }

  [[nodiscard]] int channels_between(double speed) const {
    int channels = 0;
    for (const double nic : server_.nics_GBps) channels += whole(nic, speed);
    return std::min(channels, most_channels_);
  }

  [[nodiscard]] static int whole(double bandwidth, double speed) {
    return static_cast<int>(std::floor(bandwidth / speed * (1 + 1e-9)));
  }

  [[nodiscard]] double slowest_nic() const {
    return *std::min_element(server_.nics_GBps.begin(), server_.nics_GBps.end());
  }

  // Finds the maximum total bandwidth; among equals, the fastest channels. Speeds below half of the
  // best speed are not tried.
  template <class Channels>
  [[nodiscard]] Found best(const Channels& channels_at) const {
    Found best;
    for (const double speed : speeds_) {
      if (best.channels > 0 && speed / best.inside_GBps <= .49) break;
      const int channels = channels_at(speed);
      if (channels * speed > best.channels * best.inside_GBps) best = {channels, speed, speed};
    }
    // NCCL falls back to one slow ring.
    if (best.channels == 0) best = {1, .1, .1};
    return best;
  }

  // Fast channels are split in two (ncclTopoDupChannels), on Hopper only if very fast or few.
  [[nodiscard]] Found doubled(Found found, int most) const {
    if (found.inside_GBps < 25) return found;
    if (!old_ && hopper_ && found.inside_GBps < 50 && found.channels > 4) return found;
    const int channels = std::min(2 * found.channels, most);
    const int ways = (channels + found.channels - 1) / found.channels;
    return {channels, found.inside_GBps / ways, found.between_GBps / ways};
  }

  [[nodiscard]] std::size_t place(double speed) const {
    std::size_t at = 0;
    while (at + 1 < speeds_.size() && speeds_[at] > speed) ++at;
    return at;
  }

  const Server& server_;
  bool old_;
  bool hopper_;
  bool one_server_;
  double nvlink_;
  std::span<const double> speeds_;
  int most_channels_;
};

NcclGraph graph_of(const Found& found, NcclLink link) {
  return {.channels = found.channels,
          .intra_Bps = found.inside_GBps * 1e9,
          .inter_Bps = found.between_GBps * 1e9,
          .link = link};
}

// The communicator of all GPUs, or of those of one node.
NcclComm comm_for(const Fabric& fabric, const NcclVersion& version, bool one_node) {
  NcclComm comm;
  comm.compute_capability = compute_capability_of(fabric);
  const auto gpus = fabric.ranks_per_server();
  if (!gpus) {
    throw UserError(fmt::format(
        "NCCL's default choice is modelled for nodes with the same number of GPUs; those of "
        "fabric '{}' differ",
        fabric.name()));
  }
  comm.ranks = one_node ? *gpus : fabric.ranks();
  if (comm.ranks < 2) throw UserError("NCCL calls no algorithm on one GPU");
  comm.nodes = comm.ranks / *gpus;
  comm.cpu = cpu_of(fabric);
  const Server server = first_server(fabric, comm.compute_capability);
  if (comm.nodes > 1 && server.nics_GBps.empty()) {
    throw UserError(fmt::format(
        "fabric '{}' has several nodes without NICs; NCCL needs a NIC in each", fabric.name()));
  }
  const bool nvlink = !server.nvlinks.empty();
  const NcclLink link = nvlink || *gpus == 1 ? NcclLink::NvLink : NcclLink::Pcie;
  const Search search(server, version, comm.compute_capability, comm.nodes == 1);
  const Found ring = comm.nodes == 1 ? search.ring_inside() : search.ring_between();
  const Found tree = comm.nodes == 1 ? ring : search.tree_between(ring);
  const auto set = [&comm](NcclAlgorithm algorithm, const NcclGraph& graph) {
    comm.graphs[static_cast<std::size_t>(algorithm)] = graph;
  };
  set(NcclAlgorithm::Ring, graph_of(ring, link));
  set(NcclAlgorithm::Tree, graph_of(tree, link));
  set(NcclAlgorithm::Pat, graph_of(tree, link));
  comm.plain_tree = *gpus == 1;
  comm.nvswitch = server.nvswitch;
  comm.heads = *gpus;
  if (server.nvls && comm.compute_capability >= 90 && *gpus > 1) {
    const Found nvls = search.nvls(*gpus);
    if (nvls.channels > 0) {
      set(NcclAlgorithm::Nvls, graph_of(nvls, link));
      set(NcclAlgorithm::NvlsTree, graph_of(nvls, link));
    }
    comm.nvls_channels = comm.compute_capability < 100 ? 16 : (comm.nodes == 1 ? 24 : 32);
  }
  const bool near_nics = server.nics_at_switches && !distrusts_ll128(fabric);
  comm.ll128 = (nvlink || *gpus == 1) && (comm.nodes == 1 || near_nics);
  // Each channel is doubled (connect.cc); on Hopper over several nodes it is quadrupled if channels
  // are few and fast.
  const int most = family(version) == NcclFamily::V2_8 || version < NcclVersion{2, 23, 0} ? 32 : 64;
  comm.channels = std::min(2 * ring.channels, most);
  if (comm.compute_capability >= 90 && comm.nodes > 1 && ring.inside_GBps > 45 &&
      comm.channels < 16) {
    comm.channels *= 2;
  }
  comm.nvlinks_to_peer =
      nvlink ? *std::min_element(server.nvlinks.begin(), server.nvlinks.end()) : 0;
  if (!server.nics_GBps.empty()) {
    comm.nic_Bps = *std::min_element(server.nics_GBps.begin(), server.nics_GBps.end()) * 1e9;
  }
  return comm;
}

}  // namespace

NcclComm nccl_comm_for(const Fabric& fabric, const NcclVersion& version) {
  return comm_for(fabric, version, false);
}

NcclComm nccl_comm_of_node(const Fabric& fabric, const NcclVersion& version) {
  return comm_for(fabric, version, true);
}

}  // namespace cclgym
