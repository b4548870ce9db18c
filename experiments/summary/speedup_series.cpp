#include "experiments/summary/speedup_series.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <utility>

#include "core/statistics.hpp"

namespace cclgym {

namespace {

bool usable(const ResultRow& row) { return std::isfinite(row.time_us) && row.time_us > 0; }

auto config_key(const ResultRow& row) {
  return std::tuple<std::string_view, std::string_view, std::string_view, int, int, int,
                    std::uint64_t, int>(row.algorithm, row.program, row.protocol, row.channels,
                                        row.instances, row.threads, row.tile_bytes, row.slots);
}

}  // namespace

std::vector<SpeedupSeries> speedup_series(
    std::span<const ResultRow* const> rows,
    const std::function<bool(const ResultRow&)>& is_baseline,
    const std::function<bool(const ResultRow&)>& is_candidate) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> baseline_us;  // by (size, seed)
  for (const ResultRow* row : rows) {
    if (!usable(*row) || !is_baseline(*row)) continue;
    const auto [entry, fresh] = baseline_us.try_emplace({row->size_bytes, row->seed}, row->time_us);
    if (!fresh) entry->second = std::min(entry->second, row->time_us);
  }
  std::vector<SpeedupSeries> series;
  std::vector<std::map<std::uint64_t, std::vector<double>>> by_size;  // per series
  std::map<decltype(config_key(*rows[0])), std::size_t> index;
  for (const ResultRow* row : rows) {
    if (!usable(*row) || !is_candidate(*row)) continue;
    const auto base = baseline_us.find({row->size_bytes, row->seed});
    if (base == baseline_us.end()) continue;
    const auto [entry, fresh] = index.try_emplace(config_key(*row), series.size());
    if (fresh) {
      series.push_back({*row, {}});
      by_size.emplace_back();
    }
    by_size[entry->second][row->size_bytes].push_back(base->second / row->time_us);
  }
  for (std::size_t i = 0; i < series.size(); ++i) {
    for (const auto& [bytes, speedups] : by_size[i]) {
      series[i].points.push_back({bytes, median(speedups)});
    }
  }
  return series;
}

std::vector<BestSpeedup> best_speedups(std::span<const SpeedupSeries> series,
                                       const std::function<bool(const ResultRow&)>& takes) {
  std::map<std::uint64_t, BestSpeedup> best;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (takes && !takes(series[i].config)) continue;
    for (const SpeedupPoint& point : series[i].points) {
      const BestSpeedup mine{point.bytes, point.speedup, i};
      const auto [entry, fresh] = best.try_emplace(point.bytes, mine);
      if (!fresh && point.speedup > entry->second.speedup) entry->second = mine;
    }
  }
  std::vector<BestSpeedup> result;
  for (const auto& [bytes, one] : best) result.push_back(one);
  return result;
}

std::string short_config(const ResultRow& config) {
  constexpr int kUsualThreads = 512;
  std::string text = fmt::format("{} {} c{} r{}", config.program, config.protocol, config.channels,
                                 config.instances);
  if (config.threads != kUsualThreads) text += fmt::format(" t{}", config.threads);
  return text;
}

}  // namespace cclgym
