#include "collectives/contract.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "core/index.hpp"
#include "core/names.hpp"

namespace cclgym {

namespace {

bool has_in_place_form(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Broadcast:
    case CollectiveKind::Reduce:
    case CollectiveKind::AllToNext:
      return true;
    case CollectiveKind::Gather:
    case CollectiveKind::Scatter:
    case CollectiveKind::AllToAll:
    case CollectiveKind::Custom:
      return false;
  }
  return false;
}

/// True if one of the two buffers consists of one slice per rank.
bool is_sliced(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Gather:
    case CollectiveKind::Scatter:
    case CollectiveKind::AllToAll:
      return true;
    case CollectiveKind::AllReduce:
    case CollectiveKind::Broadcast:
    case CollectiveKind::Reduce:
    case CollectiveKind::AllToNext:
    case CollectiveKind::Custom:
      return false;
  }
  return false;
}

/// The reduction of the chunks with the same index on every rank.
RequiredValue reduction_over_ranks(int ranks, int index) {
  RequiredValue value;
  value.reserve(at(ranks));
  for (int rank = 0; rank < ranks; ++rank) value.push_back({rank, index});
  return value;
}

}  // namespace

std::string_view to_string(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return "allreduce";
    case CollectiveKind::AllGather:
      return "allgather";
    case CollectiveKind::ReduceScatter:
      return "reducescatter";
    case CollectiveKind::Broadcast:
      return "broadcast";
    case CollectiveKind::Reduce:
      return "reduce";
    case CollectiveKind::Gather:
      return "gather";
    case CollectiveKind::Scatter:
      return "scatter";
    case CollectiveKind::AllToAll:
      return "alltoall";
    case CollectiveKind::AllToNext:
      return "alltonext";
    case CollectiveKind::Custom:
      return "custom";
  }
  return "?";
}

std::string_view to_string(Buffer buffer) {
  switch (buffer) {
    case Buffer::Input:
      return "input";
    case Buffer::Output:
      return "output";
    case Buffer::Scratch:
      return "scratch";
  }
  return "?";
}

std::string describe_location(const Location& location, int count) {
  if (count == 1) {
    return fmt::format("rank {} {}[{}]", location.rank, to_string(location.buffer), location.index);
  }
  return fmt::format("rank {} {}[{}..{}]", location.rank, to_string(location.buffer),
                     location.index, static_cast<std::int64_t>(location.index) + count - 1);
}

std::optional<CollectiveKind> parse_collective(std::string_view name) {
  // nccl-tests writes all_reduce, reduce_scatter, …; people write all-reduce.
  const std::string plain = plain_name(name);
  for (const CollectiveKind kind : all_collectives()) {
    if (plain == to_string(kind)) return kind;
  }
  if (plain == to_string(CollectiveKind::Custom)) return CollectiveKind::Custom;
  return std::nullopt;
}

CollectiveKind collective_named(std::string_view name, const SourceLocation& where) {
  if (const auto kind = parse_collective(name)) return *kind;
  throw UserError(where, unknown_name_message("collective", name, collective_names()));
}

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const CollectiveKind kind : all_collectives()) all.emplace_back(to_string(kind));
    return all;
  }();
  return names;
}

const std::vector<CollectiveKind>& all_collectives() {
  static const std::vector<CollectiveKind> kinds = {
      CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
      CollectiveKind::Broadcast, CollectiveKind::Reduce,    CollectiveKind::Gather,
      CollectiveKind::Scatter,   CollectiveKind::AllToAll,  CollectiveKind::AllToNext};
  return kinds;
}

bool is_reduction(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::Reduce;
}

bool is_rooted(CollectiveKind kind) {
  return kind == CollectiveKind::Broadcast || kind == CollectiveKind::Reduce ||
         kind == CollectiveKind::Gather || kind == CollectiveKind::Scatter;
}

int size_granularity(CollectiveKind kind, int ranks) { return is_sliced(kind) ? ranks : 1; }

std::uint64_t fitting_bytes(CollectiveKind collective, std::uint64_t bytes, int ranks) {
  constexpr std::uint64_t kElementBytes = 4;
  const std::uint64_t unit =
      kElementBytes * static_cast<std::uint64_t>(size_granularity(collective, ranks));
  return std::max<std::uint64_t>(1, (bytes + unit - 1) / unit) * unit;
}

double bus_bandwidth_factor(CollectiveKind kind, int ranks) {
  const double n = ranks;
  if (kind == CollectiveKind::AllReduce) return 2 * (n - 1) / n;
  return is_sliced(kind) ? (n - 1) / n : 1.0;
}

Contract Contract::make(CollectiveKind kind, int ranks, int chunks, bool in_place, int root) {
  const std::string_view name = to_string(kind);
  if (kind == CollectiveKind::Custom) {
    throw UserError("a custom collective has no built-in contract; use Contract::custom");
  }
  if (ranks < 1) throw UserError(fmt::format("{}: {} ranks; expected at least 1", name, ranks));
  if (chunks < 1) throw UserError(fmt::format("{}: {} chunks; expected at least 1", name, chunks));
  if (is_sliced(kind) && chunks > std::numeric_limits<int>::max() / ranks) {
    throw UserError(fmt::format("{}: {} ranks of {} chunks; expected at most {} chunks in all",
                                name, ranks, chunks, std::numeric_limits<int>::max()));
  }
  if (root < 0 || root >= ranks) {
    throw UserError(fmt::format("{}: root {}; expected 0 to {}", name, root, ranks - 1));
  }
  if (in_place && !has_in_place_form(kind)) {
    throw UserError(fmt::format(
        "{} has no in-place form; expected one of allreduce, allgather, reducescatter, broadcast, "
        "reduce, alltonext",
        name));
  }
  Contract contract;
  contract.kind_ = kind;
  contract.name_ = name;
  contract.ranks_ = ranks;
  contract.chunks_ = chunks;
  contract.root_ = root;
  contract.in_place_ = in_place;
  return contract;
}

Contract Contract::custom(std::string name, int ranks, std::vector<int> input_chunks,
                          std::vector<int> output_chunks,
                          std::function<std::optional<RequiredValue>(int, int)> post) {
  if (ranks < 1) throw UserError(fmt::format("{}: {} ranks; expected at least 1", name, ranks));
  if (input_chunks.size() != at(ranks) || output_chunks.size() != at(ranks)) {
    throw UserError(
        fmt::format("{}: chunk counts for {} (input) and {} (output) ranks; expected {}", name,
                    input_chunks.size(), output_chunks.size(), ranks));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (input_chunks[at(rank)] < 0 || output_chunks[at(rank)] < 0) {
      throw UserError(fmt::format("{}: rank {} has a negative number of chunks", name, rank));
    }
  }
  Contract contract;
  contract.kind_ = CollectiveKind::Custom;
  contract.name_ = std::move(name);
  contract.ranks_ = ranks;
  contract.custom_input_chunks_ = std::move(input_chunks);
  contract.custom_output_chunks_ = std::move(output_chunks);
  contract.custom_post_ = std::move(post);
  if (!contract.custom_post_) return contract;
  // A wrong postcondition would make every program of the collective look wrong: reject it here.
  for (int rank = 0; rank < ranks; ++rank) {
    for (int index = 0; index < contract.output_chunks(rank); ++index) {
      const auto value = contract.postcondition(rank, index);
      if (!value) continue;
      const std::string what = fmt::format("{}: postcondition of {}", contract.name_,
                                           describe_location({rank, Buffer::Output, index}));
      if (value->empty()) throw UserError(what + " is empty; expected at least one chunk");
      for (std::size_t i = 0; i < value->size(); ++i) {
        const ChunkId chunk = (*value)[i];
        if (!contract.precondition(chunk.rank, chunk.index)) {
          throw UserError(fmt::format("{} names {}, which is not an input chunk", what,
                                      describe_location({chunk.rank, Buffer::Input, chunk.index})));
        }
        if (i > 0 && chunk == (*value)[i - 1]) {
          throw UserError(fmt::format("{} names {} twice", what,
                                      describe_location({chunk.rank, Buffer::Input, chunk.index})));
        }
      }
    }
  }
  return contract;
}

Contract Contract::refined(int factor) const {
  constexpr int kMost = std::numeric_limits<int>::max();
  if (factor < 1 || chunks_per_call() > kMost / factor) {
    throw UserError(fmt::format("{}: {} chunks cut into {}; expected at most {} chunks in all",
                                name_, chunks_per_call(), factor, kMost));
  }
  Contract contract = *this;
  contract.chunks_ *= factor;
  for (int& chunks : contract.custom_input_chunks_) chunks *= factor;
  for (int& chunks : contract.custom_output_chunks_) chunks *= factor;
  if (custom_post_ && factor > 1) {
    contract.custom_post_ = [post = custom_post_, factor](int rank, int index) {
      auto value = post(rank, index / factor);
      if (value) {
        for (ChunkId& chunk : *value) chunk.index = chunk.index * factor + index % factor;
      }
      return value;
    };
  }
  return contract;
}

int Contract::input_chunks(int rank) const {
  switch (kind_) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::AllGather:
    case CollectiveKind::Reduce:
    case CollectiveKind::Gather:
    case CollectiveKind::AllToNext:
      return chunks_;
    case CollectiveKind::Broadcast:  // out of place, only the root has a send buffer
      return in_place_ || rank == root_ ? chunks_ : 0;
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll:
      return ranks_ * chunks_;
    case CollectiveKind::Scatter:
      return rank == root_ ? ranks_ * chunks_ : 0;
    case CollectiveKind::Custom:
      return custom_input_chunks_[at(rank)];
  }
  return 0;
}

int Contract::output_chunks(int rank) const {
  switch (kind_) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Broadcast:
    case CollectiveKind::Scatter:
    case CollectiveKind::AllToNext:
      return chunks_;
    case CollectiveKind::Reduce:  // out of place, only the root has a receive buffer
      return in_place_ || rank == root_ ? chunks_ : 0;
    case CollectiveKind::AllGather:
    case CollectiveKind::AllToAll:
      return ranks_ * chunks_;
    case CollectiveKind::Gather:
      return rank == root_ ? ranks_ * chunks_ : 0;
    case CollectiveKind::Custom:
      return custom_output_chunks_[at(rank)];
  }
  return 0;
}

int Contract::chunks_per_call() const {
  if (kind_ != CollectiveKind::Custom) return is_sliced(kind_) ? ranks_ * chunks_ : chunks_;
  int most = 1;
  for (int rank = 0; rank < ranks_; ++rank) {
    most = std::max({most, input_chunks(rank), output_chunks(rank)});
  }
  return most;
}

std::optional<ChunkId> Contract::precondition(int rank, int index) const {
  if (rank < 0 || rank >= ranks_ || index < 0 || index >= input_chunks(rank)) return std::nullopt;
  if (kind_ == CollectiveKind::Broadcast && rank != root_) return std::nullopt;
  return ChunkId{rank, index};
}

std::optional<RequiredValue> Contract::postcondition(int rank, int index) const {
  switch (kind_) {
    case CollectiveKind::AllReduce:
      return reduction_over_ranks(ranks_, index);
    case CollectiveKind::Reduce:
      if (rank != root_) return std::nullopt;
      return reduction_over_ranks(ranks_, index);
    case CollectiveKind::ReduceScatter:
      return reduction_over_ranks(ranks_, rank * chunks_ + index);
    case CollectiveKind::AllGather:
    case CollectiveKind::Gather:
      return RequiredValue{{index / chunks_, index % chunks_}};
    case CollectiveKind::Broadcast:
      return RequiredValue{{root_, index}};
    case CollectiveKind::Scatter:
      return RequiredValue{{root_, rank * chunks_ + index}};
    case CollectiveKind::AllToAll:
      return RequiredValue{{index / chunks_, rank * chunks_ + index % chunks_}};
    case CollectiveKind::AllToNext:
      if (rank == 0) return std::nullopt;
      return RequiredValue{{rank - 1, index}};
    case CollectiveKind::Custom: {
      auto value = custom_post_ ? custom_post_(rank, index) : std::nullopt;
      if (value) std::sort(value->begin(), value->end());
      return value;
    }
  }
  return std::nullopt;
}

Location Contract::resolve(const Location& location) const {
  if (!in_place_ || location.buffer == Buffer::Scratch) return location;
  Location canonical = location;
  if (kind_ == CollectiveKind::AllGather) {
    if (location.buffer == Buffer::Input) {
      canonical.buffer = Buffer::Output;
      canonical.index += location.rank * chunks_;
    }
  } else if (location.buffer == Buffer::Output) {
    canonical.buffer = Buffer::Input;
    if (kind_ == CollectiveKind::ReduceScatter) canonical.index += location.rank * chunks_;
  }
  return canonical;
}

}  // namespace cclgym
