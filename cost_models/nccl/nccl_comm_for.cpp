#include "cost_models/nccl/nccl_comm_for.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "cost_models/nccl/nccl_search.hpp"
#include "cost_models/nccl/nccl_tree_pattern.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

namespace {

NcclCpu cpu_of(const Fabric& fabric) {
  switch (fabric.host().cpu) {
    case HostCpu::Amd:
      return NcclCpu::Amd;
    case HostCpu::Arm:
      return NcclCpu::Arm;
    case HostCpu::Intel:
      break;
  }
  return NcclCpu::Intel;
}

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
        "with tuning tables of its own: name rccl-default (MI250X, MI300X, MI325X) or an algorithm",
        fabric.name(), model));
  }
  return gpu->compute_capability;
}

NcclGraph graph_of(const NcclChannels& found, NcclLink link) {
  return {.channels = found.channels,
          .intra_Bps = found.inside_GBps * 1e9,
          .inter_Bps = found.between_GBps * 1e9,
          .link = link};
}

// True if the switches of the network add and copy, and NCCL may use them (NCCL_COLLNET_ENABLE).
bool network_computes(const Fabric& fabric) {
  const auto is_network = [](const Node& node) { return node.kind == NodeKind::NetworkSwitch; };
  return std::ranges::any_of(fabric.nodes(), is_network) &&
         std::ranges::all_of(fabric.nodes(),
                             [&](const Node& node) { return !is_network(node) || node.computes; });
}

// True if the release uses NVLS (src/transport/nvls.cc): 2.20 in one node only, and on two GPUs
// from 2.28.7 on.
bool uses_nvls(const NcclVersion& version, const NcclComm& comm, int gpus) {
  const bool nodes = version < NcclVersion{2, 20, 0} || version >= NcclVersion{2, 21, 0};
  const int fewest = version < NcclVersion{2, 28, 7} ? 3 : 2;
  return comm.compute_capability >= 90 && gpus >= fewest && (nodes || comm.nodes == 1);
}

// Channels of NVLS (NVLS_NCHANNELS).
int nvls_channels(const NcclVersion& version, const NcclComm& comm) {
  if (comm.compute_capability < 100 || version < NcclVersion{2, 25, 0}) return 16;
  return comm.nodes == 1 && version >= NcclVersion{2, 27, 0} ? 24 : 32;
}

constexpr int kMostDirectGpus = 8;  // NCCL_MAX_DIRECT_ARITY + 1

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
  const NcclNode node = nccl_node(fabric, comm.compute_capability);
  if (comm.nodes > 1 && node.nics_GBps.empty()) {
    throw UserError(fmt::format(
        "fabric '{}' has several nodes without NICs; NCCL needs a NIC in each", fabric.name()));
  }
  const bool nvlink = !node.nvlinks.empty();
  const NcclLink link = nvlink || *gpus == 1 ? NcclLink::NvLink : NcclLink::Pcie;
  const NcclSearch search(node, version, comm.compute_capability, comm.nodes == 1);
  const NcclChannels ring = comm.nodes == 1 ? search.ring_inside() : search.ring_between();
  const NcclChannels tree = comm.nodes == 1 ? ring : search.tree_between(ring);
  const auto set = [&comm](NcclAlgorithm algorithm, const NcclGraph& graph) {
    comm.graphs[static_cast<std::size_t>(algorithm)] = graph;
  };
  set(NcclAlgorithm::Ring, graph_of(ring, link));
  set(NcclAlgorithm::Tree, graph_of(tree, link));
  set(NcclAlgorithm::Pat, graph_of(tree, link));
  comm.plain_tree = comm.nodes > 1 && tree_pattern(fabric, version) == TreePattern::Head;
  comm.nvswitch = node.nvswitch;
  comm.heads = *gpus;
  if (node.nvls && uses_nvls(version, comm, *gpus)) {
    const NcclChannels nvls = search.nvls(*gpus);
    if (nvls.channels > 0) {
      set(NcclAlgorithm::Nvls, graph_of(nvls, link));
      set(NcclAlgorithm::NvlsTree, graph_of(nvls, link));
    }
    comm.nvls_channels = nvls_channels(version, comm);
  }
  comm.collnet = comm.nodes > 1 && network_computes(fabric);
  if (comm.collnet && family(version) == NcclFamily::V2_8) {
    set(NcclAlgorithm::CollNetDirect, graph_of(tree, link));  // its CollNet is a chain
  } else if (comm.collnet) {
    set(NcclAlgorithm::CollNetChain, graph_of(tree, link));
    // CollNetDirect has at most 8 GPUs per node.
    if (*gpus <= kMostDirectGpus) {
      const NcclChannels direct = search.collnet_direct(*gpus);
      set(NcclAlgorithm::CollNetDirect, graph_of(direct, link));
      comm.heads = direct.channels;
    }
  }
  const bool near_nics = node.nics_at_switches && !fabric.host().nics_behind_host_bridge;
  comm.ll128 = (nvlink || *gpus == 1) && (comm.nodes == 1 || near_nics) &&
               (comm.compute_capability < 100 || version >= NcclVersion{2, 25, 0});
  // Each channel is doubled (connect.cc); on Hopper over several nodes it is quadrupled if channels
  // are few and fast.
  const int most = family(version) == NcclFamily::V2_8 || version < NcclVersion{2, 23, 0} ? 32 : 64;
  comm.channels = std::min(2 * ring.channels, most);
  // With CollNet, half as many again if chains are faster inside a node than between nodes.
  if (comm.collnet && family(version) != NcclFamily::V2_8 && *gpus > 1 &&
      tree.inside_GBps > tree.between_GBps) {
    comm.channels = std::min(comm.channels + comm.channels / 2, most);
  }
  if (comm.compute_capability >= 90 && comm.nodes > 1 && ring.inside_GBps > 45 &&
      comm.channels < 16) {
    comm.channels *= 2;
  }
  comm.nvlinks_to_peer = nvlink ? *std::min_element(node.nvlinks.begin(), node.nvlinks.end()) : 0;
  comm.all_nvlink = nvlink && (node.nvswitch || static_cast<int>(node.nvlinks.size()) >= *gpus - 1);
  if (!node.nics_GBps.empty()) {
    comm.nic_Bps = *std::min_element(node.nics_GBps.begin(), node.nics_GBps.end()) * 1e9;
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
