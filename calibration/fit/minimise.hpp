// Bounded minimisation without derivatives. The only user of NLopt.
#pragma once

#include <cstddef>
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

/// One of several minimisations, of its own objective or from its own start.
struct Search {
  std::vector<double> start;
  MinimiseOptions options;
};
/// Point at which a search needs its objective.
struct SearchPoint {
  std::size_t search = 0;
  std::vector<double> at;
};
/// Values at the points of different searches, in their order.
using EvaluateTogether = std::function<std::vector<double>(const std::vector<SearchPoint>& points)>;

/// minimise() for each search, side by side: `evaluate` is called with the next points of all
/// searches that have not ended, in the calling thread. An exception of it ends all searches.
[[nodiscard]] std::vector<Minimum> minimise_together(const std::vector<Search>& searches,
                                                     const EvaluateTogether& evaluate);

}  // namespace cclgym
