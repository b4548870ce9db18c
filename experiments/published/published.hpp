// Published speedups over ranges of sizes, for comparison with simulated ones.
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

/// Simulated speedup that a published row is judged by.
enum class PublishedSubject : std::uint8_t {
  Best,      ///< fastest configuration of the experiment
  Variant,   ///< fastest of the configurations that the row selects
  Fallback,  ///< the fastest configuration, but at least 1: the publication's runtime uses the
             ///< baseline where no program is faster
};

[[nodiscard]] std::string_view to_string(PublishedSubject subject);

/// One line of a published file: bounds of the speedup over a range of sizes.
struct PublishedRow {
  int number = 0;      ///< number of the row in its file, from 1
  std::string fabric;  ///< a fabric's name, "ndv4"
  int servers = 1;
  int gpus = 0;
  std::string collective;  ///< cclgym's name
  std::uint64_t size_from = 0;
  std::optional<std::uint64_t> size_to;  ///< inclusive; nullopt: every size from `size_from` on
  std::string variant;                   ///< the fastest configuration, in the publication's words
  // Configurations that belong to the variant; an empty list matches every value.
  std::vector<std::string> algorithms;
  std::vector<Protocol> protocols;
  std::vector<int> channels;
  std::vector<int> instances;
  PublishedSubject subject = PublishedSubject::Best;
  double speedup_low = 1;
  double speedup_high = 1;
  std::string baseline;  ///< denominator of the speedup: an algorithm or a tuner
  std::string source;    ///< publication and figure
  SourceLocation where;

  /// True if the row selects configurations.
  [[nodiscard]] bool has_variant() const;
  /// True if the result's configuration belongs to the variant; always true without a variant.
  [[nodiscard]] bool selects(const ResultRow& row) const;
  [[nodiscard]] bool covers(std::uint64_t bytes) const;
  /// True if the row is about this fabric of an experiment. A fabric with options other than the
  /// number of nodes is a different fabric.
  [[nodiscard]] bool is_of(const ExperimentFabric& candidate) const;
  /// The range of sizes as text: "32KiB..256KiB", "32MiB..", "256MiB".
  [[nodiscard]] std::string range_text() const;
};

/// Columns fabric, servers, gpus, collective, size_from, size_to, variant, algorithm, protocol,
/// channels, instances, judged_by, speedup_low, speedup_high, baseline, source; lines that start
/// with # are comments. Sizes have units; algorithm, protocol, channels and instances may hold
/// several values separated by '|', or none. Throws UserError with the line of the error.
[[nodiscard]] std::vector<PublishedRow> read_published(const std::string& path);
/// Reads the rows from the text of a file; `path` is its name in messages.
[[nodiscard]] std::vector<PublishedRow> parse_published(std::string_view text,
                                                        const std::string& path);

/// The rows of all published files of the experiment.
[[nodiscard]] std::vector<PublishedRow> read_published_files(const Experiment& experiment);

}  // namespace cclgym
