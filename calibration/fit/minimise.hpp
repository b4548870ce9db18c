// Bounded minimisation without derivatives. The only user of NLopt.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cclgym {

struct MinimiseOptions {
  std::vector<double> least{};  ///< lower bounds, one per coordinate
  std::vector<double> most{};
  double step = 0.2;        ///< size of the first moves
  int evaluations = 400;    ///< max number of evaluations in total
  double tolerance = 1e-3;  ///< relative change of the value at which the search stops
};

struct Minimum {
  std::vector<double> at;
  double value = 0;
  int evaluations = 0;
};

/// The best point found by BOBYQA from `start`, then again from that point with smaller steps,
/// because the objective has kinks. Deterministic. `start` is moved into the bounds.
[[nodiscard]] Minimum minimise(const std::function<double(const std::vector<double>&)>& objective,
                               std::vector<double> start, const MinimiseOptions& options);

}  // namespace cclgym
