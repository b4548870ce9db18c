#include "calibration/cuda/quantisation.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

#include "core/units.hpp"

namespace cclgym {

namespace {

constexpr double kLeastSlice_s = 0.4e-3;
constexpr double kMostSlice_s = 5e-3;
constexpr double kFarBelow_s = 0.5e-3;
constexpr double kNear = 0.04;   ///< fraction of a slice
constexpr double kMostOf = 0.9;  ///< fraction of the times

double near_share(const std::vector<double>& times_s, double slice_s) {
  const auto near = std::count_if(times_s.begin(), times_s.end(), [&](double time_s) {
    const double turns = std::round(time_s / slice_s);
    return turns >= 1 && std::abs(time_s - turns * slice_s) <= kNear * slice_s;
  });
  return static_cast<double>(near) / static_cast<double>(times_s.size());
}

}  // namespace

std::string Quantisation::text() const {
  if (passed) return "passed";
  if (slice_s > 0) {
    return fmt::format("failed: times are multiples of {}, the device's time slices",
                       format_time(slice_s));
  }
  return fmt::format("failed: the median is {}", format_time(median_s));
}

Quantisation check_quantisation(const std::vector<double>& times_s) {
  Quantisation result;
  if (times_s.empty()) return result;
  std::vector<double> sorted = times_s;
  std::sort(sorted.begin(), sorted.end());
  result.median_s = sorted[sorted.size() / 2];
  // The largest slice that fits: its halves fit as well.
  for (double slice_s = kMostSlice_s; slice_s >= kLeastSlice_s; slice_s *= 0.995) {
    if (near_share(sorted, slice_s) >= kMostOf) {
      result.slice_s = slice_s;
      break;
    }
  }
  result.passed = result.slice_s == 0 && result.median_s < kFarBelow_s;
  return result;
}

}  // namespace cclgym
