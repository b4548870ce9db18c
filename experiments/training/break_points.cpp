#include "experiments/training/break_points.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "experiments/training/choice_ranges.hpp"

namespace cclgym {

namespace {

constexpr const char* kOracle = "oracle";

struct Distances {
  double most = 0;
  double mean = 0;
};

// Distances of the points `from` to the nearest of `to`.
Distances distances(std::span<const double> from, std::span<const double> to) {
  Distances found;
  for (const double one : from) {
    double least = std::numeric_limits<double>::infinity();
    for (const double other : to) least = std::min(least, std::abs(std::log2(one / other)));
    found.most = std::max(found.most, least);
    found.mean += least / static_cast<double>(from.size());
  }
  return found;
}

std::vector<const PublishedRow*> rows_about(std::span<const PublishedRow> regimes,
                                            const std::string& fabric,
                                            const std::string& collective) {
  std::vector<const PublishedRow*> rows;
  for (const PublishedRow& row : regimes) {
    if (row.collective == collective && is_of_fabric(row, fabric)) rows.push_back(&row);
  }
  return rows;
}

std::string line_of(const std::string& policy, std::uint64_t seed, const std::string& collective,
                    const std::string& reference, const BreakPointScore& score) {
  return fmt::format("{:<20}  {:>4}  {:<13}  {:<22}  {:>3} / {:<3}  {:>6.2f}  {:>6.2f}  {:>6.2f}\n",
                     policy, seed, collective, reference, score.own, score.reference, score.mean,
                     score.missed, score.extra);
}

}  // namespace

std::vector<double> break_points(const PolicyRun& run, const std::string& collective) {
  std::vector<const EvaluatedCell*> cells;
  for (const EvaluatedCell& cell : run.cells) {
    if (cell.collective == collective) cells.push_back(&cell);
  }
  std::ranges::sort(cells, {}, &EvaluatedCell::bytes);
  std::vector<double> points;
  for (std::size_t i = 1; i < cells.size(); ++i) {
    const Config& before = cells[i - 1]->config;
    const Config& after = cells[i]->config;
    if (before.algorithm == after.algorithm && before.protocol == after.protocol) continue;
    points.push_back(
        std::sqrt(static_cast<double>(cells[i - 1]->bytes) * static_cast<double>(cells[i]->bytes)));
  }
  return points;
}

std::vector<double> published_break_points(std::span<const PublishedRow> regimes,
                                           const std::string& source, const std::string& fabric,
                                           const std::string& collective) {
  std::vector<const PublishedRow*> rows = rows_about(regimes, fabric, collective);
  std::erase_if(rows, [&](const PublishedRow* row) { return row->source != source; });
  std::ranges::sort(rows, {}, &PublishedRow::size_from);
  std::vector<double> points;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const PublishedRow& before = *rows[i - 1];
    const PublishedRow& after = *rows[i];
    if (before.algorithms == after.algorithms && before.protocols == after.protocols) continue;
    points.push_back(static_cast<double>(after.size_from));
  }
  return points;
}

BreakPointScore score_break_points(std::span<const double> own, std::span<const double> reference) {
  const Distances missed = distances(reference, own);
  return {.own = own.size(),
          .reference = reference.size(),
          .missed = missed.most,
          .mean = missed.mean,
          .extra = distances(own, reference).most};
}

std::string break_points_text(const EvaluatedPart& part, std::span<const PublishedRow> regimes) {
  std::string text;
  for (const std::string& collective : collectives_of(part)) {
    std::vector<std::pair<std::string, std::vector<double>>> references;
    const auto oracle = std::ranges::find(part.runs, kOracle, &PolicyRun::policy);
    if (oracle != part.runs.end()) {
      references.emplace_back(kOracle, break_points(*oracle, collective));
    }
    for (const PublishedRow* row : rows_about(regimes, part.fabric, collective)) {
      const auto known = std::ranges::find(references, row->source,
                                           &std::pair<std::string, std::vector<double>>::first);
      if (known != references.end()) continue;
      references.emplace_back(
          row->source, published_break_points(regimes, row->source, part.fabric, collective));
    }
    for (const auto& [name, reference] : references) {
      if (reference.empty()) continue;
      for (const PolicyRun& run : part.runs) {
        if (run.policy == name || run.policy == "random") continue;
        // All seeds of the oracle choose alike.
        if (run.policy == kOracle && &run != &*oracle) continue;
        const std::vector<double> own = break_points(run, collective);
        text += line_of(run.policy, run.seed, collective, name, score_break_points(own, reference));
      }
    }
  }
  if (text.empty()) return text;
  return fmt::format(
             "break-points (sizes at which algorithm or protocol changes), distances in doublings\n"
             "{:<20}  {:>4}  {:<13}  {:<22}  {:>9}  {:>6}  {:>6}  {:>6}\n",
             "policy", "seed", "collective", "relative to", "own / its", "mean", "missed",
             "extra") +
         text;
}

}  // namespace cclgym
