#include "core/files/csv.hpp"

#include <algorithm>
#include <charconv>

#include "core/split.hpp"

namespace cclgym {

namespace {

// True for characters that would need quotes or that terminals do not print.
bool needs_quotes(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c == ',' || c == '"' || byte < 0x20 || byte == 0x7F;
}

template <class Number>
Number parse_number(const CsvLine& line, std::size_t index, std::string_view column,
                    std::string_view text, std::string_view expected) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    const bool range = error == std::errc::result_out_of_range;
    line.fail(index, std::string(column) + " is " + quoted(text) + "; expected " +
                         std::string(expected) + (range ? " that fits 64 bits" : ""));
  }
  return value;
}

std::string list(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + quoted(name);
  return text;
}

}  // namespace

CsvLine::CsvLine(std::string_view text, std::string file, std::size_t number)
    : file_(std::move(file)), number_(number), text_(text), fields_(split(text, ',')) {}

void CsvLine::fail(std::size_t index, const std::string& message) const {
  const char* place = index < fields_.size() ? fields_[index].data() : text_.data() + text_.size();
  throw UserError({file_, number_, static_cast<std::size_t>(place - text_.data()) + 1}, message);
}

void CsvLine::read(std::size_t index, std::string_view column, std::string& value) const {
  const std::string_view text = fields_[index];
  if (std::any_of(text.begin(), text.end(), needs_quotes)) {
    fail(index, std::string(column) + " is " + quoted(text) +
                    "; expected plain text without quotes or control characters");
  }
  value = text;
}

void CsvLine::read(std::size_t index, std::string_view column, int& value) const {
  value = parse_number<int>(*this, index, column, fields_[index], "a whole number");
}

void CsvLine::read(std::size_t index, std::string_view column, std::uint64_t& value) const {
  value = parse_number<std::uint64_t>(*this, index, column, fields_[index],
                                      "a whole number that is not negative");
}

void CsvLine::read(std::size_t index, std::string_view column, std::int64_t& value) const {
  value = parse_number<std::int64_t>(*this, index, column, fields_[index], "a whole number");
}

void CsvLine::read(std::size_t index, std::string_view column, double& value) const {
  value = parse_number<double>(*this, index, column, fields_[index], "a number");
}

void check_csv_header(std::string_view found, const std::vector<std::string_view>& names,
                      const SourceLocation& where) {
  const std::vector<std::string_view> fields = split(found, ',');
  if (fields == names) return;
  std::vector<std::string_view> missing;
  std::vector<std::string_view> unknown;
  const auto without = [](const std::vector<std::string_view>& from,
                          const std::vector<std::string_view>& other,
                          std::vector<std::string_view>& into) {
    for (const std::string_view name : from) {
      if (std::find(other.begin(), other.end(), name) == other.end()) into.push_back(name);
    }
  };
  without(names, fields, missing);
  without(fields, names, unknown);
  std::string expected;
  for (const std::string_view name : names) {
    expected += expected.empty() ? "" : ",";
    expected += name;
  }
  std::string message = "not the expected header line: ";
  if (unknown == fields) {
    message += "found " + quoted(found);
  } else {
    if (!missing.empty()) message += "without " + list(missing);
    if (!unknown.empty()) {
      message += (missing.empty() ? "with unknown " : ", and with unknown ") + list(unknown);
    }
    if (missing.empty() && unknown.empty()) message += "columns in another order or twice";
  }
  throw UserError(where, message + "; expected '" + expected + "'");
}

std::string csv_field(std::string_view column, const std::string& value) {
  if (std::any_of(value.begin(), value.end(), needs_quotes)) {
    throw UserError(std::string(column) + " " + quoted(value) +
                    " cannot be written to CSV; expected a name without commas, quotes and "
                    "control characters");
  }
  return value;
}

}  // namespace cclgym
