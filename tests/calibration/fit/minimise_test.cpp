// Tests of the minimiser on functions with a known minimum, and of intervals on a linear problem.
#include "calibration/fit/minimise.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "calibration/fit/uncertainty.hpp"
#include "core/random.hpp"
#include "support/catch.hpp"

namespace cclgym::test {
namespace {

TEST_CASE(
    "the minimiser finds the minimum of a quadratic and of a function with a kink, within bounds",
    "[calibration][minimise]") {
  const MinimiseOptions wide{.least = {-5, -5, -5}, .most = {5, 5, 5}};
  const Minimum bowl = minimise(
      [](const std::vector<double>& x) {
        return std::pow(x[0] - 1, 2) + 3 * std::pow(x[1] + 2, 2) + std::pow(x[0] + x[2] - 1.5, 2);
      },
      {0, 0, 0}, wide);
  CHECK(bowl.at[0] == Approx(1).margin(0.02));
  CHECK(bowl.at[1] == Approx(-2).margin(0.02));
  CHECK(bowl.at[2] == Approx(0.5).margin(0.03));
  CHECK(bowl.evaluations <= 400);

  const Minimum corner = minimise([](const std::vector<double>& x) { return x[0] + x[1]; }, {0, 0},
                                  {.least = {-1, -2}, .most = {1, 1}});
  CHECK(corner.at[0] == Approx(-1).margin(0.01));
  CHECK(corner.at[1] == Approx(-2).margin(0.01));

  const Minimum kink = minimise(
      [](const std::vector<double>& x) { return std::abs(x[0] - 0.3) + std::abs(x[1] - x[0]); },
      {1, -1}, {.least = {-2, -2}, .most = {2, 2}});
  CHECK(kink.value < 0.02);
}

TEST_CASE("exceptions of the objective are passed on", "[calibration][minimise]") {
  CHECK_THROWS_AS(
      minimise([](const std::vector<double>&) -> double { throw std::invalid_argument("no"); },
               {0.0, 0.0}, {.least = {-1, -1}, .most = {1, 1}}),
      std::invalid_argument);
}

TEST_CASE("soft L1 is square where small and linear where large", "[calibration][minimise]") {
  CHECK(soft_l1(0.01, 0.3) == Approx(1e-4).epsilon(1e-3));
  CHECK(soft_l1(30, 0.3) == Approx(2 * 0.3 * 30).epsilon(0.02));
}

TEST_CASE("intervals of a line through noise are those of ordinary least squares",
          "[calibration][minimise]") {
  // y = x * slope + noise of sigma 0.05 at 400 points: the slope's standard error is
  // sigma / sqrt(sum of squares of x).
  Random random(7);
  LinearisedFit fit{.residuals = {}, .slopes = {}, .at = {0.0}, .scale = 10};
  double squares = 0;
  double gradient = 0;
  for (int i = 0; i < 400; ++i) {
    const double x = random.uniform(-1, 1);
    fit.residuals.push_back(random.normal(0, 0.05));
    fit.slopes.push_back({x});
    squares += x * x;
    gradient += x * fit.residuals.back();
  }
  // Residuals at the optimum, that is, without the part explained by the best slope.
  for (std::size_t i = 0; i < 400; ++i) fit.residuals[i] -= gradient / squares * fit.slopes[i][0];
  const double half = 1.96 * 0.05 / std::sqrt(squares);
  const Interval linearised = linearised_intervals(fit).front();
  CHECK(linearised.most == Approx(half).epsilon(0.1));
  CHECK(linearised.least == Approx(-half).epsilon(0.1));
  const Interval resampled = bootstrap_intervals(fit, 2000, 1).front();
  CHECK(resampled.most == Approx(half).epsilon(0.15));
  CHECK(resampled.least == Approx(-half).epsilon(0.15));
  const Interval again = bootstrap_intervals(fit, 2000, 1).front();
  CHECK(again.least == resampled.least);
}

// Minimum at (i, -i, …) of objective number i.
double bowl(std::size_t number, const std::vector<double>& at) {
  double value = 1;
  double centre = static_cast<double>(number);
  for (const double x : at) {
    value += std::abs(x - centre) + std::pow(x - centre, 2);
    centre = -centre;
  }
  return value;
}

TEST_CASE("searches side by side find what they find alone", "[calibration][minimise]") {
  std::vector<Search> searches;
  for (std::size_t i = 0; i < 4; ++i) {
    searches.push_back(
        {{0.5, 0.2},
         {.least = {-5, -5}, .most = {5, 5}, .evaluations = 20 + 30 * static_cast<int>(i)}});
  }
  std::size_t rounds = 0;
  const std::vector<Minimum> together =
      minimise_together(searches, [&](const std::vector<SearchPoint>& points) {
        ++rounds;
        std::vector<double> values;
        for (const SearchPoint& point : points) values.push_back(bowl(point.search, point.at));
        return values;
      });
  REQUIRE(together.size() == searches.size());
  int most = 0;
  for (std::size_t i = 0; i < searches.size(); ++i) {
    const Minimum alone = minimise([&](const std::vector<double>& at) { return bowl(i, at); },
                                   searches[i].start, searches[i].options);
    CHECK(together[i].at == alone.at);
    CHECK(together[i].value == alone.value);
    CHECK(together[i].evaluations == alone.evaluations);
    most = std::max(most, alone.evaluations);
  }
  CHECK(rounds == static_cast<std::size_t>(most));
  CHECK(minimise_together({}, {}).empty());
}

TEST_CASE("a failed evaluation ends all searches", "[calibration][minimise]") {
  const Search search{{0.5, 0.2}, {.least = {-5, -5}, .most = {5, 5}}};
  for (const std::size_t searches : {std::size_t{1}, std::size_t{3}}) {
    int rounds = 0;
    const auto evaluate = [&](const std::vector<SearchPoint>& points) {
      if (++rounds == 7) throw std::runtime_error("no simulator is left");
      std::vector<double> values;
      for (const SearchPoint& point : points) values.push_back(bowl(point.search, point.at));
      return values;
    };
    CHECK_THROWS_WITH((void)minimise_together(std::vector<Search>(searches, search), evaluate),
                      "no simulator is left");
    CHECK(rounds == 7);
  }
}

}  // namespace
}  // namespace cclgym::test
