#include "core/options/option.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "core/names.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

// `found` is the value as text. The bounds are compared as doubles, which is exact for all bounds
// in use.
void check_range(double value, const OptionSpec& spec, std::string_view found,
                 const SourceLocation& where) {
  const bool low = spec.min && (spec.exclusive_min ? !(value > *spec.min) : !(value >= *spec.min));
  const bool high = spec.max && !(value <= *spec.max);
  if (low || high) {
    throw UserError(where, spec.name + " is " + quoted(found) + "; expected " + range_text(spec));
  }
}

void check_multiple(std::int64_t value, const OptionSpec& spec, const SourceLocation& where) {
  if (value % spec.multiple_of == 0) return;
  throw UserError(where, fmt::format("{} is '{}'; expected a multiple of {}", spec.name, value,
                                     spec.multiple_of));
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

constexpr std::size_t kMostRangeValues = 10'000;

// Parts of "A..B xF", "A..B +S" or "A..B"; nullopt if there is no "..".
struct RangeText {
  std::string_view first;
  std::string_view last;
  char step_kind = 0;  // 'x', '+' or 0
  std::string_view step;
};

std::optional<RangeText> split_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  RangeText range;
  range.first = trim(text.substr(0, dots));
  const std::string_view rest = text.substr(dots + 2);
  const std::size_t mark = rest.find_first_of("x*+", 1);
  range.last = trim(rest.substr(0, mark));
  if (mark != std::string_view::npos) {
    range.step_kind = rest[mark] == '*' ? 'x' : rest[mark];
    range.step = trim(rest.substr(mark + 1));
  }
  return range;
}

template <typename Value, typename Read, typename Step>
std::vector<Value> expand_range(std::string_view text, const RangeText& range, Read read,
                                Step read_step, const OptionSpec& spec,
                                const SourceLocation& where) {
  const auto refuse = [&](const std::string& why) {
    throw UserError(where, spec.name + " is the range " + quoted(text) + why);
  };
  const Value first = read(range.first);
  const Value last = read(range.last);
  if (first > last) refuse(", which ends before it starts");
  Value step = 1;
  if (range.step_kind == 'x') {
    const std::int64_t factor = parse_integer(range.step, "factor of " + spec.name, where);
    if (factor < 2) refuse("; expected a factor of at least 2");
    if (first <= 0) refuse("; expected a start above 0, because it is multiplied");
    step = static_cast<Value>(factor);
  } else if (range.step_kind == '+') {
    step = read_step(range.step);
    if (step <= 0) refuse("; expected a step above 0");
  }
  std::vector<Value> values;
  for (Value value = first; value <= last;) {
    if (values.size() == kMostRangeValues) {
      refuse(fmt::format(" of more than {0} values; expected at most {0} in each range of a list",
                         kMostRangeValues));
    }
    values.push_back(value);
    const bool overflow = range.step_kind == 'x' ? __builtin_mul_overflow(value, step, &value)
                                                 : __builtin_add_overflow(value, step, &value);
    if (overflow) break;
  }
  return values;
}

}  // namespace

bool is_called(const OptionSpec& spec, std::string_view key) {
  return spec.name == key ||
         std::find(spec.aliases.begin(), spec.aliases.end(), key) != spec.aliases.end();
}

const OptionSpec* try_find_option(const std::vector<OptionSpec>& specs, std::string_view key) {
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&](const OptionSpec& spec) { return is_called(spec, key); });
  return found == specs.end() ? nullptr : &*found;
}

const OptionSpec& find_option(const std::vector<OptionSpec>& specs, std::string_view key) {
  const OptionSpec* found = try_find_option(specs, key);
  if (found == nullptr) throw std::logic_error(fmt::format("no option record '{}'", key));
  return *found;
}

bool read_flag(std::string_view text, const OptionSpec& spec, const SourceLocation& where) {
  return parse_flag(text, spec.name, where);
}

std::int64_t read_integer(std::string_view text, const OptionSpec& spec,
                          const SourceLocation& where) {
  const std::int64_t value = parse_integer(text, spec.name, where);
  check_range(static_cast<double>(value), spec, trim(text), where);
  check_multiple(value, spec, where);
  return value;
}

double read_real(std::string_view text, const OptionSpec& spec, const SourceLocation& where) {
  const double value = parse_real(text, spec.name, where);
  check_range(value, spec, trim(text), where);
  return value;
}

std::uint64_t read_bytes(std::string_view text, const OptionSpec& spec,
                         const SourceLocation& where) {
  const std::uint64_t value = parse_bytes(text, spec.name, where);
  check_range(static_cast<double>(value), spec, trim(text), where);
  return value;
}

double read_time_s(std::string_view text, const OptionSpec& spec, const SourceLocation& where) {
  const double value = parse_time_s(text, spec.name, where);
  check_range(value, spec, trim(text), where);
  return value;
}

double read_rate_Bps(std::string_view text, const OptionSpec& spec, const SourceLocation& where) {
  const double value = parse_rate_Bps(text, spec.name, where);
  check_range(value, spec, trim(text), where);
  return value;
}

std::string read_text(std::string_view text, const OptionSpec& spec, const SourceLocation& where) {
  if (text.empty()) throw UserError(where, spec.name + " is empty; expected " + type_text(spec));
  return std::string(text);
}

std::size_t read_choice(std::string_view text, const OptionSpec& spec,
                        const SourceLocation& where) {
  auto found = std::find(spec.choices.begin(), spec.choices.end(), text);
  if (found == spec.choices.end()) {
    found = std::ranges::find(spec.choices, plain_name(text), &plain_name);
  }
  if (found == spec.choices.end()) {
    // One of a list that is named in the plural: "unknown collective", not "unknown collectives".
    std::string_view noun = spec.name;
    if (spec.shape != OptionShape::One && noun.ends_with('s')) noun.remove_suffix(1);
    throw UserError(where, unknown_name_message(noun, text, spec.choices));
  }
  return static_cast<std::size_t>(found - spec.choices.begin());
}

OptionValue read_option(std::string_view text, const OptionSpec& spec,
                        const SourceLocation& where) {
  switch (spec.kind) {
    case OptionKind::Flag:
      return read_flag(text, spec, where);
    case OptionKind::Integer:
      return read_integer(text, spec, where);
    case OptionKind::Real:
      return read_real(text, spec, where);
    case OptionKind::Bytes:
      return read_bytes(text, spec, where);
    case OptionKind::Time:
      return read_time_s(text, spec, where);
    case OptionKind::Rate:
      return read_rate_Bps(text, spec, where);
    case OptionKind::Text:
      return read_text(text, spec, where);
    case OptionKind::Choice:
      return std::uint64_t{read_choice(text, spec, where)};
    case OptionKind::Mapping:
      break;
  }
  throw std::logic_error("a mapping is not one value: " + spec.name);
}

void check_option(const OptionValue& value, const OptionSpec& spec, const SourceLocation& where) {
  if (spec.kind == OptionKind::Text || spec.kind == OptionKind::Choice) {
    static_cast<void>(read_option(option_text(value, spec), spec, where));
    return;
  }
  check_range(option_number(value), spec, option_text(value, spec), where);
  if (spec.kind == OptionKind::Integer) check_multiple(std::get<std::int64_t>(value), spec, where);
}

double option_number(const OptionValue& value) {
  return std::visit(
      [](const auto& one) -> double {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::string>) {
          throw std::logic_error("a text is not a number: " + one);
        } else {
          return static_cast<double>(one);
        }
      },
      value);
}

std::vector<std::uint64_t> read_bytes_range(std::string_view text, const OptionSpec& spec,
                                            const SourceLocation& where) {
  const std::optional<RangeText> range = split_range(text);
  if (!range) return {read_bytes(text, spec, where)};
  if (range->step_kind == 0) {
    throw UserError(where, spec.name + " is the range " + quoted(text) +
                               " without a step; expected e.g. '1KiB..1GiB x2'");
  }
  return expand_range<std::uint64_t>(
      text, *range, [&](std::string_view part) { return read_bytes(part, spec, where); },
      [&](std::string_view part) { return parse_bytes(part, "step of " + spec.name, where); }, spec,
      where);
}

std::vector<std::int64_t> read_integer_range(std::string_view text, const OptionSpec& spec,
                                             const SourceLocation& where) {
  const std::optional<RangeText> range = split_range(text);
  if (!range) return {read_integer(text, spec, where)};
  return expand_range<std::int64_t>(
      text, *range, [&](std::string_view part) { return read_integer(part, spec, where); },
      [&](std::string_view part) { return parse_integer(part, "step of " + spec.name, where); },
      spec, where);
}

}  // namespace cclgym
