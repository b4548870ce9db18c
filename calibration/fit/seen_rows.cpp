#include "calibration/fit/seen_rows.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace cclgym {

namespace {

void check_collectives(const std::vector<FittedRows>& list) {
  for (const FittedRows& rows : list) {
    for (const std::string& name : rows.collectives) {
      const std::vector<std::string>& names = collective_names();
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      throw UserError(rows.where, unknown_name_message("collective", name, names));
    }
  }
}

}  // namespace

std::string_view to_string(Seen seen) {
  switch (seen) {
    case Seen::Fitted:
      return "fitted";
    case Seen::HeldOut:
      return "held out";
    case Seen::NotSaid:
      return "not said";
  }
  return "?";
}

Seen seen_by(const ParameterSet& set, const MeasuredCell& cell) {
  if (!set.fitted_to) return Seen::NotSaid;
  check_collectives(*set.fitted_to);
  const std::set<std::string> configs =
      cell.configs.empty() ? std::set<std::string>{""} : cell.configs;
  for (const FittedRows& rows : *set.fitted_to) {
    for (const std::string& config : configs) {
      if (rows.hold(cell.system, cell.ranks, to_string(cell.collective), cell.bytes, config)) {
        return Seen::Fitted;
      }
    }
  }
  return Seen::HeldOut;
}

std::vector<FittedRows> fitted_rows_of(std::span<const MeasuredCell* const> cells,
                                       const std::vector<FittedRows>& before) {
  using Sizes = std::set<std::uint64_t>;
  using Names = std::set<std::string>;
  std::map<std::tuple<std::string, int, std::string>, std::pair<Sizes, Names>> calls;
  for (const MeasuredCell* cell : cells) {
    auto& [sizes, configs] =
        calls[{cell->system, cell->ranks, std::string(to_string(cell->collective))}];
    sizes.insert(cell->bytes);
    configs.insert(cell->configs.begin(), cell->configs.end());
  }
  // Joins numbers of ranks with equal sizes, then collectives with equal ranks and sizes.
  std::map<std::tuple<std::string, std::string, Sizes, Names>, std::set<int>> ranks_of;
  for (const auto& [key, value] : calls) {
    const auto& [system, ranks, collective] = key;
    ranks_of[{system, collective, value.first, value.second}].insert(ranks);
  }
  std::map<std::tuple<std::string, std::set<int>, Sizes, Names>, Names> collectives_of;
  for (const auto& [key, ranks] : ranks_of) {
    const auto& [system, collective, sizes, configs] = key;
    collectives_of[{system, ranks, sizes, configs}].insert(collective);
  }
  std::vector<FittedRows> list;
  for (const auto& [key, collectives] : collectives_of) {
    const auto& [system, ranks, sizes, configs] = key;
    FittedRows rows{.system = system, .ranks = ranks, .collectives = collectives, .sizes = sizes};
    // Rows without a config match every config.
    if (!configs.contains("")) rows.configs = configs;
    list.push_back(std::move(rows));
  }
  for (const FittedRows& rows : before) {
    if (std::none_of(list.begin(), list.end(),
                     [&](const FittedRows& each) { return each.same_rows(rows); })) {
      list.push_back(rows);
    }
  }
  return list;
}

}  // namespace cclgym
