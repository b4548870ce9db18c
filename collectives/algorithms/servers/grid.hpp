// Nested loops over nodes and ranks as one range. Internal to the algorithms.
#pragma once

#include <array>
#include <vector>

namespace cclgym::algorithms {

/// All (a, b, c) with a < as, b < bs and c < cs.
inline std::vector<std::array<int, 3>> grid(int as, int bs, int cs) {
  std::vector<std::array<int, 3>> points;
  for (int i = 0; i < as * bs * cs; ++i) points.push_back({i / cs / bs, i / cs % bs, i % cs});
  return points;
}

}  // namespace cclgym::algorithms
