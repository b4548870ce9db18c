// Straight lines fitted to measured times.
#pragma once

#include <vector>

#include "calibration/fit/uncertainty.hpp"

namespace cclgym {

/// y = intercept + slope x, with standard errors and their covariance.
struct LineFit {
  double intercept = 0;
  double slope = 0;
  double intercept_error = 0;
  double slope_error = 0;
  double covariance = 0;
  int freedom = 0;  ///< number of points - 2

  [[nodiscard]] Interval intercept_interval() const;  ///< 95 %
  [[nodiscard]] Interval slope_interval() const;      ///< 95 %
};

/// Least squares of relative errors: the weight of a point is 1 / y^2. Needs at least three points
/// with y > 0, at two or more values of x; otherwise throws UserError that names `what`.
[[nodiscard]] LineFit fit_line(const std::vector<double>& x, const std::vector<double>& y,
                               const char* what);

/// 97.5 % quantile of Student's t distribution, within 0.5 %; freedom >= 1.
[[nodiscard]] double student_t(int freedom);

}  // namespace cclgym
