#include "sim/fast/tile_curve.hpp"

#include <algorithm>

namespace cclgym {

namespace {

// Slightly more than (n - 1) / n, so that rounding does not give n - 1 tiles.
double min_fill(std::int32_t tiles) { return 1 - 0.9 / tiles; }

}  // namespace

TileCurve::TileCurve(std::int64_t firings) {
  while (last_ + 1 < kTiles.size() && firings * kTiles[last_ + 1] <= kFirings) ++last_;
}

double TileCurve::full_s(std::size_t number, const Simulate& simulate) {
  double& known_s = full_s_[number];
  if (known_s == 0) known_s = simulate(kTiles[number], 1);
  return known_s;
}

// Time that tiles of fill 0 would save if the curve were linear down to there.
double TileCurve::less_s(std::size_t number, const Simulate& simulate) {
  const double fill = min_fill(kTiles[number]);
  double& known_s = less_full_s_[number];
  if (known_s == 0) known_s = simulate(kTiles[number], fill);
  return (full_s(number, simulate) - known_s) / (1 - fill);
}

double TileCurve::time_s(std::int32_t tiles, double fill, const Simulate& simulate) {
  std::size_t next = 1;
  while (next < last_ && kTiles[next] < tiles) ++next;
  const std::size_t before = next - 1;
  const double way = static_cast<double>(tiles - kTiles[before]) / (kTiles[next] - kTiles[before]);
  const double before_s = full_s(before, simulate);
  const double full = before_s + way * (full_s(next, simulate) - before_s);
  const std::size_t low = std::min(before, kLastFill);
  const std::size_t high = std::min(next, kLastFill);
  const double low_share = less_s(low, simulate) / full_s(low, simulate);
  const double high_share = less_s(high, simulate) / full_s(high, simulate);
  const double share = low_share + std::min(way, 1.0) * (high_share - low_share);
  return full * (1 - (1 - fill) * share);
}

}  // namespace cclgym
