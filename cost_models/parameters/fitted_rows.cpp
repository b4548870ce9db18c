#include "cost_models/parameters/fitted_rows.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include "core/units.hpp"
#include "core/yaml/yaml_scalar.hpp"

namespace cclgym {

namespace {

const OptionSpec& spec_of(std::string_view name) {
  return find_option(fitted_rows_options(), name);
}

template <class Value, class Asked>
bool lets(const std::set<Value>& values, const Asked& asked) {
  return values.empty() || values.contains(Value(asked));
}

template <class Value>
std::set<Value> set_of(const std::vector<Value>& values) {
  return {values.begin(), values.end()};
}

// "64B..4MiB x4" if the sizes have a constant ratio, else all of them.
std::string sizes_text(const std::set<std::uint64_t>& sizes) {
  const std::vector<std::uint64_t> each(sizes.begin(), sizes.end());
  if (each.size() > 2 && each[1] % each[0] == 0) {
    const std::uint64_t factor = each[1] / each[0];
    bool even = true;
    for (std::size_t i = 1; i < each.size(); ++i) even = even && each[i] == factor * each[i - 1];
    if (even) {
      return fmt::format("{}..{} x{}", format_bytes(each.front()), format_bytes(each.back()),
                         factor);
    }
  }
  std::vector<std::string> texts;
  for (const std::uint64_t size : each) texts.push_back(format_bytes(size));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string names_text(const std::set<std::string>& names) {
  std::vector<std::string> texts;
  for (const std::string& name : names) texts.push_back(yaml_scalar(name));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

}  // namespace

bool FittedRows::hold(std::string_view row_system, int row_ranks, std::string_view row_collective,
                      std::uint64_t row_bytes, std::string_view row_config) const {
  return system == row_system && lets(ranks, row_ranks) && lets(collectives, row_collective) &&
         lets(sizes, row_bytes) && (row_config.empty() || lets(configs, row_config));
}

bool FittedRows::same_rows(const FittedRows& other) const {
  return system == other.system && ranks == other.ranks && collectives == other.collectives &&
         sizes == other.sizes && configs == other.configs;
}

const std::vector<OptionSpec>& fitted_rows_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "system", .description = "value of the rows in the column system", .required = true},
      {.name = "ranks",
       .kind = OptionKind::Integer,
       .shape = OptionShape::OneOrList,
       .description = "numbers of ranks; not given: all",
       .min = 2,
       .max = 1'000'000},
      {.name = "collectives",
       .shape = OptionShape::OneOrList,
       .description = "collectives, e.g. allreduce; not given: all"},
      {.name = "sizes",
       .kind = OptionKind::Bytes,
       .shape = OptionShape::OneOrList,
       .description = "sizes of the calls, e.g. 4B..32MiB x2; not given: all",
       .min = 1},
      {.name = "configs",
       .shape = OptionShape::OneOrList,
       .description = "values of the rows in the column config; not given: all"},
  };
  return specs;
}

std::vector<FittedRows> read_fitted_rows(const YamlValue& list) {
  std::vector<FittedRows> all;
  for (const YamlValue& item : list.items()) {
    check_keys(item, fitted_rows_options(), "rows of fitted_to");
    FittedRows rows{.system = read_text(*item.find("system"), spec_of("system")),
                    .where = item.location()};
    if (const YamlValue* ranks = item.find("ranks")) {
      for (const std::int64_t each : read_integers(*ranks, spec_of("ranks"))) {
        rows.ranks.insert(static_cast<int>(each));
      }
    }
    if (const YamlValue* names = item.find("collectives")) {
      rows.collectives = set_of(read_texts(*names, spec_of("collectives")));
    }
    if (const YamlValue* sizes = item.find("sizes")) {
      rows.sizes = set_of(read_byte_sizes(*sizes, spec_of("sizes")));
    }
    if (const YamlValue* names = item.find("configs")) {
      rows.configs = set_of(read_texts(*names, spec_of("configs")));
    }
    all.push_back(std::move(rows));
  }
  return all;
}

std::string fitted_rows_yaml(const std::vector<FittedRows>& list) {
  if (list.empty()) return "fitted_to: []\n";
  std::string text = "fitted_to:\n";
  for (const FittedRows& rows : list) {
    text += fmt::format("  - system: {}\n", yaml_scalar(rows.system));
    if (!rows.ranks.empty()) text += fmt::format("    ranks: [{}]\n", fmt::join(rows.ranks, ", "));
    if (!rows.collectives.empty()) {
      text += fmt::format("    collectives: [{}]\n", fmt::join(rows.collectives, ", "));
    }
    if (!rows.sizes.empty()) text += fmt::format("    sizes: {}\n", sizes_text(rows.sizes));
    if (!rows.configs.empty()) text += fmt::format("    configs: {}\n", names_text(rows.configs));
  }
  return text;
}

}  // namespace cclgym
