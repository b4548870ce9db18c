// Option records as words: messages, command line help, reference pages.
#include <array>
#include <fmt/format.h>
#include <stdexcept>

#include "core/options/option.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

struct KindWords {
  std::string_view one;
  std::string_view many;
  std::string_view unit;
};

KindWords words(OptionKind kind) {
  switch (kind) {
    case OptionKind::Flag:
      return {"true or false", "true or false", ""};
    case OptionKind::Integer:
      return {"whole number", "whole numbers", ""};
    case OptionKind::Real:
      return {"number", "numbers", ""};
    case OptionKind::Bytes:
      return {"size", "sizes", "B, KB, KiB, …"};
    case OptionKind::Time:
      return {"time", "times", "ns, us, ms, s"};
    case OptionKind::Rate:
      return {"rate", "rates", "B/s, GB/s, GiB/s, Gb/s, …"};
    case OptionKind::Text:
      return {"text", "texts", ""};
    case OptionKind::Choice:
      return {"name", "names", ""};
    case OptionKind::Mapping:
      return {"mapping", "mappings", ""};
  }
  return {};
}

// A bound in the unit in which it is shortest.
std::string bound_text(double value, const OptionSpec& spec) {
  switch (spec.kind) {
    case OptionKind::Bytes:
      return format_bytes(static_cast<std::uint64_t>(value));
    case OptionKind::Time: {
      constexpr std::array<std::pair<double, std::string_view>, 4> kUnits{
          {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
      for (const auto& [size, name] : kUnits) {
        if (value >= size) return fmt::format("{:.6g} {}", value / size, name);
      }
      return fmt::format("{:.6g} s", value);
    }
    case OptionKind::Rate:
      return value == 0 ? "0 B/s" : format_rate(value);
    default:
      return fmt::format("{:.15g}", value);
  }
}

// Older names of a key, as in "; also `servers`".
std::string aliases_text(const OptionSpec& spec) {
  std::string text;
  for (const std::string& alias : spec.aliases) {
    text += (text.empty() ? "; also `" : ", `") + alias + "`";
  }
  return text;
}

// Text of a table cell: a bar would start the next cell, and a line break the next row.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

}  // namespace

std::string type_text(const OptionSpec& spec) {
  const KindWords kind = words(spec.kind);
  switch (spec.shape) {
    case OptionShape::One:
      return std::string(kind.one);
    case OptionShape::List:
      return "list of " + std::string(kind.many);
    case OptionShape::OneOrList:
      return std::string(kind.one) + " or list of " + std::string(kind.many);
  }
  return {};
}

std::string range_text(const OptionSpec& spec) {
  if (spec.kind == OptionKind::Choice) {
    std::string text = "one of ";
    for (std::size_t i = 0; i < spec.choices.size(); ++i) {
      text += (i == 0 ? "" : ", ") + spec.choices[i];
    }
    return text;
  }
  std::string text;
  if (spec.min) text = (spec.exclusive_min ? "> " : ">= ") + bound_text(*spec.min, spec);
  if (spec.max) text += (text.empty() ? "<= " : ", <= ") + bound_text(*spec.max, spec);
  if (spec.multiple_of != 1) {
    text += (text.empty() ? "" : ", ") + ("a multiple of " + std::to_string(spec.multiple_of));
  }
  return text;
}

std::string option_text(const OptionValue& value, const OptionSpec& spec) {
  switch (spec.kind) {
    case OptionKind::Flag:
      return std::get<bool>(value) ? "true" : "false";
    case OptionKind::Integer:
      return std::to_string(std::get<std::int64_t>(value));
    case OptionKind::Bytes:
      return format_bytes(std::get<std::uint64_t>(value));
    case OptionKind::Choice:
      return spec.choices.at(std::get<std::uint64_t>(value));
    case OptionKind::Text:
      return std::get<std::string>(value);
    case OptionKind::Real:
      return format_double(std::get<double>(value));
    case OptionKind::Time:
      return format_double(std::get<double>(value)) + " s";
    case OptionKind::Rate:
      return format_double(std::get<double>(value)) + " B/s";
    case OptionKind::Mapping:
      break;
  }
  throw std::logic_error("a mapping is not one value: " + spec.name);
}

std::string help_text(const OptionSpec& spec) {
  std::string text = spec.description;
  if (const std::string range = range_text(spec); !range.empty()) text += " (" + range + ")";
  if (!spec.default_text.empty()) text += " [default: " + spec.default_text + "]";
  return text;
}

std::string markdown_table(const std::vector<OptionSpec>& specs) {
  std::string table =
      "| key | type | unit | default | range | description |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  for (const OptionSpec& spec : specs) {
    const std::string unit = spec.unit.empty() ? std::string(words(spec.kind).unit) : spec.unit;
    std::string fallback = spec.required ? "*required*" : "";
    if (!spec.default_text.empty()) fallback = "`" + cell(spec.default_text) + "`";
    table += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", cell(spec.name), type_text(spec),
                         cell(unit), fallback, cell(range_text(spec)),
                         cell(spec.description + aliases_text(spec)));
  }
  return table;
}

}  // namespace cclgym
