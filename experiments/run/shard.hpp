// A shard of a run: every n-th cell, for job arrays that have no MPI.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace cclgym {

/// Shard `number` of `count`: the cells number - 1, number - 1 + count, … of an experiment.
/// Neighbouring cells cost about the same time, so that shards do, too.
struct Shard {
  std::size_t number = 1;  ///< 1 .. count
  std::size_t count = 1;   ///< 1: the entire experiment

  /// True for the entire experiment.
  [[nodiscard]] bool whole() const { return count == 1; }
  /// Number of its cells, of `cells` in all.
  [[nodiscard]] std::size_t size(std::size_t cells) const {
    return cells < number ? 0 : (cells - number) / count + 1;
  }
  /// Index in the experiment of its cell `position`.
  [[nodiscard]] std::size_t cell(std::size_t position) const {
    return number - 1 + position * count;
  }

  friend bool operator==(const Shard&, const Shard&) = default;
};
inline constexpr std::size_t kMaxShards = 100'000;

/// Reads "3/16". Throws UserError at `where` if the text has another form, or numbers outside of
/// 1 .. count and 1 .. kMaxShards.
[[nodiscard]] Shard read_shard(std::string_view text, const SourceLocation& where);

/// File name of a shard's results: "shard-3-of-16.csv"; "results.csv" for the entire experiment.
[[nodiscard]] std::string shard_file_name(const Shard& shard);
/// Shard whose results have this file name; nullopt if it is no name of shard_file_name, or that of
/// the entire experiment.
[[nodiscard]] std::optional<Shard> shard_of_file_name(std::string_view name);

}  // namespace cclgym
