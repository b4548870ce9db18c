#include "cost_models/nccl/nccl_comm.hpp"

#include <cmath>
#include <fmt/core.h>

#include "core/error.hpp"

namespace cclgym {

std::string_view to_string(NcclCollective collective) {
  switch (collective) {
    case NcclCollective::Broadcast:
      return "broadcast";
    case NcclCollective::Reduce:
      return "reduce";
    case NcclCollective::AllGather:
      return "allgather";
    case NcclCollective::ReduceScatter:
      return "reducescatter";
    case NcclCollective::AllReduce:
      return "allreduce";
  }
  return "?";
}

std::string_view to_string(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::Tree:
      return "Tree";
    case NcclAlgorithm::Ring:
      return "Ring";
    case NcclAlgorithm::CollNetDirect:
      return "CollNetDirect";
    case NcclAlgorithm::CollNetChain:
      return "CollNetChain";
    case NcclAlgorithm::Nvls:
      return "NVLS";
    case NcclAlgorithm::NvlsTree:
      return "NVLSTree";
    case NcclAlgorithm::Pat:
      return "PAT";
  }
  return "?";
}

void check(const NcclComm& comm) {
  const auto require = [](bool holds, std::string_view what) {
    if (!holds) throw UserError(fmt::format("NCCL communicator: {}", what));
  };
  require(comm.ranks >= 2, "needs at least 2 ranks (NCCL calls no algorithm on one)");
  require(comm.nodes >= 1 && comm.nodes <= comm.ranks,
          "needs at least 1 node and at most one per rank");
  require(comm.channels >= 1, "needs at least 1 channel");
  require(comm.nvls_channels >= 1, "needs at least 1 NVLS channel");
  require(comm.heads >= 1, "needs at least 1 head per node");
  require(comm.compute_capability >= 60, "compute capability must be 60 or more");
  require(comm.graph(NcclAlgorithm::Ring).has_value(), "needs a graph for Ring");
  for (const auto& graph : comm.graphs) {
    if (!graph) continue;
    require(graph->channels >= 1, "a graph needs at least 1 channel");
    require(graph->intra_Bps > 0 && std::isfinite(graph->intra_Bps) && graph->inter_Bps > 0 &&
                std::isfinite(graph->inter_Bps),
            "the bandwidths of a graph must be above 0");
    require(graph->inter_latency_s >= 0 && std::isfinite(graph->inter_latency_s),
            "the latency of a graph must be at least 0");
  }
}

}  // namespace cclgym
