#include "cli/output/json_output.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/support/print.hpp"
#include "core/split.hpp"

namespace cclgym {

namespace {

template <class Number>
bool is_whole_text(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

nlohmann::ordered_json field_json(std::string_view field, bool is_text) {
  if (field.empty()) return nullptr;
  std::int64_t whole = 0;
  if (!is_text && is_whole_text(field, whole)) return whole;
  double real = 0;
  if (!is_text && is_whole_text(field, real) && std::isfinite(real)) return real;
  return std::string(field);
}

}  // namespace

void add_json_option(ArgumentReader& reader) { reader.flag("json", "print JSON instead of text"); }

bool wants_json(const Arguments& arguments) { return arguments.has("json"); }

void print_json(const nlohmann::ordered_json& value) {
  // Names may come from paths, which need not be UTF-8.
  print_out("{}\n", value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

nlohmann::ordered_json json_rows(std::string_view csv, const std::vector<std::string_view>& texts) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::vector<std::string_view> names;
  for (const std::string_view line : split(csv, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string_view> fields = split(line, ',');
    if (names.empty()) {
      names = fields;
      continue;
    }
    nlohmann::ordered_json row = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < fields.size() && i < names.size(); ++i) {
      row[std::string(names[i])] =
          field_json(fields[i], std::ranges::find(texts, names[i]) != texts.end());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace cclgym
