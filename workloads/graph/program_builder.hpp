// Writes the program of a rank, operation by operation, for generators of jobs.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/graph/job_graph.hpp"

namespace cclgym {

/// Appends operations to a program. Computation runs on stream "compute" in order; a blocking call
/// holds up all later computation, an overlapping call only those that wait for it.
class JobProgramBuilder {
 public:
  explicit JobProgramBuilder(JobGraph& job) : job_(job), compute_(job.stream_index("compute")) {}

  std::int32_t compute(std::string_view name, double flop, double memory_bytes) {
    const JobOp op{.stream = compute_,
                   .name = job_.name_index(name),
                   .flop = flop,
                   .memory_bytes = memory_bytes};
    last_ = program_.add(op, pending_);
    pending_.clear();
    return last_;
  }

  /// A collective on the results so far, which the next computation waits for. Calls without a
  /// communicator (a single rank) or without bytes do nothing.
  void blocking(CollectiveKind kind, std::int32_t communicator, std::string_view stream,
                std::string_view name, std::uint64_t bytes) {
    const std::int32_t call = overlapping(kind, communicator, stream, name, bytes, results());
    if (call >= 0) pending_ = {call};
  }

  /// A collective that starts after `dependencies`; returns its index, or -1 if it does nothing.
  std::int32_t overlapping(CollectiveKind kind, std::int32_t communicator, std::string_view stream,
                           std::string_view name, std::uint64_t bytes,
                           const std::vector<std::int32_t>& dependencies) {
    if (communicator < 0 || bytes == 0) return -1;
    return program_.add({.kind = JobOpKind::Collective,
                         .stream = job_.stream_index(stream),
                         .name = job_.name_index(name),
                         .collective = kind,
                         .communicator = communicator,
                         .bytes = bytes},
                        dependencies);
  }

  /// A Send or Recv that starts after `dependencies`.
  std::int32_t message(JobOpKind kind, std::int32_t communicator, std::string_view name,
                       std::uint64_t bytes, std::int32_t peer, std::int32_t tag,
                       const std::vector<std::int32_t>& dependencies) {
    return program_.add({.kind = kind,
                         .stream = job_.stream_index(name),
                         .name = job_.name_index(name),
                         .communicator = communicator,
                         .bytes = bytes,
                         .peer = peer,
                         .tag = tag},
                        dependencies);
  }

  /// The next computation or blocking call also waits for an operation (-1: none).
  void wait_for(std::int32_t op) {
    if (op >= 0) pending_.push_back(op);
  }

  /// Operations after which everything computed so far is complete.
  [[nodiscard]] std::vector<std::int32_t> results() const {
    std::vector<std::int32_t> all = pending_;
    if (last_ >= 0) all.push_back(last_);
    return all;
  }
  /// The last computation alone, without blocking calls after it; empty if there is none.
  [[nodiscard]] std::vector<std::int32_t> computed() const {
    if (last_ < 0) return {};
    return {last_};
  }

  [[nodiscard]] RankProgram take() { return std::move(program_); }

 private:
  JobGraph& job_;
  std::int32_t compute_;
  RankProgram program_;
  std::int32_t last_ = -1;
  std::vector<std::int32_t> pending_;
};

}  // namespace cclgym
