// A job as a graph: the computation and communication of one training or inference step, by rank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/contract.hpp"
#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym {

enum class JobOpKind : std::uint8_t { Compute, Collective, Send, Recv };
[[nodiscard]] std::string_view to_string(JobOpKind kind);

/// One operation of a rank. Members that do not apply to the kind keep their defaults.
struct JobOp {
  JobOpKind kind = JobOpKind::Compute;
  /// Index into JobGraph::streams. Operations of a rank on one stream run in their order in the
  /// program; operations on different streams overlap unless a dependency forbids it.
  std::int32_t stream = 0;
  std::int32_t name = 0;           ///< index into JobGraph::names
  std::int32_t origin_column = 0;  ///< column of a text, beside its line `origin`; 0: none
  /// Line of a text, or number of a node in another trace, from which it was read; 0: none.
  std::int64_t origin = 0;

  // Compute. Either `seconds` is given, or `flop` and `memory_bytes` (roofline).
  /// Compute: duration on a GPU that does nothing else, s. Communication: duration in the trace
  /// that it was read from, waiting for other ranks included, for comparison only; 0: unknown.
  double seconds = 0;
  double flop = 0;          ///< floating-point operations
  double memory_bytes = 0;  ///< bytes read from and written to the GPU's memory
  /// Compute: true if it is communication that its trace does not describe, of its measured
  /// duration.
  bool communicates = false;

  // Communication.
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::int32_t communicator = -1;  ///< index into JobGraph::groups_of[rank]
  /// Collective: collective size as nccl-tests defines it (Call::bytes). Send and Recv: payload, B.
  std::uint64_t bytes = 0;
  std::int32_t root = 0;   ///< rooted collectives: index of the root in its group
  std::int32_t peer = -1;  ///< Send and Recv: index of the other rank in its group
  std::int32_t tag = 0;    ///< Send and Recv: only operations with the same tag match

  friend bool operator==(const JobOp&, const JobOp&) = default;
};

/// Ranks that communicate with each other, in the order of their indices in the group.
struct ProcessGroup {
  std::int32_t communicator = 0;      ///< index into JobGraph::communicators
  std::vector<std::int32_t> ranks{};  ///< ranks of the job, each at most once; at least one

  friend bool operator==(const ProcessGroup&, const ProcessGroup&) = default;
};

/// A kind of process group: the groups of one parallelism ("tp", "dp"), which share a tuner.
struct Communicator {
  std::string name{};
  /// Tuner ("nccl-default:2.18", "dispatch:FILE") or configuration ("ring/LL128/8") of its calls;
  /// empty: that of the job.
  std::string tuner{};
  SourceLocation tuner_place{};  ///< place of `tuner` in the file of the job; no file: none

  friend bool operator==(const Communicator& a, const Communicator& b) {
    return a.name == b.name && a.tuner == b.tuner;
  }
};

/// Operations of a rank, or of all ranks that do the same.
struct RankProgram {
  std::vector<JobOp> ops{};
  /// ops[i] starts when the operations deps[dep_begin[i]] .. deps[dep_begin[i + 1] - 1] are done.
  std::vector<std::uint32_t> dep_begin{0};
  std::vector<std::int32_t> deps{};  ///< indices into ops
  std::string file{};                ///< file that it was read from; empty: none

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(ops.size()); }
  /// Appends an operation that waits for others; returns its index. Indices of operations that
  /// follow later are allowed.
  std::int32_t add(const JobOp& op, const std::vector<std::int32_t>& dependencies = {});

  friend bool operator==(const RankProgram&, const RankProgram&) = default;
};

/// One step of a job. Ranks that do the same share a program; groups are looked up by rank
/// (groups_of), so one program serves all replicas of a data-parallel job.
///
/// Member i of a group makes the k-th call on it together with the k-th calls of the other members,
/// as in NCCL; calls count in the order of the program. The k-th Send of a rank to another in a
/// group with a tag matches the other's k-th Recv from it with that tag.
struct JobGraph {
  std::string name{};
  std::int32_t ranks = 0;
  std::vector<Communicator> communicators{};
  std::vector<ProcessGroup> groups{};
  std::vector<RankProgram> programs{};
  std::vector<std::int32_t> program_of{};              ///< by rank: index into programs
  std::vector<std::vector<std::int32_t>> groups_of{};  ///< by rank, by JobOp::communicator: group
  std::vector<std::string> streams{};
  std::vector<std::string> names{};  ///< names of operations
  /// "line", "node" or "event": meaning of JobOp::origin in messages.
  std::string origin_word = "line";
  std::vector<std::string> notes{};  ///< assumptions of its reader, and events that it left out

  [[nodiscard]] const RankProgram& program(std::int32_t rank) const {
    return programs[at(program_of[at(rank)])];
  }
  [[nodiscard]] const ProcessGroup& group(std::int32_t rank, const JobOp& op) const {
    return groups[at(groups_of[at(rank)][at(op.communicator)])];
  }
  /// Index of the name or stream, which is added if it is new. Linear in their number: for readers
  /// and generators with few of them; a reader of millions keeps its own table.
  std::int32_t name_index(std::string_view name);
  std::int32_t stream_index(std::string_view stream);

  friend bool operator==(const JobGraph&, const JobGraph&) = default;
};

/// Name of the computation that stands for time in which a GPU waits for its host, in jobs that
/// were read from profiles.
inline constexpr std::string_view kHostIdleName = "idle (host)";

/// Largest size of a call or message, B: 16 TiB, more than the memory of any GPU, and few enough
/// tiles of any protocol.
inline constexpr std::uint64_t kMostCallBytes = std::uint64_t{1} << 44;

/// Place of an operation for messages: the file with line and column, as far as they are known.
[[nodiscard]] SourceLocation location_of(const JobGraph& job, const RankProgram& program,
                                         const JobOp& op);
/// "rank 3, operation 17 ('allreduce', node 42)" for messages.
[[nodiscard]] std::string describe_op(const JobGraph& job, std::int32_t rank, std::int32_t op);

/// Throws UserError unless the job is consistent: every index is in range, durations and sizes are
/// finite, not negative and at most kMostCallBytes, no program waits for itself through
/// dependencies and streams, a rank is at most once in a group, all members of a group make the
/// same calls on it in the same order (collective, size, root), and every Send has its Recv with
/// the same size. Sizes of collectives need not be multiples of anything: they are rounded up when
/// they are simulated.
void check_job(const JobGraph& job);

/// Replaces programs that are equal, apart from the places that they were read from, by one.
void merge_equal_programs(JobGraph& job);

/// The order of a program's operations in which each comes after its dependencies and the previous
/// operation of its stream. Throws UserError at an operation of a cycle.
[[nodiscard]] std::vector<std::int32_t> execution_order(const JobGraph& job,
                                                        const RankProgram& program);

}  // namespace cclgym
