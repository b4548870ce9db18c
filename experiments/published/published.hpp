// Speedups that publications state for ranges of sizes, to compare simulated ones with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "experiments/run/results.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// Which simulated speedup a published row is judged by.
enum class PublishedSubject : std::uint8_t {
  Best,      ///< that of the fastest configuration of the experiment
  Variant,   ///< that of the configurations which the row selects: it speaks of these alone
  Fallback,  ///< that of the fastest, at least 1: the publication's runtime leaves sizes that no
             ///< program is better at to the baseline
};

[[nodiscard]] std::string_view to_string(PublishedSubject subject);

/// One line of a published file: over a range of sizes, the speedup was between two values.
struct PublishedRow {
  int number = 0;      ///< of the row in its file, from 1
  std::string fabric;  ///< a fabric's name, "ndv4"
  int servers = 1;
  int gpus = 0;
  std::string collective;  ///< our names
  std::uint64_t size_from = 0;
  std::optional<std::uint64_t> size_to;  ///< included; nothing: every size from `size_from` on
  std::string variant;                   ///< what was fastest, in the publication's words
  // The configurations that are this variant; an empty list takes every value.
  std::vector<std::string> algorithms;
  std::vector<Protocol> protocols;
  std::vector<int> channels;
  std::vector<int> instances;
  PublishedSubject subject = PublishedSubject::Best;
  double speedup_low = 1;
  double speedup_high = 1;
  std::string baseline;  ///< what the speedup is over: an algorithm or a tuner
  std::string source;    ///< publication and figure
  SourceLocation where;

  /// Does it select configurations at all?
  [[nodiscard]] bool has_variant() const;
  /// Is the result of a configuration of the variant? (Any row, if it selects nothing.)
  [[nodiscard]] bool selects(const ResultRow& row) const;
  [[nodiscard]] bool covers(std::uint64_t bytes) const;
  /// Is the fabric of an experiment the row's? Options other than the number of servers make it
  /// another one.
  [[nodiscard]] bool is_of(const ExperimentFabric& candidate) const;
  /// "32KiB..256KiB", "32MiB..", "256MiB"
  [[nodiscard]] std::string range_text() const;
};

/// Columns fabric, servers, gpus, collective, size_from, size_to, variant, algorithm, protocol,
/// channels, instances, judged_by, speedup_low, speedup_high, baseline, source; lines with # are
/// comments. Sizes have units; algorithm to instances may hold several values with '|' between
/// them, or none. Throws UserError with the line of what is wrong.
[[nodiscard]] std::vector<PublishedRow> read_published(const std::string& path);
/// The same of a file's text; `path` names it in messages.
[[nodiscard]] std::vector<PublishedRow> parse_published(std::string_view text,
                                                        const std::string& path);

/// The rows of all published files of the experiment.
[[nodiscard]] std::vector<PublishedRow> read_published_files(const Experiment& experiment);

}  // namespace cclgym
