#include "calibration/fit/uncertainty.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "core/random.hpp"

namespace cclgym {

namespace {

constexpr double kNormal95 = 1.96;

Eigen::Index index(std::size_t value) { return static_cast<Eigen::Index>(value); }

// The Gauss-Newton system of weighted rows: curvature and gradient of half the objective.
struct System {
  Eigen::MatrixXd curvature;
  Eigen::VectorXd gradient;
};

System system_of(const LinearisedFit& fit, const std::vector<double>& counts) {
  const Eigen::Index n = index(fit.at.size());
  System system{Eigen::MatrixXd::Identity(n, n) * fit.prior_weight,
                Eigen::Map<const Eigen::VectorXd>(fit.at.data(), n) * fit.prior_weight};
  for (std::size_t row = 0; row < fit.residuals.size(); ++row) {
    const Eigen::Map<const Eigen::VectorXd> slope(fit.slopes[row].data(), n);
    const double ratio = fit.residuals[row] / fit.scale;
    const double weight = counts[row] / std::sqrt(1 + ratio * ratio);
    system.curvature += weight * slope * slope.transpose();
    system.gradient += weight * fit.residuals[row] * slope;
  }
  // Keeps the matrix regular if a parameter has neither effect nor prior.
  system.curvature += 1e-12 * Eigen::MatrixXd::Identity(n, n);
  return system;
}

}  // namespace

double soft_l1(double residual, double scale) {
  const double ratio = residual / scale;
  return 2 * scale * scale * (std::sqrt(1 + ratio * ratio) - 1);
}

std::vector<Interval> linearised_intervals(const LinearisedFit& fit) {
  const std::size_t rows = fit.residuals.size();
  double squares = 0;
  for (const double residual : fit.residuals) squares += soft_l1(residual, fit.scale);
  const double freedom =
      std::max(1.0, static_cast<double>(rows) - static_cast<double>(fit.at.size()));
  const double variance = squares / freedom;
  const System system = system_of(fit, std::vector<double>(rows, 1.0));
  const Eigen::MatrixXd covariance = variance * system.curvature.inverse();
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < fit.at.size(); ++i) {
    const double half = kNormal95 * std::sqrt(std::max(0.0, covariance(index(i), index(i))));
    intervals.push_back({fit.at[i] - half, fit.at[i] + half});
  }
  return intervals;
}

std::vector<Interval> bootstrap_intervals(const LinearisedFit& fit, int resamples,
                                          std::uint64_t seed) {
  const std::size_t rows = fit.residuals.size();
  std::vector<Interval> intervals;
  if (rows == 0 || resamples < 1) return intervals;
  Random random = Random::stream(seed, {});
  // At the optimum of a kinked objective the gradient is not quite zero, so the step for all rows
  // is subtracted from the steps of the samples.
  const System whole = system_of(fit, std::vector<double>(rows, 1.0));
  const Eigen::VectorXd centre = whole.curvature.ldlt().solve(whole.gradient);
  const auto last = static_cast<std::int64_t>(rows) - 1;
  std::vector<std::vector<double>> samples(fit.at.size());
  for (int sample = 0; sample < resamples; ++sample) {
    std::vector<double> counts(rows, 0.0);
    for (std::size_t draw = 0; draw < rows; ++draw)
      counts[static_cast<std::size_t>(random.integer(0, last))] += 1;
    const System system = system_of(fit, counts);
    const Eigen::VectorXd step = system.curvature.ldlt().solve(system.gradient) - centre;
    for (std::size_t i = 0; i < fit.at.size(); ++i) {
      samples[i].push_back(fit.at[i] - step[index(i)]);
    }
  }
  const auto at = [&](const std::vector<double>& sorted, double share) {
    const auto highest = static_cast<double>(sorted.size() - 1);
    return sorted[static_cast<std::size_t>(std::lround(share * highest))];
  };
  for (std::vector<double>& values : samples) {
    std::sort(values.begin(), values.end());
    intervals.push_back({at(values, 0.025), at(values, 0.975)});
  }
  return intervals;
}

}  // namespace cclgym
