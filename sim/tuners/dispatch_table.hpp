// Size-range dispatch: selects the configuration of a collective by the size of the call.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/contract.hpp"
#include "core/error.hpp"
#include "core/options/option.hpp"
#include "sim/call/config_options.hpp"
#include "sim/tuners/named_programs.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// Calls of at least `from_bytes` and less than `to_bytes`, so that a range ends where the next one
/// begins.
struct DispatchRange {
  static constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t from_bytes = 0;
  std::uint64_t to_bytes = kNoEnd;
  ConfigChoice choice{};
  /// NCCL itself chose the tiles and slots of `choice`, so its tuner need not set them.
  bool tiles_by_nccl = false;
  SourceLocation where{};
};

/// The ranges of one collective on one fabric.
struct DispatchBlock {
  std::string fabric;  ///< label as in experiments: "ndv4 nodes=2"
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::vector<DispatchRange> ranges{};  ///< ascending, disjoint
  SourceLocation where{};
};

/// Tuner or configuration for calls outside all ranges.
struct DispatchFallback {
  std::string tuner{};  ///< name, such as "nccl-default:2.8.4"; if empty, `choice` applies
  ConfigChoice choice{};
  SourceLocation where{};
};

struct DispatchTable {
  std::string description{};
  std::vector<NamedProgram> programs{};  ///< programs that its ranges may name, beside algorithms
  /// The algorithms that its ranges may name: those of its reader, and `programs`.
  AlgorithmLibrary algorithms = AlgorithmLibrary::shipped();
  std::optional<DispatchFallback> fallback{};
  std::vector<DispatchBlock> blocks{};

  /// The block of a collective on a fabric, by its label (comparable_fabric_label). nullptr if
  /// there is none.
  [[nodiscard]] const DispatchBlock* find(std::string_view fabric, CollectiveKind collective) const;
};

/// Keys of a table, of an item of `tables`, and of an item of `ranges`.
[[nodiscard]] const std::vector<OptionSpec>& dispatch_options();
[[nodiscard]] const std::vector<OptionSpec>& dispatch_block_options();
[[nodiscard]] const std::vector<OptionSpec>& dispatch_range_options();

/// Reads a table from YAML (docs/experiments.md describes it). Throws UserError with the location
/// of the error: bad names or values, an algorithm without the collective, overlapping ranges and,
/// without a fallback, gaps between ranges. `file_name` is used in messages.
[[nodiscard]] DispatchTable parse_dispatch_table(
    std::string_view text, const std::string& file_name,
    const AlgorithmLibrary& library = AlgorithmLibrary::shipped());
[[nodiscard]] DispatchTable load_dispatch_table(
    const std::string& path, const AlgorithmLibrary& library = AlgorithmLibrary::shipped());

/// Notation of a range: "64KiB..1MiB", "..64KiB", "1MiB..".
[[nodiscard]] std::string range_text(const DispatchRange& range);
/// The table as YAML that parse_dispatch_table can read, with the lines of `comment` at the top.
[[nodiscard]] std::string to_yaml(const DispatchTable& table, std::string_view comment = {});

/// The tuner "dispatch:PATH"; PATH may also be a CSV for NCCL's tuner (make_nccl_csv_tuner). Throws
/// UserError if the table cannot be read or is wrong.
[[nodiscard]] std::unique_ptr<const Tuner> make_dispatch_tuner(std::string_view path,
                                                               const TunerSite& site);

}  // namespace cclgym
