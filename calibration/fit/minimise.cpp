#include "calibration/fit/minimise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlopt.hpp>
#include <stdexcept>

namespace cclgym {

namespace {

// The objective, its best point so far, and its exception: exceptions do not cross NLopt.
struct Watched {
  const std::function<double(const std::vector<double>&)>& objective;
  Minimum best;
  std::exception_ptr failure;

  static double call(const std::vector<double>& at, std::vector<double>& /*gradient*/, void* self) {
    auto& watched = *static_cast<Watched*>(self);
    ++watched.best.evaluations;
    try {
      const double value = watched.objective(at);
      if (watched.best.at.empty() || value < watched.best.value) {
        watched.best.at = at;
        watched.best.value = value;
      }
      return value;
    } catch (...) {
      watched.failure = std::current_exception();
      throw nlopt::forced_stop();
    }
  }
};

}  // namespace

Minimum minimise(const std::function<double(const std::vector<double>&)>& objective,
                 std::vector<double> start, const MinimiseOptions& options) {
  Watched watched{objective, {}, nullptr};
  for (std::size_t i = 0; i < start.size(); ++i) {
    start[i] = std::clamp(start[i], options.least[i], options.most[i]);
  }
  if (start.empty()) return {{}, objective({}), 1};
  const auto dimension = static_cast<unsigned>(start.size());
  if (options.evaluations <= static_cast<int>(dimension)) {
    throw std::invalid_argument("fewer evaluations than dimensions + 1");
  }
  double step = options.step;
  for (int round = 0; round < 3; ++round, step /= 3) {
    const int left = options.evaluations - watched.best.evaluations;
    // BOBYQA needs 2 n + 1 points to start, and at least two coordinates.
    const bool quadratic = dimension >= 2 && left > 3 * static_cast<int>(dimension);
    if (left <= static_cast<int>(dimension)) break;
    nlopt::opt optimiser(quadratic ? nlopt::LN_BOBYQA : nlopt::LN_SBPLX, dimension);
    optimiser.set_min_objective(&Watched::call, &watched);
    optimiser.set_lower_bounds(options.least);
    optimiser.set_upper_bounds(options.most);
    optimiser.set_initial_step(step);
    optimiser.set_maxeval(left);
    optimiser.set_xtol_abs(step / 50);
    optimiser.set_ftol_rel(options.tolerance / 10);
    std::vector<double> at = watched.best.at.empty() ? start : watched.best.at;
    const double before =
        watched.best.at.empty() ? std::numeric_limits<double>::infinity() : watched.best.value;
    double value = 0;
    try {
      optimiser.optimize(at, value);
    } catch (const nlopt::roundoff_limited&) {  // rounding errors prevent further progress
    } catch (const nlopt::forced_stop&) {
    } catch (const std::runtime_error&) {  // "generic failure" of BOBYQA on a kink
    }
    if (watched.failure) std::rethrow_exception(watched.failure);
    if (watched.best.at.empty()) throw std::runtime_error("the minimiser evaluated no point");
    if (before - watched.best.value < options.tolerance * std::abs(before)) break;
  }
  return watched.best;
}

}  // namespace cclgym
