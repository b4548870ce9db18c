#include "experiments/measured/measured_line.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "core/split.hpp"
#include "experiments/measured/measured_columns.hpp"

namespace cclgym {

namespace {

// Limits of plausible times: no launch is shorter, and no call takes hours.
constexpr double kLeast_us = 0.01;
constexpr double kMost_us = 1e10;

std::string joined_names(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// Columns of rccl-tests (-Z csv) that are not read, besides those with names of their own here.
constexpr std::array<std::string_view, 8> kOfRcclTests{
    "numCycle", "ranksPerNode", "rankspernode", "type", "redop", "algbw", "busbw", "busbwfactor"};

// The name here for a column of rccl-tests.
std::string_view own_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNames{
      {{"size", "size_bytes"},
       {"time", kShortMedianColumn},
       {"inplace", "in_place"},
       {"gpusPerRank", kGpusPerRankColumn},
       {"gpusperrank", kGpusPerRankColumn},
       {"#wrong", kWrongColumn}}};
  for (const auto& [rccl, own] : kNames) {
    if (name == rccl) return own;
  }
  return name;
}

// Columns that a file may have besides those that it must have.
std::vector<std::string> optional_columns() {
  std::vector<std::string> names;
  const std::vector<std::string>& required = required_measured_columns();
  for (const std::string& name : known_measured_columns()) {
    const bool optional = name != kShortMedianColumn &&
                          std::find(required.begin(), required.end(), name) == required.end();
    if (optional) names.push_back(name);
  }
  return names;
}

}  // namespace

MeasuredHeader::MeasuredHeader(std::string_view line, const SourceLocation& where) {
  const std::vector<std::string_view> found = split(line, ',');
  const bool of_rccl = std::ranges::find(found, "algbw") != found.end() &&
                       std::ranges::find(found, "size") != found.end();
  for (const std::string_view name : found) {
    names_.emplace_back(of_rccl ? own_name(name) : name);
  }
  const std::string short_name = fmt::format(" (or '{}')", kShortMedianColumn);
  std::vector<std::string> missing;
  for (const std::string& name : required_measured_columns()) {
    const bool short_median = name == kMedianColumn && index(kShortMedianColumn) != kNowhere;
    if (index(name) == kNowhere && !short_median) {
      missing.push_back(quoted(name) + (name == kMedianColumn ? short_name : ""));
    }
  }
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto& known = known_measured_columns();
    if (of_rccl && std::ranges::find(kOfRcclTests, names_[i]) != kOfRcclTests.end()) continue;
    if (std::find(known.begin(), known.end(), names_[i]) == known.end()) {
      unknown.push_back(quoted(names_[i]));
    } else if (std::find(names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(i),
                         names_[i]) != names_.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw UserError(where, fmt::format("column '{}' occurs twice", names_[i]));
    }
  }
  if (missing.empty() && unknown.empty()) {
    if (index(kMedianColumn) == kNowhere || index(kShortMedianColumn) == kNowhere) return;
    throw UserError(where,
                    fmt::format("found the columns '{}' and '{}'; expected one of them, with "
                                "the median time",
                                kMedianColumn, kShortMedianColumn));
  }
  std::string message;
  if (!missing.empty()) message = "without column " + joined_names(missing);
  if (!unknown.empty()) {
    message +=
        (message.empty() ? "unknown column " : ", and with unknown ") + joined_names(unknown);
  }
  throw UserError(where, fmt::format("{}; expected {} or {} (sizes in bytes, times in "
                                     "microseconds) and, if known, others of {}",
                                     message, joined_names(required_measured_columns()),
                                     kShortMedianColumn, joined_names(optional_columns())));
}

std::size_t MeasuredHeader::index(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() ? kNowhere : static_cast<std::size_t>(found - names_.begin());
}

MeasuredLine::MeasuredLine(const MeasuredHeader& header, std::string_view text,
                           const std::string& file, std::size_t number)
    : header_(header), line_(text, file, number) {
  if (line_.size() == header.size()) return;
  line_.fail(0,
             fmt::format("found {} fields; the header line has {}", line_.size(), header.size()));
}

std::string MeasuredLine::text(std::string_view column) const {
  std::string value;
  if (has(column)) line_.read(header_.index(column), column, value);
  return value;
}

double MeasuredLine::positive(std::string_view column, std::string_view unit) const {
  const std::string found = text(column);
  const std::size_t at = header_.index(column);
  double value = 0;
  try {
    line_.read(at, column, value);
  } catch (const UserError&) {
    line_.fail(at, fmt::format("{} is {}; expected a number of {} without a unit", column,
                               quoted(found), unit));
  }
  if (!std::isfinite(value) || value <= 0) {
    line_.fail(at,
               fmt::format("{} is {}; expected a number of {} > 0", column, quoted(found), unit));
  }
  return value;
}

double MeasuredLine::microseconds(std::string_view column) const {
  const double value = positive(column, "microseconds");
  if (value < kLeast_us || value > kMost_us) {
    fail(
        column,
        fmt::format("is {}; expected microseconds, from {} to {:g}; convert it if it is in another "
                    "unit",
                    quoted(text(column)), kLeast_us, kMost_us));
  }
  return value;
}

std::uint64_t MeasuredLine::bytes(std::string_view column) const {
  const std::string found = text(column);
  const std::size_t at = header_.index(column);
  std::uint64_t value = 0;
  try {
    line_.read(at, column, value);
  } catch (const UserError&) {
  }
  if (value == 0) {
    line_.fail(at, fmt::format("{} is {}; expected a whole number of bytes > 0, without a unit",
                               column, quoted(found)));
  }
  return value;
}

int MeasuredLine::count(std::string_view column, int least, int most) const {
  int value = 0;
  line_.read(header_.index(column), column, value);
  if (value >= least && value <= most) return value;
  const bool bounded = most < std::numeric_limits<int>::max();
  fail(column, fmt::format("is {}; expected >= {}{}", value, least,
                           bounded ? fmt::format(", <= {}", most) : ""));
}

std::string_view MeasuredLine::median_column() const {
  return has(kMedianColumn) ? kMedianColumn : kShortMedianColumn;
}

void MeasuredLine::fail(std::string_view column, const std::string& message) const {
  refuse(column, fmt::format("{} {}", column, message));
}

void MeasuredLine::refuse(std::string_view column, const std::string& message) const {
  line_.fail(header_.index(column), message);
}

}  // namespace cclgym
