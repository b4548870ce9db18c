// Intervals of simulated times: the range in which a measured time of the same call is expected.
// They come from calls that were measured and simulated, and that no fit of the parameter set has
// seen (docs/intervals.md).
#pragma once

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

/// The interval of one class of calls: one parameter set on one fabric, on one node or on several.
struct IntervalRow {
  std::string set{};      ///< name of the parameter set; empty: sets without a row of their own
  std::string values{};   ///< digest of the set's values (values_digest); empty if `set` is
  std::string fabric{};   ///< name of the fabric; empty if `set` is
  bool one_node = false;  ///< no meaning if `set` is empty
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
  int cells = 0;     ///< IntervalRow::cells
  bool own = false;  ///< the interval comes from cells of this set on this fabric
  /// "102 held-out cells of Alps-GH200, several nodes: allreduce", or the reason.
  std::string basis{};
};

/// The interval of a call under this set on this fabric. A set that was fitted to measured rows and
/// has no row of its own for the class gets the row of other sets, if the table has one. There is
/// no interval for sets that were fitted to no measured row, that no measured times can test
/// (ParameterSet::unmeasured), that describe another library than NCCL and RCCL, or whose values
/// have changed since.
[[nodiscard]] FoundInterval find_interval(const TimeIntervals& table, const ParameterSet& set,
                                          const Fabric& fabric);

/// The same as text for many calls: "90 % of NCCL's measured times are expected at 0.42 to 2.36 x
/// the simulated (106 held-out cells of SET)"; empty if there is none.
[[nodiscard]] std::string interval_text(const TimeIntervals& table, const ParameterSet& set,
                                        const Fabric& fabric);

}  // namespace cclgym
