#include "calibration/intervals/conformal.hpp"

#include <algorithm>
#include <cmath>

namespace cclgym {

namespace {

constexpr double kRounding = 1e-9;  // tolerance of sums of weights, in cells or groups

struct WeightedError {
  double error = 0;
  double weight = 0;
};

// The smallest error at which the weights of it and of all smaller ones sum up to `weight`; nullopt
// if all weights together are less.
std::optional<double> weighted_quantile(std::vector<WeightedError> errors, double weight) {
  std::sort(errors.begin(), errors.end(),
            [](const auto& a, const auto& b) { return a.error < b.error; });
  double sum = 0;
  for (const WeightedError& each : errors) {
    sum += each.weight;
    if (sum >= weight - kRounding) return each.error;
  }
  return std::nullopt;
}

void add_cell(const CellErrors& cell, double weight, std::vector<WeightedError>& errors) {
  for (const double error : cell) {
    errors.push_back({error, weight / static_cast<double>(cell.size())});
  }
}

// Interval around zero that errors beyond the first `weight` of the weights exceed.
std::optional<LogInterval> around_zero(std::vector<WeightedError> errors, double weight) {
  for (WeightedError& each : errors) each.error = std::abs(each.error);
  const std::optional<double> bound = weighted_quantile(std::move(errors), weight);
  if (!bound) return std::nullopt;
  return LogInterval{-*bound, *bound};
}

std::vector<WeightedError> weighted(std::span<const CellErrors> cells) {
  std::vector<WeightedError> errors;
  for (const CellErrors& cell : cells) add_cell(cell, 1, errors);
  return errors;
}

}  // namespace

std::optional<LogInterval> conformal_interval(std::span<const CellErrors> cells, double coverage) {
  const double weight = static_cast<double>(cells.size() + 1) * coverage;
  return around_zero(weighted(cells), weight);
}

int fewest_cells(double coverage) {
  return static_cast<int>(std::ceil(coverage / (1 - coverage) - kRounding));
}

std::optional<LogInterval> equal_tails_interval(std::span<const CellErrors> cells,
                                                double coverage) {
  std::vector<WeightedError> errors = weighted(cells);
  const double weight = static_cast<double>(cells.size() + 1) * (1 + coverage) / 2;
  const std::optional<double> high = weighted_quantile(errors, weight);
  for (WeightedError& each : errors) each.error = -each.error;
  const std::optional<double> low = weighted_quantile(std::move(errors), weight);
  if (!low || !high) return std::nullopt;
  return LogInterval{-*low, *high};
}

std::optional<LogInterval> grouped_interval(std::span<const std::vector<CellErrors>> groups,
                                            double coverage) {
  std::vector<WeightedError> errors;
  for (const std::vector<CellErrors>& group : groups) {
    for (const CellErrors& cell : group) {
      add_cell(cell, 1 / static_cast<double>(group.size()), errors);
    }
  }
  return around_zero(std::move(errors), static_cast<double>(groups.size() + 1) * coverage);
}

}  // namespace cclgym
