#include "experiments/summary/measured_speedup.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/error.hpp"
#include "experiments/measured/measured_rows.hpp"
#include "experiments/summary/report_summary.hpp"
#include "experiments/summary/speedup_series.hpp"

namespace cclgym {

namespace {

struct MeasuredPair {
  std::string source;
  std::map<std::uint64_t, double> of_us;
  std::map<std::uint64_t, double> over_us;
};

}  // namespace

std::vector<MeasuredSpeedups> measured_speedups(const Experiment& experiment,
                                                std::span<const ResultRow* const> rows,
                                                std::span<const MeasuredRow* const> measured) {
  std::vector<MeasuredSpeedups> all;
  if (!experiment.measured_speedup || !experiment.baseline) return all;
  const auto is_baseline = [&](const ResultRow& row) {
    const std::optional<Cell> cell = cell_of(experiment, row);
    return cell && experiment.baseline->matches(experiment, *cell);
  };
  const std::vector<SpeedupSeries> series = speedup_series(
      rows, is_baseline, [&](const ResultRow& row) { return !row.chosen() && !is_baseline(row); });
  std::map<std::string, MeasuredPair> systems;
  for (const MeasuredRow* row : measured) {
    if (row->config == experiment.measured_speedup->of) {
      systems[row->system].of_us[row->size_bytes] = row->time_us;
      systems[row->system].source = row->source;
    } else if (row->config == experiment.measured_speedup->over) {
      systems[row->system].over_us[row->size_bytes] = row->time_us;
    }
  }
  for (const auto& [system, pair] : systems) {
    MeasuredSpeedups speedups{.system = system, .source = pair.source, .points = {}};
    double sum = 0;
    for (const BestSpeedup& best : best_speedups(series)) {
      const auto of = pair.of_us.find(best.bytes);
      const auto over = pair.over_us.find(best.bytes);
      if (of == pair.of_us.end() || over == pair.over_us.end()) continue;
      const double ratio = over->second / of->second;
      speedups.points.push_back(
          {best.bytes, ratio, best.speedup, short_config(series[best.series].config)});
      sum += std::abs(std::log(best.speedup / ratio));
    }
    if (speedups.points.empty()) continue;
    speedups.mean_ln = sum / static_cast<double>(speedups.points.size());
    all.push_back(std::move(speedups));
  }
  return all;
}

void check_measured_speedup(const Experiment& experiment, std::span<const MeasuredRow> measured) {
  if (!experiment.measured_speedup) return;
  std::vector<std::string> configs;
  for (const MeasuredRow& row : measured) {
    if (std::find(configs.begin(), configs.end(), row.config) == configs.end()) {
      configs.push_back(row.config);
    }
  }
  const MeasuredSpeedupChoice& choice = *experiment.measured_speedup;
  for (const auto& [config, where] :
       {std::pair{&choice.of, &choice.of_where}, {&choice.over, &choice.over_where}}) {
    if (std::find(configs.begin(), configs.end(), *config) != configs.end()) continue;
    throw UserError(*where, unknown_name_message("measured config", *config, configs));
  }
}

}  // namespace cclgym
