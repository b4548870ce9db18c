// Communicators in NCCL's own units, for the tests of NCCL's default choice.
#pragma once

#include "cost_models/nccl/nccl_default.hpp"

namespace cclgym {

/// A graph with bandwidths `inside` and `between` nodes, in GB/s.
inline NcclGraph nccl_graph(int channels, double inside, double between,
                            NcclLink link = NcclLink::NvLink) {
  return {
      .channels = channels, .intra_Bps = inside * 1e9, .inter_Bps = between * 1e9, .link = link};
}

inline void set_graph(NcclComm& comm, NcclAlgorithm algorithm, const NcclGraph& graph) {
  comm.graphs[static_cast<std::size_t>(algorithm)] = graph;
}

/// Nodes of A100 on NVSwitch with 8 NICs, as NCCL 2.18 and newer see them.
inline NcclComm a100_comm(int nodes) {
  NcclComm comm;
  comm.ranks = 8 * nodes;
  comm.nodes = nodes;
  comm.compute_capability = 80;
  comm.cpu = NcclCpu::Amd;
  comm.nvswitch = true;
  comm.heads = 8;
  comm.nvlinks_to_peer = 12;
  comm.nic_Bps = 24e9;
  comm.channels = nodes == 1 ? 24 : 16;
  const NcclGraph graph = nodes == 1 ? nccl_graph(12, 20, 20) : nccl_graph(8, 24, 24);
  set_graph(comm, NcclAlgorithm::Ring, graph);
  set_graph(comm, NcclAlgorithm::Tree, graph);
  set_graph(comm, NcclAlgorithm::Pat, graph);
  return comm;
}

}  // namespace cclgym
