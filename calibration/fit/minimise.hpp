// Bounded minimisation without derivatives. The only place that knows NLopt.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cclgym {

struct MinimiseOptions {
  std::vector<double> least{};  ///< bounds, one for each coordinate
  std::vector<double> most{};
  double step = 0.2;        ///< of the first moves
  int evaluations = 400;    ///< at most, in all
  double tolerance = 1e-3;  ///< relative change of the value at which it stops
};

struct Minimum {
  std::vector<double> at;
  double value = 0;
  int evaluations = 0;
};

/// The best point that was seen: BOBYQA from `start`, then, because the objective has kinks, once
/// more from there with smaller steps. Deterministic. `start` is moved into the bounds.
[[nodiscard]] Minimum minimise(const std::function<double(const std::vector<double>&)>& objective,
                               std::vector<double> start, const MinimiseOptions& options);

}  // namespace cclgym
