// Parts of the report's data.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "experiments/report/report.hpp"
#include "experiments/summary/report_summary.hpp"

namespace cclgym {

/// The rows, column by column, in the shortest of four forms: {"is": value} if all rows have it,
/// {"of": name} if the column equals an earlier one, {"runs": [value, count, …]} or {"list":
/// [value, …], "at": [index, …]} if values repeat, otherwise {"values": [value, …]}. cell_key,
/// which follows from the others, is left out. `columns` of the page has the names.
[[nodiscard]] nlohmann::ordered_json table_json(std::span<const ResultRow> rows);

/// A value as JSON; integers that a JavaScript number cannot hold are strings.
[[nodiscard]] nlohmann::ordered_json exact_json(std::int64_t value);
[[nodiscard]] nlohmann::ordered_json exact_json(std::uint64_t value);

/// Sentences about what was run and what came out: sizes of the sweep, who is fastest how
/// often, the speedup over the baseline, and agreement with published and measured times.
[[nodiscard]] std::vector<std::string> outcome_sentences(const Experiment& experiment,
                                                         const ReportInput& input,
                                                         const ResultSummary& summary);

}  // namespace cclgym
