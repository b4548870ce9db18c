// Uncertainty of fitted parameters.
#pragma once

#include <cstdint>
#include <vector>

namespace cclgym {

/// A fit at its optimum, in the fitted coordinates (logarithms of ratios to the start).
struct LinearisedFit {
  std::vector<double> residuals;            ///< by row, ln(simulated / measured)
  std::vector<std::vector<double>> slopes;  ///< by row, then parameter: d residual / d coordinate
  std::vector<double> at;                   ///< the optimum
  double scale = 0.3;                       ///< scale of the loss (soft_l1)
  double prior_weight = 0;                  ///< weight of the squared coordinates in the objective
};

struct Interval {
  double least = 0;
  double most = 0;
};

/// rho(r) = 2 s^2 (sqrt(1 + (r / s)^2) - 1): r^2 where it is small, 2 s |r| where it is large.
[[nodiscard]] double soft_l1(double residual, double scale);

/// 95 % intervals of the coordinates from the curvature of the objective (Gauss-Newton), for rows
/// and prior together.
[[nodiscard]] std::vector<Interval> linearised_intervals(const LinearisedFit& fit);

/// 95 % intervals from resampled rows: one Gauss-Newton step per sample from the optimum, with the
/// slopes there. Nothing is simulated. Equal seeds give equal intervals.
[[nodiscard]] std::vector<Interval> bootstrap_intervals(const LinearisedFit& fit, int resamples,
                                                        std::uint64_t seed);

}  // namespace cclgym
