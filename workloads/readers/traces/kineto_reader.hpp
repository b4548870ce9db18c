// Jobs from traces of PyTorch's profiler (Kineto).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/graph/job_graph.hpp"
#include "workloads/readers/traces/kineto_events.hpp"

namespace cclgym {

struct KinetoOptions {
  /// N of the step "ProfilerStep#N"; none: the last one in which the host launched operations of
  /// the first trace. A trace without such marks is one step.
  std::optional<std::int64_t> step{};
  /// True to keep the time in which the GPU waits for its host, as computation "idle (host)".
  bool idle = true;
  /// True to let ranks without a trace do the same as the first rank that has one.
  bool replicate = false;
};

/// Reads one trace per rank, as JSON or gzip. The rank is distributedInfo.rank, or the position in
/// `files`; the number of ranks is distributedInfo.world_size, else as many as the process groups
/// of the first trace need, at least the number of files. A single trace without either is a job of
/// one GPU.
///
/// Kernels, copies and memsets are computation on stream "stream N" for their measured duration.
/// Operations with arguments of communication ("Collective name", "In msg nelems", …: the profiler
/// of PyTorch 2.4 and later adds them), whatever their names, are collectives and messages. Their
/// measured times are kept for comparison (JobOp::seconds). Call::bytes is the larger of the two
/// numbers of elements times the size of the type, at least 1; calls of an AllToAll with sizes that
/// differ between ranks get the largest. The trace has no roots, so a rooted collective has its
/// group's first rank as root. A call in a group of one rank is computation.
///
/// Communication that cannot be such a call keeps its measured duration (JobOp::communicates), and
/// JobGraph::notes say why, how many and which share of the time: kernels with NCCL's or RCCL's
/// name that lack the arguments or have wrong ones, and calls without counterparts on other ranks
/// (leave_out_unmatched_calls). Operations without time, duration or stream are left out with a
/// note.
///
/// Dependencies: operations on one stream run in order. If the profiler recorded calls of
/// cudaStreamWaitEvent (enable_cuda_sync_events), the next operation on the waiting stream waits
/// for the last one that was launched before the event. Otherwise the times tell:
///   * A kernel of NCCL waits for the last operation of every stream of computation that was
///     launched before it and ended before it started: PyTorch lets the stream of a group wait for
///     the stream that has the data when it launches the call.
///   * A computation waits for the last operation of another stream that ended while its own stream
///     was idle. Operations that ended while the stream computed are no reason for a wait, so
///     communication that was hidden stays without a wait: this rule keeps overlap and misses waits
///     that the measured step did not expose.
/// The stream of computation with the most work has computation "idle (host)" where neither its
/// previous operation nor a dependency explains the time until the next one, and until the next
/// step. With the measured times of communication, the step then takes its measured time.
///
/// Ranks without a trace are an error that names them, unless options.replicate is true. Then a
/// group of ranks b, b + s, b + 2 s, … is repeated over the job as in a mesh (mesh_group);
/// messages, and calls of other groups, keep their measured durations.
///
/// Throws UserError located in the file. Ends with check_job() and merge_equal_programs(). Origins
/// are numbers of events in the trace, from 1.
[[nodiscard]] JobGraph read_kineto(const std::vector<std::string>& files,
                                   const KinetoOptions& options = {});

/// The same from traces in memory.
[[nodiscard]] JobGraph kineto_job(const std::vector<KinetoTrace>& traces,
                                  const KinetoOptions& options = {});

}  // namespace cclgym
