#include "experiments/published/published_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace cclgym {

namespace {

// Relative tolerance of a bound: an excess within it is due to rounding.
constexpr double kRounding = 1e-12;

PublishedVerdict judge(const PublishedRow& row, std::span<const BestSpeedup> best) {
  PublishedVerdict verdict;
  const double least = kPublishedLeast * row.speedup_low;
  const double most = kPublishedMost * row.speedup_high;
  for (const BestSpeedup& point : best) {
    if (!row.covers(point.bytes)) continue;
    verdict.points.push_back(point);
    const double margin = std::min(point.speedup / least - 1, 1 - point.speedup / most);
    if (verdict.points.size() == 1 || margin < verdict.margin) verdict.margin = margin;
    double miss = 0;
    if (point.speedup > most * (1 + kRounding)) miss = point.speedup / most - 1;
    if (point.speedup < least * (1 - kRounding)) miss = point.speedup / least - 1;
    if (std::abs(miss) > std::abs(verdict.miss)) {
      verdict.miss = miss;
      verdict.miss_bytes = point.bytes;
    }
  }
  verdict.margin = verdict.holds() ? std::max(verdict.margin, 0.0) : 0;
  return verdict;
}

// Replaces everything slower than the baseline by the baseline.
std::vector<BestSpeedup> with_fallback(std::vector<BestSpeedup> best) {
  for (BestSpeedup& point : best) {
    if (point.speedup < 1) point = {point.bytes, 1, kBaselineSeries};
  }
  return best;
}

// Adds the baseline at sizes for which there is no other configuration.
void add_baseline_sizes(std::vector<BestSpeedup>& best, const std::set<std::uint64_t>& sizes) {
  for (const std::uint64_t bytes : sizes) {
    const bool there = std::any_of(best.begin(), best.end(),
                                   [&](const BestSpeedup& point) { return point.bytes == bytes; });
    if (!there) best.push_back({bytes, 0, kBaselineSeries});
  }
  std::sort(best.begin(), best.end(),
            [](const BestSpeedup& a, const BestSpeedup& b) { return a.bytes < b.bytes; });
}

// Results of one collective on one of the experiment's fabrics.
struct Results {
  const ExperimentFabric* fabric = nullptr;
  std::string collective;
  std::vector<const ResultRow*> rows;

  [[nodiscard]] bool have(const std::string& algorithm) const {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const ResultRow* row) { return row->algorithm == algorithm; });
  }
  [[nodiscard]] bool are_of(const PublishedRow& row) const {
    return row.collective == collective && row.is_of(*fabric) && have(row.baseline);
  }
};

std::vector<Results> by_fabric_and_collective(const Experiment& experiment,
                                              std::span<const ResultRow> rows) {
  std::vector<Results> all;
  for (const ResultRow& row : rows) {
    auto found = std::find_if(all.begin(), all.end(), [&](const Results& one) {
      return one.fabric->label == row.fabric && one.collective == row.collective;
    });
    if (found == all.end()) {
      const auto fabric =
          std::find_if(experiment.fabrics.begin(), experiment.fabrics.end(),
                       [&](const ExperimentFabric& one) { return one.label == row.fabric; });
      if (fabric == experiment.fabrics.end()) continue;
      all.push_back({&*fabric, row.collective, {}});
      found = all.end() - 1;
    }
    found->rows.push_back(&row);
  }
  return all;
}

PublishedBlock block_of(const Results& results, const std::string& baseline,
                        const std::set<std::string>& baselines,
                        std::span<const PublishedRow> published) {
  PublishedBlock block;
  block.fabric = results.fabric->label;
  block.collective = results.collective;
  block.servers = results.fabric->fabric->servers();
  block.ranks = results.fabric->fabric->ranks();
  block.baseline = baseline;
  block.series = speedup_series(
      results.rows, [&](const ResultRow& row) { return row.algorithm == baseline; },
      [&](const ResultRow& row) { return !row.chosen() && !baselines.contains(row.algorithm); });
  block.best = best_speedups(block.series);
  std::vector<BestSpeedup> fallback = block.best;
  std::set<std::uint64_t> sizes;
  for (const ResultRow* row : results.rows) {
    if (row->algorithm == baseline && row->time_us > 0) sizes.insert(row->size_bytes);
  }
  add_baseline_sizes(fallback, sizes);
  fallback = with_fallback(std::move(fallback));
  for (const PublishedRow& row : published) {
    if (!results.are_of(row) || row.baseline != baseline) continue;
    PublishedComparison comparison{.row = row, .best = {}, .variant = std::nullopt};
    comparison.best = judge(row, row.subject == PublishedSubject::Fallback ? fallback : block.best);
    if (row.has_variant()) {
      comparison.variant = judge(
          row, best_speedups(block.series, [&](const ResultRow& one) { return row.selects(one); }));
    }
    block.rows.push_back(std::move(comparison));
  }
  return block;
}

}  // namespace

bool null_model_holds(const PublishedRow& row) {
  return kPublishedLeast * row.speedup_low <= 1 && 1 <= kPublishedMost * row.speedup_high;
}

double PublishedVerdict::low() const {
  return std::min_element(points.begin(), points.end(),
                          [](const auto& a, const auto& b) { return a.speedup < b.speedup; })
      ->speedup;
}

double PublishedVerdict::high() const {
  return std::max_element(points.begin(), points.end(),
                          [](const auto& a, const auto& b) { return a.speedup < b.speedup; })
      ->speedup;
}

const PublishedVerdict& PublishedComparison::judged() const {
  return row.subject == PublishedSubject::Variant ? variant.value() : best;
}

std::optional<std::size_t> PublishedComparison::winner() const {
  std::map<std::size_t, std::size_t> wins;
  std::optional<std::size_t> winner;
  for (const BestSpeedup& point : judged().points) ++wins[point.series];
  // A tie goes to the configuration that wins at the smaller size.
  for (const BestSpeedup& point : judged().points) {
    if (!winner || wins[point.series] > wins[*winner]) winner = point.series;
  }
  return winner;
}

std::size_t PublishedComparison::other_winners() const {
  const std::optional<std::size_t> most = winner();
  return static_cast<std::size_t>(
      std::count_if(judged().points.begin(), judged().points.end(),
                    [&](const BestSpeedup& point) { return point.series != most; }));
}

std::vector<PublishedBlock> compare_published(const Experiment& experiment,
                                              std::span<const ResultRow> rows,
                                              std::span<const PublishedRow> published) {
  std::vector<PublishedBlock> blocks;
  for (const Results& results : by_fabric_and_collective(experiment, rows)) {
    std::vector<std::string> in_order;
    for (const PublishedRow& row : published) {
      if (!results.are_of(row)) continue;
      if (std::find(in_order.begin(), in_order.end(), row.baseline) == in_order.end()) {
        in_order.push_back(row.baseline);
      }
    }
    const std::set<std::string> baselines(in_order.begin(), in_order.end());
    for (const std::string& baseline : in_order) {
      blocks.push_back(block_of(results, baseline, baselines, published));
    }
  }
  return blocks;
}

}  // namespace cclgym
