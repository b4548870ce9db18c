#include "cost_models/parameters/value_source.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

#include "core/units.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kFitted = "fitted to ";
constexpr std::string_view kTakenOver = "taken over from ";
constexpr std::string_view kSet = "set ";
constexpr std::string_view kMeasured = "measured: ";
constexpr std::string_view kSetByHand = "set by hand: ";
constexpr std::string_view kInterval = "95 %: ";
constexpr std::string_view kNoInterval = "no interval";
constexpr std::string_view kNotDetermined = ", not determined";
constexpr double kDecade = 10;

// Rest of the text after `begin`; nullopt if the text does not begin with it or has no rest.
std::optional<std::string_view> behind(std::string_view text, std::string_view begin) {
  if (!text.starts_with(begin) || text.size() == begin.size()) return std::nullopt;
  return text.substr(begin.size());
}

[[noreturn]] void fail(std::string_view text, std::string_view expected,
                       const SourceLocation& where) {
  throw UserError(where, fmt::format("source: found {}; expected {}", quoted(text, 100), expected));
}

double quantity(std::string_view text) {
  if (text.ends_with("B/s")) return parse_rate_Bps(text);
  if (text.ends_with("s")) return parse_time_s(text);
  return parse_real(text);
}

// Reads "95 %: LOW to HIGH[, not determined]"; true if the interval determines the value.
bool read_interval(std::string_view text, const SourceLocation& where) {
  constexpr std::string_view kExpected = "'95 %: LOW to HIGH', or 'no interval'";
  const auto interval = behind(text, kInterval);
  if (!interval) fail(text, kExpected, where);
  std::string_view ends = *interval;
  const bool undetermined = ends.ends_with(kNotDetermined);
  if (undetermined) ends.remove_suffix(kNotDetermined.size());
  constexpr std::string_view kTo = " to ";
  const std::size_t middle = ends.find(kTo);
  if (middle == std::string_view::npos) fail(text, kExpected, where);
  double least = 0;
  double most = 0;
  try {
    least = quantity(ends.substr(0, middle));
    most = quantity(ends.substr(middle + kTo.size()));
  } catch (const UserError& error) {
    fail(text, fmt::format("{} ({})", kExpected, error.what()), where);
  }
  if (!(least > 0) || most < least) fail(text, kExpected, where);
  const bool determined = is_determined(least, most);
  if (determined && undetermined) {
    fail(text, "no 'not determined': the interval's ends differ by less than 10 times", where);
  }
  if (!determined && !undetermined) {
    fail(text, "', not determined' behind it: the interval's ends differ by 10 times or more",
         where);
  }
  return determined;
}

}  // namespace

ValueSource read_source(std::string_view text, const SourceLocation& where) {
  if (const auto fitted = behind(text, kFitted)) {
    const std::size_t end = fitted->find("; ");
    if (end == std::string_view::npos || end == 0) {
      fail(text, "'fitted to ROWS; 95 %: LOW to HIGH', or 'fitted to ROWS; no interval'", where);
    }
    std::string_view interval = fitted->substr(end + 2);
    interval = interval.substr(0, interval.find("; "));
    if (interval == kNoInterval) return {.kind = SourceKind::Fitted};
    return {.kind = SourceKind::Fitted, .determined = read_interval(interval, where)};
  }
  if (const auto taken = behind(text, kTakenOver)) {
    constexpr std::string_view kColon = ": ";
    const std::size_t end = taken->find(kColon);
    const std::string_view from = taken->substr(0, end);
    if (end == std::string_view::npos || end == 0 || end + kColon.size() == taken->size()) {
      fail(text, "'taken over from set NAME: SOURCE THERE', or 'taken over from WHAT: …'", where);
    }
    const std::string_view there = taken->substr(end + kColon.size());
    const auto set = behind(from, kSet);
    if (!set) return {.kind = SourceKind::TakenOver};
    static_cast<void>(read_source(there, where));
    return {.kind = SourceKind::TakenOver, .set = std::string(*set), .there = std::string(there)};
  }
  if (behind(text, kMeasured)) return {.kind = SourceKind::Measured};
  if (behind(text, kSetByHand)) return {.kind = SourceKind::SetByHand};
  fail(text, "one that begins with 'fitted to', 'taken over from', 'measured: ' or 'set by hand: '",
       where);
}

bool is_determined(double least, double most) { return most < kDecade * least; }

std::string interval_source(const CostParameter& parameter, double least, double most) {
  const std::string low = parameter_text(parameter, least);
  const std::string high = parameter_text(parameter, most);
  // Uses the ends as written, so that a reader of the text comes to the same conclusion.
  return fmt::format("{} to {}{}", low, high,
                     is_determined(quantity(low), quantity(high)) ? "" : kNotDetermined);
}

std::string fitted_source(const CostParameter& parameter, std::string_view rows, double least,
                          double most, std::string_view more) {
  std::string which(rows);
  std::replace(which.begin(), which.end(), ';', ',');
  return fmt::format("{}{}; {}{}{}{}", kFitted, which, kInterval,
                     interval_source(parameter, least, most), more.empty() ? "" : "; ", more);
}

std::string taken_over_source(std::string_view set, std::string_view there) {
  return fmt::format("{}{}{}: {}", kTakenOver, kSet, set, there);
}

}  // namespace cclgym
