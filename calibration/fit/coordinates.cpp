#include "calibration/fit/coordinates.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "core/error.hpp"

namespace cclgym {

double FitCoordinate::value(double at) const {
  return std::clamp(start * std::exp(at), parameter->fit->min, parameter->fit->max);
}

double FitCoordinate::least() const { return std::log(parameter->fit->min / start); }

double FitCoordinate::most() const { return std::log(parameter->fit->max / start); }

std::vector<FitCoordinate> coordinates_of(const CostModel& start_model,
                                          const std::vector<std::string>& names) {
  std::vector<const CostParameter*> wanted;
  for (const std::string& name : names) {
    const CostParameter& parameter = cost_parameter(name);
    if (!parameter.fit) {
      throw UserError(
          fmt::format("parameter '{}' is a count or a size, which is not fitted", name));
    }
    if (std::find(wanted.begin(), wanted.end(), &parameter) != wanted.end()) {
      throw UserError(fmt::format("parameter '{}' is named twice", name));
    }
    wanted.push_back(&parameter);
  }
  if (names.empty()) {
    for (const CostParameter& parameter : cost_parameters()) {
      if (parameter.fit && parameter.fit->by_default) wanted.push_back(&parameter);
    }
  }
  std::vector<FitCoordinate> coordinates;
  for (const CostParameter* parameter : wanted) {
    const double start = parameter->get(start_model).value_or(0);
    coordinates.push_back({parameter, std::clamp(start > 0 ? start : parameter->fit->start,
                                                 parameter->fit->min, parameter->fit->max)});
  }
  return coordinates;
}

}  // namespace cclgym
