// The rows of a report as compact JSON.
#include <concepts>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "experiments/report/report_data.hpp"
#include "experiments/run/results_columns.hpp"

namespace cclgym {

namespace {

using Json = nlohmann::ordered_json;

Json exact(const std::string& value) { return value; }
// NaN and infinities become null in nlohmann's dump.
Json exact(double value) { return value; }
template <std::integral Number>
Json exact(Number value) {
  constexpr auto kLargestExact = std::uint64_t{1} << 53U;
  auto magnitude = static_cast<std::uint64_t>(value);
  if constexpr (std::is_signed_v<Number>) {
    if (value < 0) magnitude = 0 - magnitude;
  }
  if (magnitude > kLargestExact) return std::to_string(value);
  return value;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

// The shortest form of a column that does not equal an earlier one.
Json column_json(const std::vector<Json>& values, const std::vector<std::string>& texts) {
  std::map<std::string, std::size_t> places;
  Json list = Json::array();
  Json at = Json::array();
  Json runs = Json::array();
  std::size_t length = 0;
  const std::string* last = nullptr;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [place, added] = places.emplace(texts[i], places.size());
    if (added) list.push_back(values[i]);
    at.push_back(place->second);
    if (last != nullptr && *last == texts[i]) {
      runs.back() = ++length;
    } else {
      length = 1;
      runs.push_back(values[i]);
      runs.push_back(length);
    }
    last = &texts[i];
  }
  if (list.size() == 1) return {{"is", list[0]}};
  const Json forms[] = {{{"runs", std::move(runs)}},
                        {{"list", std::move(list)}, {"at", std::move(at)}},
                        {{"values", values}}};
  const Json* shortest = nullptr;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const Json& form : forms) {
    const std::size_t size = text_of(form).size();
    if (size < least) {
      least = size;
      shortest = &form;
    }
  }
  return *shortest;
}

}  // namespace

Json exact_json(std::int64_t value) { return exact(value); }
Json exact_json(std::uint64_t value) { return exact(value); }

Json table_json(std::span<const ResultRow> rows) {
  Json columns = Json::object();
  std::map<std::vector<std::string>, std::string> earlier;
  for (const CsvColumn<ResultRow>& column : kResultColumns) {
    const std::string name(column.name);
    if (name == "cell_key" || rows.empty()) continue;
    std::vector<Json> values;
    std::vector<std::string> texts;
    for (const ResultRow& row : rows) {
      values.push_back(std::visit([&](auto member) { return exact(row.*member); }, column.member));
      texts.push_back(text_of(values.back()));
    }
    const auto [same, added] = earlier.emplace(texts, name);
    columns[name] = added ? column_json(values, texts) : Json{{"of", same->second}};
  }
  return {{"count", rows.size()}, {"columns", std::move(columns)}};
}

}  // namespace cclgym
