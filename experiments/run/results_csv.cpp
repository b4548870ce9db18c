#include <cmath>
#include <map>
#include <tuple>

#include "core/files/csv.hpp"
#include "experiments/run/results.hpp"
#include "experiments/run/results_columns.hpp"

namespace cclgym {

namespace {

constexpr std::array<CsvColumn<MeasuredRow>, 8> kMeasuredColumns{{
    {"system", &MeasuredRow::system},
    {"config", &MeasuredRow::config},
    {"fabric", &MeasuredRow::fabric},
    {"collective", &MeasuredRow::collective},
    {"ranks", &MeasuredRow::ranks},
    {"size_bytes", &MeasuredRow::size_bytes},
    {"time_us", &MeasuredRow::time_us},
    {"source", &MeasuredRow::source},
}};

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

std::vector<MeasuredRow> read_measured(const std::string& path) {
  CsvRows<MeasuredRow> file =
      read_csv(path, kMeasuredColumns, {.comments = true, .keep_unended = true});
  std::map<std::tuple<std::string, std::string, std::string, std::string, int, std::uint64_t>,
           std::size_t>
      seen;
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    MeasuredRow& row = file.rows[i];
    const SourceLocation& where = file.where[i];
    for (const auto& [text, name] :
         {std::pair{&row.system, "system"}, {&row.config, "config"}, {&row.fabric, "fabric"}}) {
      if (text->empty()) throw UserError(where, std::string(name) + " is empty; expected a name");
    }
    const std::optional<CollectiveKind> kind = parse_collective(row.collective);
    if (!kind || *kind == CollectiveKind::Custom) {
      throw UserError(where,
                      unknown_name_message("collective", row.collective, collective_names()));
    }
    row.collective = to_string(*kind);
    if (row.ranks < 1) {
      throw UserError(where, "ranks is " + std::to_string(row.ranks) + "; expected at least 1");
    }
    if (row.size_bytes == 0) throw UserError(where, "size_bytes is 0; expected at least 1");
    if (!std::isfinite(row.time_us) || row.time_us <= 0) {
      throw UserError(where, "time_us is " + format_double(row.time_us) +
                                 "; expected a positive number of microseconds");
    }
    const auto [first, fresh] = seen.try_emplace(
        {row.system, row.config, row.fabric, row.collective, row.ranks, row.size_bytes}, i);
    if (!fresh) {
      throw UserError(where,
                      "the same system, config, fabric, collective, ranks and size_bytes "
                      "are already in line " +
                          std::to_string(file.where[first->second].line) +
                          "; expected one time (the median) for each");
    }
  }
  return std::move(file.rows);
}

}  // namespace cclgym
