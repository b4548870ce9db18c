// A simulated job as its outputs show it: labels of ranks and operations, and when calls began.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/timing/job_breakdown.hpp"

namespace cclgym {

/// An operation of an actor (RankClasses) with its dates.
struct OpView {
  std::size_t actor = 0;
  const JobOp* op = nullptr;
  const ConfiguredCall* planned = nullptr;  ///< null for computation and for calls on one rank
  double start_s = 0;
  /// Date at which the last rank has reached the call, at most the end; computation: the start.
  double begin_s = 0;
  double end_s = 0;
  /// Rank that reaches the call last; -1: none is waited for.
  std::int32_t awaited = -1;

  [[nodiscard]] double wait_s() const { return begin_s - start_s; }
};

/// The operations of a record. The job, the record and the simulator that made it must outlive it.
class JobView {
 public:
  JobView(const JobGraph& job, const JobRecord& record);

  [[nodiscard]] std::size_t actors() const { return record_.lowered.classes.count(); }
  [[nodiscard]] const RankProgram& program(std::size_t actor) const {
    return job_.program(record_.lowered.classes.actor[actor]);
  }
  [[nodiscard]] OpView op(std::size_t actor, std::int32_t index) const;
  /// Index of the communicator of a call; -1: computation.
  [[nodiscard]] std::int32_t communicator_of(const OpView& view) const;
  /// "rank 3", or ranks_label of the actor's class.
  [[nodiscard]] std::string actor_label(std::size_t actor) const;
  /// Name of the operation, or "allreduce 25MiB on dp", "send 8MiB to rank 5 on pp", "computation".
  [[nodiscard]] std::string op_label(const OpView& view) const;
  /// "rank 3: name (allreduce)": op_label with the rank, and the kind of a call that has a name.
  [[nodiscard]] std::string path_label(const OpView& view) const;
  /// Ranks of the actor's class, ascending.
  [[nodiscard]] const std::vector<std::int32_t>& ranks(std::size_t actor) const {
    return ranks_[actor];
  }
  /// At most `most` actors, ascending: those on the critical path first, then the others.
  [[nodiscard]] std::vector<std::size_t> shown_actors(const JobBreakdown& breakdown,
                                                      std::size_t most) const;

 private:
  const JobGraph& job_;
  const JobRecord& record_;
  std::vector<double> begin_s_;                   ///< by LoweredJob::calls
  std::vector<std::int32_t> awaited_;             ///< by LoweredJob::calls
  std::vector<std::vector<std::int32_t>> ranks_;  ///< by actor
};

/// "rank 3", "ranks 0, 8, 16, … (8 equal)": ranks that do the same, ascending.
[[nodiscard]] std::string ranks_label(std::span<const std::int32_t> ranks);
/// Name of a call for people: "allreduce", "message".
[[nodiscard]] std::string call_label(const CallSummary& call);
/// Bus bandwidth of a call as nccl-tests defines it, from its time without waiting, B/s.
[[nodiscard]] double bus_bandwidth_Bps(const CallSummary& call);
/// Size with at most four digits in the largest unit: "25MiB", "1.414GiB". For people.
[[nodiscard]] std::string short_bytes(std::uint64_t bytes);
/// Text with at most `most` characters, of which the last is "…" if some are missing.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t most);

}  // namespace cclgym
