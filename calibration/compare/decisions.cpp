#include "calibration/compare/decisions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <tuple>

#include "core/counted.hpp"
#include "core/files/csv.hpp"
#include "core/text_columns.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

// Ranks from 1 on; equal values share their mean rank.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double shared = 1 + (static_cast<double>(first) + static_cast<double>(end) - 1) / 2;
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = shared;
    first = end;
  }
  return ranks;
}

// Pearson's correlation; 0 if one list is constant.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto count = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / count;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / count;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

std::string run_name(const Compared& each) {
  const Config& config = each.prediction.config;
  std::string name = fmt::format("{} {}", config.algorithm, to_string(config.protocol));
  // Rows that state their channels may differ in nothing else.
  if (each.cell.named) name += fmt::format(" {} ch", config.channels * config.instances);
  return name;
}

std::string label_of(const DecisionGroup& group) {
  return fmt::format("{}, {} ranks on {}, {}, {}", group.system, group.ranks,
                     counted(group.nodes, "node"), to_string(group.collective),
                     format_bytes(group.bytes));
}

// Microseconds without the digits that the division by a million added.
double microseconds(double seconds) { return std::stod(fmt::format("{:.12g}", seconds * 1e6)); }

std::string ratio(std::optional<double> value) {
  return value ? fmt::format("{:.3f}", *value) : "-";
}

struct DecisionRow {
  std::string system;
  int ranks = 0;
  int nodes = 0;
  std::string collective;
  std::uint64_t size_bytes = 0;
  std::string seen{};
  std::string run{};
  double measured_us = 0;
  double simulated_us = 0;
  double over_best = 0;
  int chosen = 0;
};

constexpr std::array<CsvColumn<DecisionRow>, 11> kDecisionColumns{{
    {"system", &DecisionRow::system},
    {"ranks", &DecisionRow::ranks},
    {"nodes", &DecisionRow::nodes},
    {"collective", &DecisionRow::collective},
    {"size_bytes", &DecisionRow::size_bytes},
    {"seen", &DecisionRow::seen},
    {"run", &DecisionRow::run},
    {"measured_us", &DecisionRow::measured_us},
    {"simulated_us", &DecisionRow::simulated_us},
    {"over_best", &DecisionRow::over_best},
    {"chosen", &DecisionRow::chosen},
}};

// Geometric mean of the values that exist; nullopt if none does.
template <class Value>
std::optional<double> geometric_mean(std::span<const DecisionGroup* const> groups,
                                     const Value& value) {
  double sum = 0;
  int count = 0;
  for (const DecisionGroup* group : groups) {
    const std::optional<double> own = value(*group);
    if (!own) continue;
    sum += std::log(*own);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return std::exp(sum / count);
}

}  // namespace

const ForcedRun& DecisionGroup::chosen() const {
  return *std::min_element(runs.begin(), runs.end(), [](const ForcedRun& a, const ForcedRun& b) {
    return std::tie(a.simulated_s, a.name) < std::tie(b.simulated_s, b.name);
  });
}

double DecisionGroup::regret() const { return chosen().measured_s / runs.front().measured_s; }

std::optional<double> DecisionGroup::own_regret() const {
  if (!own_s) return std::nullopt;
  return *own_s / runs.front().measured_s;
}

std::optional<double> DecisionGroup::ring_simple_regret() const {
  for (const ForcedRun& run : runs) {
    if (run.ring_simple) return run.measured_s / runs.front().measured_s;
  }
  return std::nullopt;
}

double DecisionGroup::chance_regret() const {
  double sum = 0;
  for (const ForcedRun& run : runs) sum += std::log(run.measured_s / runs.front().measured_s);
  return std::exp(sum / static_cast<double>(runs.size()));
}

double DecisionGroup::rank_correlation() const {
  std::vector<double> measured;
  std::vector<double> simulated;
  for (const ForcedRun& run : runs) {
    measured.push_back(run.measured_s);
    simulated.push_back(run.simulated_s);
  }
  return correlation(ranks_of(measured), ranks_of(simulated));
}

std::vector<DecisionGroup> decision_groups(std::span<const Compared> cells) {
  using Key = std::tuple<std::string, int, int, CollectiveKind, std::uint64_t>;
  std::map<Key, std::size_t> index;
  std::vector<DecisionGroup> groups;
  for (const Compared& each : cells) {
    const MeasuredCell& cell = each.cell;
    const auto [known, fresh] = index.try_emplace(
        {cell.system, cell.ranks, cell.nodes, cell.collective, cell.bytes}, groups.size());
    if (fresh) {
      groups.push_back({.system = cell.system,
                        .ranks = cell.ranks,
                        .nodes = cell.nodes,
                        .collective = cell.collective,
                        .bytes = cell.bytes});
    }
    DecisionGroup& group = groups[known->second];
    if (each.seen != Seen::HeldOut && group.seen != Seen::Fitted) group.seen = each.seen;
    if (!cell.forced) {
      if (!cell.tuner.empty()) continue;
      group.own_s = cell.time_s;
      group.own_simulated_s = each.prediction.time_s;
      continue;
    }
    const Config& config = each.prediction.config;
    group.runs.push_back(
        {.name = run_name(each),
         .measured_s = cell.time_s,
         .simulated_s = each.prediction.time_s,
         .ring_simple = config.algorithm == "ring" && config.protocol == Protocol::Simple});
  }
  std::erase_if(groups, [](const DecisionGroup& group) { return group.runs.size() < 2; });
  for (DecisionGroup& group : groups) {
    std::stable_sort(group.runs.begin(), group.runs.end(),
                     [](const ForcedRun& a, const ForcedRun& b) {
                       return std::tie(a.measured_s, a.name) < std::tie(b.measured_s, b.name);
                     });
  }
  return groups;
}

DecisionSummary summarise_decisions(std::string name,
                                    std::span<const DecisionGroup* const> groups) {
  DecisionSummary summary{.name = std::move(name), .groups = static_cast<int>(groups.size())};
  if (groups.empty()) return summary;
  for (const DecisionGroup* group : groups) {
    summary.worst = std::max(summary.worst, group->regret());
    summary.best_chosen += group->regret() <= 1 ? 1 : 0;
    summary.rank_correlation += group->rank_correlation();
  }
  summary.best_chosen /= summary.groups;
  summary.rank_correlation /= summary.groups;
  summary.regret = *geometric_mean(
      groups, [](const DecisionGroup& group) { return std::optional(group.regret()); });
  summary.chance = *geometric_mean(
      groups, [](const DecisionGroup& group) { return std::optional(group.chance_regret()); });
  summary.own =
      geometric_mean(groups, [](const DecisionGroup& group) { return group.own_regret(); });
  summary.ring_simple =
      geometric_mean(groups, [](const DecisionGroup& group) { return group.ring_simple_regret(); });
  return summary;
}

std::vector<DecisionSummary> decision_summaries(std::span<const DecisionGroup> groups) {
  std::map<std::pair<std::string, Seen>, std::vector<const DecisionGroup*>> parts;
  std::vector<const DecisionGroup*> held_out;
  for (const DecisionGroup& group : groups) {
    parts[{group.system, group.seen}].push_back(&group);
    if (group.seen == Seen::HeldOut) held_out.push_back(&group);
  }
  std::vector<DecisionSummary> summaries;
  for (const auto& [key, members] : parts) {
    summaries.push_back(
        summarise_decisions(fmt::format("{}, {}", key.first, to_string(key.second)), members));
  }
  if (!held_out.empty() && parts.size() > 1) {
    summaries.push_back(summarise_decisions("all held out", held_out));
  }
  return summaries;
}

std::string decisions_text(std::span<const DecisionGroup> groups, std::size_t worst) {
  if (groups.empty()) return "no call was measured with two forced configurations\n";
  std::string text =
      "measured time of a choice over that of the best forced configuration, geometric means\n\n";
  std::vector<Column> columns{{.heading = "", .left = true},  {.heading = "groups"},
                              {.heading = "simulator"},       {.heading = "worst"},
                              {.heading = "best chosen, %"},  {.heading = "NCCL's own"},
                              {.heading = "ring Simple"},     {.heading = "by chance"},
                              {.heading = "rank correlation"}};
  for (const DecisionSummary& row : decision_summaries(groups)) {
    const std::vector<std::string> texts{row.name,
                                         fmt::format("{}", row.groups),
                                         ratio(row.regret),
                                         ratio(row.worst),
                                         fmt::format("{:.0f}", 100 * row.best_chosen),
                                         ratio(row.own),
                                         ratio(row.ring_simple),
                                         ratio(row.chance),
                                         fmt::format("{:.2f}", row.rank_correlation)};
    for (std::size_t i = 0; i < texts.size(); ++i) columns[i].cells.push_back(texts[i]);
  }
  text += format_columns(columns);
  std::vector<const DecisionGroup*> order;
  for (const DecisionGroup& group : groups) order.push_back(&group);
  std::stable_sort(order.begin(), order.end(), [](const DecisionGroup* a, const DecisionGroup* b) {
    return a->regret() > b->regret();
  });
  order.resize(std::min(worst, order.size()));
  std::erase_if(order, [](const DecisionGroup* group) { return group->regret() <= 1; });
  if (order.empty()) return text;
  std::vector<Column> rows{{.heading = "worst groups", .left = true},
                           {.heading = "regret"},
                           {.heading = "chosen", .left = true},
                           {.heading = "measured"},
                           {.heading = "simulated"},
                           {.heading = "best", .left = true},
                           {.heading = "measured"},
                           {.heading = "simulated"},
                           {.heading = "NCCL's own"},
                           {.heading = "rows", .left = true}};
  for (const DecisionGroup* group : order) {
    const ForcedRun& chosen = group->chosen();
    const ForcedRun& best = group->runs.front();
    const std::vector<std::string> texts{label_of(*group),
                                         ratio(group->regret()),
                                         chosen.name,
                                         format_time(chosen.measured_s),
                                         format_time(chosen.simulated_s),
                                         best.name,
                                         format_time(best.measured_s),
                                         format_time(best.simulated_s),
                                         ratio(group->own_regret()),
                                         std::string(to_string(group->seen))};
    for (std::size_t i = 0; i < texts.size(); ++i) rows[i].cells.push_back(texts[i]);
  }
  return text + "\n" + format_columns(rows);
}

std::string decisions_csv(std::span<const DecisionGroup> groups) {
  std::string text = csv_header(kDecisionColumns) + "\n";
  for (const DecisionGroup& group : groups) {
    DecisionRow row{.system = group.system,
                    .ranks = group.ranks,
                    .nodes = group.nodes,
                    .collective = std::string(to_string(group.collective)),
                    .size_bytes = group.bytes,
                    .seen = std::string(to_string(group.seen))};
    for (const ForcedRun& run : group.runs) {
      row.run = run.name;
      row.measured_us = microseconds(run.measured_s);
      row.simulated_us = microseconds(run.simulated_s);
      row.over_best = run.measured_s / group.runs.front().measured_s;
      row.chosen = &run == &group.chosen() ? 1 : 0;
      text += csv_line(kDecisionColumns, row) + "\n";
    }
    if (!group.own_s) continue;
    row.run = "NCCL's own";
    row.measured_us = microseconds(*group.own_s);
    row.simulated_us = microseconds(group.own_simulated_s);
    row.over_best = *group.own_regret();
    row.chosen = 0;
    text += csv_line(kDecisionColumns, row) + "\n";
  }
  return text;
}

}  // namespace cclgym
