#include <cmath>
#include <map>
#include <tuple>

#include "core/files/csv.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/results_columns.hpp"

namespace cclgym {

namespace {

// Throws UserError if no simulation could give one of the values.
void check_values(const ResultRow& row, const SourceLocation& where) {
  const auto refuse = [&](std::string_view name, double value, const std::string& expected) {
    throw UserError(where,
                    std::string(name) + " is " + format_double(value) + "; expected " + expected);
  };
  if (!parse_collective(row.collective)) {
    throw UserError(where, unknown_name_message("collective", row.collective, collective_names()));
  }
  for (const CsvColumn<ResultRow>& column : kResultColumns) {
    if (const auto* count = std::get_if<int ResultRow::*>(&column.member)) {
      const int value = row.**count;
      if (value < 0) refuse(column.name, value, "a whole number >= 0");
      continue;
    }
    const auto* member = std::get_if<double ResultRow::*>(&column.member);
    if (member == nullptr) continue;
    const double value = row.**member;
    if (!std::isfinite(value) || value < 0) refuse(column.name, value, "a finite number >= 0");
  }
  if (row.time_min_us > row.time_us) {
    refuse("time_min_us", row.time_min_us, "at most time_us, " + format_double(row.time_us));
  }
  if (row.time_max_us < row.time_us) {
    refuse("time_max_us", row.time_max_us, "at least time_us, " + format_double(row.time_us));
  }
}

}  // namespace

std::string result_header() { return csv_header(kResultColumns); }

std::string to_csv(const ResultRow& row) { return csv_line(kResultColumns, row); }

ResultTable read_results(const std::string& path) {
  CsvRows<ResultRow> file =
      read_csv(path, kResultColumns, {.comments = false, .keep_unended = false});
  std::map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    check_values(file.rows[i], file.where[i]);
    const auto [first, fresh] = seen.try_emplace(file.rows[i].cell_key, i);
    if (!fresh) {
      throw UserError(file.where[i], "cell_key " + quoted(file.rows[i].cell_key, 200) +
                                         " is already in line " +
                                         std::to_string(file.where[first->second].line) +
                                         "; expected each cell once");
    }
  }
  return {std::move(file.rows), file.truncated};
}

}  // namespace cclgym
