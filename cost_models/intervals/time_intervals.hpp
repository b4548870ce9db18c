// Intervals of simulated times: the range in which a measured time of the same call is expected.
// They come from calls that were measured and simulated, and that no fit of the parameter set has
// seen (docs/intervals.md).
#pragma once

#include <compare>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/yaml/yaml.hpp"
#include "cost_models/parameters/fitted_rows.hpp"
#include "cost_models/parameters/parameter_set.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Bounds of ln(measured / simulated).
struct LogInterval {
  double low = 0;
  double high = 0;
};

/// Kind of a call, by which it is compared with the rows that vouch for its time.
struct CallKind {
  std::string collective{};  ///< "allreduce"
  std::string algorithm{};   ///< program that was named; empty: NCCL's own choice

  friend auto operator<=>(const CallKind&, const CallKind&) = default;
};

/// The interval of one class of calls: one kind, under one parameter set on one fabric, on one node
/// or on several.
struct IntervalRow {
  std::string set{};     ///< name of the parameter set
  std::string values{};  ///< digest of the set's values (values_digest)
  std::string fabric{};  ///< name of the fabric
  bool one_node = false;
  CallKind kind{};
  LogInterval interval{};
  int cells = 0;                   ///< number of measured cells behind the interval
  std::vector<FittedRows> rows{};  ///< the rows of these cells
};

/// A table of intervals.
struct TimeIntervals {
  double coverage = 0.9;  ///< share of measured times that the intervals aim to contain
  std::string source{};   ///< the measured file and the command that made the table
  std::vector<IntervalRow> rows{};
};

/// Digest of the values in which a set differs from the defaults, as a parameter set states them:
/// 16 hex digits. Equal for a set and its copy in another file.
[[nodiscard]] std::string values_digest(const CostModel& model);

/// Reads a table. Throws UserError at the place of the fault.
[[nodiscard]] TimeIntervals read_time_intervals(const YamlValue& document);
[[nodiscard]] TimeIntervals load_time_intervals(const std::string& path);
/// The table as YAML, under lines of comment.
[[nodiscard]] std::string to_yaml(const TimeIntervals& table);
/// The table of the shipped sets.
[[nodiscard]] const TimeIntervals& shipped_time_intervals();

/// The interval of a call, or the reason why there is none.
struct FoundInterval {
  std::optional<LogInterval> interval{};
  int cells = 0;  ///< IntervalRow::cells
  /// "102 held-out cells of Alps-GH200, several nodes: allreduce", or the reason.
  std::string basis{};
};

/// The interval of a call of this kind under this set on this fabric: that of the table's row for
/// exactly this class. There is none for other classes, or if the set's values have changed since.
[[nodiscard]] FoundInterval find_interval(const TimeIntervals& table, const ParameterSet& set,
                                          const Fabric& fabric, const CallKind& kind);

/// The same as text for many calls by NCCL's own choice: "90 % of NCCL's measured times are
/// expected at 0.42 to 2.36 x the simulated (106 held-out cells of Polaris, …)"; empty if there is
/// none.
[[nodiscard]] std::string interval_text(const TimeIntervals& table, const ParameterSet& set,
                                        const Fabric& fabric, const std::string& collective);

}  // namespace cclgym
