// What a collective must do: which chunk each input location holds before, and which chunk or
// reduction each output location must hold after.
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

/// An input chunk, named by where it starts: (rank, index in its Input buffer).
struct ChunkId {
  int rank = 0;
  int index = 0;
  friend auto operator<=>(const ChunkId&, const ChunkId&) = default;
};

/// What an output location must hold: the reduction of exactly these chunks, each once (one chunk:
/// a copy of it). Sorted.
using RequiredValue = std::vector<ChunkId>;

/// Pre- and postcondition of a collective over `ranks` ranks.
///
/// `chunks` is the chunk factor: AllReduce, Broadcast and Reduce cut the whole buffer into
/// `chunks`; AllGather, ReduceScatter, AllToAll, Gather and Scatter cut each rank's slice of it
/// into `chunks`, slice r of a whole buffer being chunks [r * chunks, (r + 1) * chunks). AllToNext
/// sends the whole buffer of rank r to rank r + 1 (the last rank sends nothing, the first receives
/// nothing). A buffer that a rank does not give (out of place: the input of Broadcast and Scatter
/// anywhere but at the root, the output of Reduce and Gather likewise) has no chunks.
///
/// In place (NCCL's convention): AllReduce, Broadcast, Reduce, AllToNext: the output is the input
/// buffer; AllGather: the input is slice `rank` of the output; ReduceScatter: the output is slice
/// `rank` of the input. The other collectives have no in-place form (UserError).
class Contract {
 public:
  /// Throws UserError on ranks < 1, chunks < 1, a root out of range, or no in-place form.
  static Contract make(CollectiveKind kind, int ranks, int chunks, bool in_place = false,
                       int root = 0);

  /// A user-defined collective. `post(rank, output index)` gives what must be there, or nullopt for
  /// "anything". Never in place.
  static Contract custom(std::string name, int ranks, std::vector<int> input_chunks,
                         std::vector<int> output_chunks,
                         std::function<std::optional<RequiredValue>(int, int)> post);

  /// The same collective with every chunk cut into `factor` chunks: chunk i becomes the chunks
  /// [i * factor, (i + 1) * factor). Throws UserError on factor < 1 or too many chunks.
  [[nodiscard]] Contract refined(int factor) const;

  [[nodiscard]] CollectiveKind kind() const { return kind_; }
  [[nodiscard]] const std::string& name() const { return name_; }  ///< "allreduce", …, as in YAML
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int chunks() const { return chunks_; }
  [[nodiscard]] int root() const { return root_; }
  [[nodiscard]] bool in_place() const { return in_place_; }
  [[nodiscard]] int input_chunks(int rank) const;
  [[nodiscard]] int output_chunks(int rank) const;

  /// Number of chunks that a call's size in bytes (nccl-tests' definition: the larger of the send
  /// and receive buffer of a rank) is cut into; chunk bytes = size / this.
  [[nodiscard]] int chunks_per_call() const;

  /// The chunk that an input location holds at the start; nullopt for locations without valid data.
  [[nodiscard]] std::optional<ChunkId> precondition(int rank, int index) const;
  /// What output location (rank, index) must hold at the end; nullopt: anything.
  [[nodiscard]] std::optional<RequiredValue> postcondition(int rank, int index) const;

  /// The location's canonical name: with an in-place collective Input and Output share memory, and
  /// both names of a place resolve to one. Others: unchanged.
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

/// Has the collective a root: Broadcast, Reduce, Gather, Scatter?
[[nodiscard]] bool is_rooted(CollectiveKind kind);

/// "allreduce", "allgather", "reducescatter", "broadcast", "reduce", "gather", "scatter",
/// "alltoall", "alltonext", "custom".
[[nodiscard]] std::string_view to_string(CollectiveKind kind);
/// Accepts the names of to_string and nccl-tests' spellings ("all_reduce", "reduce_scatter", …).
/// nullopt if there is none such.
[[nodiscard]] std::optional<CollectiveKind> parse_collective(std::string_view name);
/// The same; throws UserError at `where` that names the nearest collective if there is none.
[[nodiscard]] CollectiveKind collective_named(std::string_view name, const SourceLocation& where);
/// The built-in collectives, without Custom, in the order of the enum.
[[nodiscard]] const std::vector<CollectiveKind>& all_collectives();
/// Their names, in the same order.
[[nodiscard]] const std::vector<std::string>& collective_names();
/// Does the collective reduce (AllReduce, ReduceScatter, Reduce)?
[[nodiscard]] bool is_reduction(CollectiveKind kind);
/// A call's size must be a multiple of this many elements: `ranks` for collectives whose buffer is
/// made of one slice a rank, otherwise 1.
[[nodiscard]] int size_granularity(CollectiveKind kind, int ranks);
/// nccl-tests' factor from algorithm to bus bandwidth: AllReduce 2(n-1)/n; AllGather,
/// ReduceScatter, AllToAll, Gather, Scatter (n-1)/n; others 1.
[[nodiscard]] double bus_bandwidth_factor(CollectiveKind kind, int ranks);

}  // namespace cclgym
