// Contract of a collective: the chunk that each input location holds before, and the chunk or
// reduction that each output location must hold after.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace cclgym {

enum class CollectiveKind : std::uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  Broadcast,
  Reduce,
  Gather,
  Scatter,
  AllToAll,
  AllToNext,
  Custom
};

enum class Buffer : std::uint8_t { Input, Output, Scratch };

/// A chunk-sized place in a rank's memory. `index` counts chunks from the buffer's start.
struct Location {
  int rank = 0;
  Buffer buffer = Buffer::Input;
  int index = 0;
  friend bool operator==(const Location&, const Location&) = default;
};

/// An input chunk, named by its initial location: (rank, index in its Input buffer).
struct ChunkId {
  int rank = 0;
  int index = 0;
  friend auto operator<=>(const ChunkId&, const ChunkId&) = default;
};

/// Required content of an output location: the reduction of exactly these chunks, each once (one
/// chunk: a copy of it). Sorted.
using RequiredValue = std::vector<ChunkId>;

/// Pre- and postcondition of a collective over `ranks` ranks.
///
/// `chunks` is the chunk factor: AllReduce, Broadcast and Reduce cut the buffer into `chunks`
/// chunks; AllGather, ReduceScatter, AllToAll, Gather and Scatter cut each rank's slice into
/// `chunks` chunks, slice r being chunks [r * chunks, (r + 1) * chunks). AllToNext sends the entire
/// buffer of rank r to rank r + 1 (the last rank sends nothing, the first receives nothing).
/// Buffers that a rank does not have (out of place: the input of Broadcast and Scatter except at
/// the root, the output of Reduce and Gather except at the root) have no chunks.
///
/// In place (NCCL's convention): for AllReduce, Broadcast, Reduce and AllToNext the output is the
/// input buffer; for AllGather the input is slice `rank` of the output; for ReduceScatter the
/// output is slice `rank` of the input. The other collectives have no in-place form (UserError).
class Contract {
 public:
  /// Throws UserError on ranks < 1, chunks < 1, a root out of range, or a collective that has no
  /// in-place form.
  static Contract make(CollectiveKind kind, int ranks, int chunks, bool in_place = false,
                       int root = 0);

  /// A user-defined collective, never in place. `post(rank, output index)` returns the required
  /// value, or nullopt for "anything".
  static Contract custom(std::string name, int ranks, std::vector<int> input_chunks,
                         std::vector<int> output_chunks,
                         std::function<std::optional<RequiredValue>(int, int)> post);

  /// The same collective with every chunk cut into `factor` chunks: chunk i becomes the chunks [i *
  /// factor, (i + 1) * factor). Throws UserError on factor < 1 or too many chunks.
  [[nodiscard]] Contract refined(int factor) const;

  [[nodiscard]] CollectiveKind kind() const { return kind_; }
  [[nodiscard]] const std::string& name() const { return name_; }  ///< "allreduce", …, as in YAML
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int chunks() const { return chunks_; }
  [[nodiscard]] int root() const { return root_; }
  [[nodiscard]] bool in_place() const { return in_place_; }
  [[nodiscard]] int input_chunks(int rank) const;
  [[nodiscard]] int output_chunks(int rank) const;

  /// Number of chunks into which a call's size in bytes is cut (nccl-tests' definition of size: the
  /// larger of the send and receive buffer of a rank); chunk bytes = size / this.
  [[nodiscard]] int chunks_per_call() const;

  /// The chunk that an input location holds at the start; nullopt for locations without valid data.
  [[nodiscard]] std::optional<ChunkId> precondition(int rank, int index) const;
  /// Required value of output location (rank, index) at the end; nullopt: anything.
  [[nodiscard]] std::optional<RequiredValue> postcondition(int rank, int index) const;

  /// The location's canonical name: in an in-place collective, Input and Output share memory, and
  /// both names of a place resolve to one. Other locations are unchanged.
  [[nodiscard]] Location resolve(const Location& location) const;

 private:
  CollectiveKind kind_ = CollectiveKind::Custom;
  std::string name_;
  int ranks_ = 0;
  int chunks_ = 1;
  int root_ = 0;
  bool in_place_ = false;
  std::vector<int> custom_input_chunks_;
  std::vector<int> custom_output_chunks_;
  std::function<std::optional<RequiredValue>(int, int)> custom_post_;
};

/// "input", "output", "scratch".
[[nodiscard]] std::string_view to_string(Buffer buffer);
/// "rank 3 input[5]", or "rank 3 input[5..7]" for a run of `count` chunks.
[[nodiscard]] std::string describe_location(const Location& location, int count = 1);

/// True for collectives with a root: Broadcast, Reduce, Gather, Scatter.
[[nodiscard]] bool is_rooted(CollectiveKind kind);

/// "allreduce", "allgather", "reducescatter", "broadcast", "reduce", "gather", "scatter",
/// "alltoall", "alltonext", "custom".
[[nodiscard]] std::string_view to_string(CollectiveKind kind);
/// Accepts the names of to_string and nccl-tests' spellings ("all_reduce", "reduce_scatter", …).
/// nullopt for any other name.
[[nodiscard]] std::optional<CollectiveKind> parse_collective(std::string_view name);
/// Like parse_collective, but throws UserError at `where`, naming the nearest collective, for any
/// other name.
[[nodiscard]] CollectiveKind collective_named(std::string_view name, const SourceLocation& where);
/// The built-in collectives, without Custom, in the order of the enum.
[[nodiscard]] const std::vector<CollectiveKind>& all_collectives();
/// Names of all_collectives(), in the same order.
[[nodiscard]] const std::vector<std::string>& collective_names();
/// True for AllReduce, ReduceScatter and Reduce.
[[nodiscard]] bool is_reduction(CollectiveKind kind);
/// A call's size must be a multiple of this many elements: `ranks` for collectives with one slice
/// per rank in a buffer, otherwise 1.
[[nodiscard]] int size_granularity(CollectiveKind kind, int ranks);
/// Minimum valid size of a collective's call that has at least `bytes`, with elements of 4 bytes.
[[nodiscard]] std::uint64_t fitting_bytes(CollectiveKind collective, std::uint64_t bytes,
                                          int ranks);
/// nccl-tests' factor from algorithm to bus bandwidth: AllReduce 2(n-1)/n; AllGather,
/// ReduceScatter, AllToAll, Gather, Scatter (n-1)/n; others 1.
[[nodiscard]] double bus_bandwidth_factor(CollectiveKind kind, int ranks);

}  // namespace cclgym
