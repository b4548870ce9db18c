#include "calibration/cuda/line_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>

#include "core/error.hpp"

namespace cclgym {

double student_t(int freedom) {
  constexpr std::array<double, 6> kFew{12.706, 4.303, 3.182, 2.776, 2.571, 2.447};
  if (freedom <= static_cast<int>(kFew.size())) {
    return kFew[static_cast<std::size_t>(std::max(1, freedom)) - 1];
  }
  // Expansion in 1 / freedom about the normal quantile (Abramowitz and Stegun 26.7.5).
  constexpr double kZ = 1.959964;
  const double n = freedom;
  const double z3 = kZ * kZ * kZ;
  const double z5 = z3 * kZ * kZ;
  return kZ + (z3 + kZ) / (4 * n) + (5 * z5 + 16 * z3 + 3 * kZ) / (96 * n * n);
}

Interval LineFit::intercept_interval() const {
  const double half = student_t(freedom) * intercept_error;
  return {intercept - half, intercept + half};
}

Interval LineFit::slope_interval() const {
  const double half = student_t(freedom) * slope_error;
  return {slope - half, slope + half};
}

LineFit fit_line(const std::vector<double>& x, const std::vector<double>& y, const char* what) {
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  if (x.size() < 3 || *least == *most) {
    throw UserError(
        fmt::format("{}: {} rows; a line needs three rows, at two or more values", what, x.size()));
  }
  const auto n = static_cast<Eigen::Index>(x.size());
  // Rows are divided by y; columns are scaled to about 1, as x may be in bytes.
  const double scale = std::max(std::abs(*least), std::abs(*most));
  // Lazy products, because Eigen's product for large matrices takes 4 s to compile.
  Eigen::MatrixXd design(n, 2);
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(i);
    design(i, 0) = 1 / y[row];
    design(i, 1) = x[row] / scale / y[row];
  }
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(n);
  const Eigen::Vector2d found = design.colPivHouseholderQr().solve(ones);
  const double squares = (design.lazyProduct(found) - ones).squaredNorm();
  LineFit line{
      .intercept = found[0], .slope = found[1] / scale, .freedom = static_cast<int>(n) - 2};
  const Eigen::Matrix2d normal = design.transpose().lazyProduct(design);
  const Eigen::Matrix2d covariance = squares / line.freedom * normal.inverse();
  line.intercept_error = std::sqrt(covariance(0, 0));
  line.slope_error = std::sqrt(covariance(1, 1)) / scale;
  line.covariance = covariance(0, 1) / scale;
  return line;
}

}  // namespace cclgym
