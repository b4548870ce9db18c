// Coordinates in which a fit searches.
#pragma once

#include <string>
#include <vector>

#include "cost_models/parameters/cost_parameters.hpp"

namespace cclgym {

/// A fitted parameter; the coordinate is the logarithm of its ratio to the start.
struct FitCoordinate {
  const CostParameter* parameter = nullptr;
  double start = 0;

  [[nodiscard]] double value(double at) const;
  [[nodiscard]] double least() const;
  [[nodiscard]] double most() const;
};

/// Coordinates of the named parameters of `start`; without names, of those that are fitted by
/// default. Throws UserError if a name is unknown, is named twice or cannot be fitted.
[[nodiscard]] std::vector<FitCoordinate> coordinates_of(const CostModel& start,
                                                        const std::vector<std::string>& names);

}  // namespace cclgym
