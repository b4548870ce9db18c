// Lowering of a job: its computation and communication as one transfer graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/graph/transfer_graph.hpp"
#include "workloads/graph/job_graph.hpp"
#include "workloads/timing/gpu_rates.hpp"
#include "workloads/timing/group_views.hpp"
#include "workloads/timing/rank_classes.hpp"

namespace cclgym {

/// Level of detail of a job's communication.
enum class JobDetail : std::uint8_t {
  /// Every message of every call is a flow, as in `cclgym simulate`: calls that run at the same
  /// time
  /// share links, NICs and SMs message by message.
  Messages,
  /// A call is one flow over all its links, at the rate that it has alone (docs/workloads.md).
  Calls
};

/// Operation of an actor (RankClasses) in the graph.
struct LoweredOp {
  TransferId end = -1;     ///< node at whose end the operation is done
  std::int32_t call = -1;  ///< index into LoweredJob::calls; -1: computation
};

/// A collective call, or a message.
struct LoweredCall {
  const ConfiguredCall* planned = nullptr;  ///< null for calls on one rank, which take no time
  /// Flow of the call with JobDetail::Calls; -1 otherwise.
  TransferId flow = -1;
};

/// A job ready to run on an engine.
struct LoweredJob {
  std::shared_ptr<const TransferGraph> graph;
  RankClasses classes;
  std::vector<std::size_t> first_op;  ///< by actor, with an end marker: its operations in `ops`
  std::vector<LoweredOp> ops;
  std::vector<LoweredCall> calls;
  std::size_t fabric_links = 0;  ///< the graph's first links are those of the fabric
  /// Links that stand for the SMs and for the memory of an actor's GPU; the rates are GpuRates.
  std::int32_t first_sm_link = 0;
  std::int32_t first_memory_link = 0;
  GpuRates rates;

  [[nodiscard]] const LoweredOp& op(std::size_t actor, std::int32_t index) const {
    return ops[first_op[actor] + at(index)];
  }
};

/// Lowers a job, which has been checked (check_job), on all ranks of the views' fabric.
///
/// Computation with a duration d is a flow over the GPU's SMs that takes d if it has them alone.
/// Other computation is a roofline: a flow of its FLOP over the SMs and a flow of its bytes over
/// the memory at the same time. While thread blocks of a collective are resident (from the launch
/// of its kernel until the rank is done), their SMs are missing. Every byte of a message on the
/// wire is read from the memory of its sender and written to that of its receiver.
///
/// `flows`: those of `views`. `classes`: with JobDetail::Messages, each rank must be its own class.
/// Throws UserError as the
/// tuners do, and if the graph of all messages would be too large.
[[nodiscard]] LoweredJob lower_job(const JobGraph& job, GroupViews& views, CallFlows& flows,
                                   const GpuRates& rates, JobDetail detail, RankClasses classes);

}  // namespace cclgym
