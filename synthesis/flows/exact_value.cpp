#include "synthesis/flows/exact_value.hpp"

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <fmt/format.h>
#include <limits>

#include "core/index.hpp"

namespace cclgym::synthesis {

namespace {

using Whole = boost::multiprecision::cpp_int;

// Fractions over one denominator, so that sums need no greatest common divisors.
struct OverCommon {
  Whole denominator = 1;
  std::vector<Whole> numerators;

  explicit OverCommon(const std::vector<Rational>& values) {
    for (const Rational& value : values) {
      denominator = boost::multiprecision::lcm(denominator, Whole(value.denominator()));
    }
    numerators.reserve(values.size());
    for (const Rational& value : values) {
      numerators.emplace_back(denominator / value.denominator() * value.numerator());
    }
  }
  // The fraction in lowest terms; none if it does not fit into 64-bit numbers.
  [[nodiscard]] std::optional<Rational> value(const Whole& numerator) const {
    const Whole divisor = boost::multiprecision::gcd(numerator, denominator);
    const Whole above = numerator / divisor;
    const Whole below = denominator / divisor;
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    if (below > kMax || above > kMax || above < -kMax) return std::nullopt;
    return Rational(static_cast<std::int64_t>(above), static_cast<std::int64_t>(below));
  }
  [[nodiscard]] std::string text(const Whole& numerator) const {
    const std::optional<Rational> number = value(numerator);
    return number ? text_of(*number) : numerator.str() + "/" + denominator.str();
  }
  [[nodiscard]] ExactValue result(const Whole& numerator) const {
    const std::optional<Rational> number = value(numerator);
    if (number) return {.value = number};
    return {.problem = fmt::format("the value {} does not fit into a fraction of 64-bit numbers",
                                   text(numerator))};
  }
};

// Adds factor * (the bound that the sign of the factor selects); false if there is no such bound.
template <class Bounded>
bool add_at_bound(Whole& sum, const Whole& factor, const Bounded& bounded) {
  if (factor == 0) return true;
  const std::optional<std::int64_t>& bound = factor > 0 ? bounded.lower : bounded.upper;
  if (!bound) return false;
  if (*bound != 0) sum += factor * *bound;
  return true;
}

}  // namespace

ExactValue bound_of_duals(const ExactProgram& program, const std::vector<Rational>& duals) {
  const OverCommon scaled(duals);
  const auto lacks_bound = [&](const char* place, std::size_t index, const char* value_name,
                               const Whole& factor) -> ExactValue {
    return {.problem = fmt::format("{} {} has the {} {} but no {} bound", place, index, value_name,
                                   scaled.text(factor), factor > 0 ? "lower" : "upper")};
  };
  std::vector<Whole> reduced;
  reduced.reserve(program.columns.size());
  for (const ExactColumn& column : program.columns) {
    reduced.emplace_back(scaled.denominator * column.cost);
  }
  Whole sum = 0;
  for (std::size_t k = 0; k < program.rows.size(); ++k) {
    const Whole& dual = scaled.numerators[k];
    if (dual == 0) continue;
    if (!add_at_bound(sum, dual, program.rows[k])) return lacks_bound("row", k, "dual value", dual);
    for (const ExactTerm& term : program.rows[k].terms) {
      reduced[at(term.column)] -= dual * term.coefficient;
    }
  }
  for (std::size_t k = 0; k < program.columns.size(); ++k) {
    if (!add_at_bound(sum, reduced[k], program.columns[k])) {
      return lacks_bound("column", k, "reduced cost", reduced[k]);
    }
  }
  return scaled.result(sum);
}

ExactValue cost_of_solution(const ExactProgram& program, const std::vector<Rational>& values) {
  const OverCommon scaled(values);
  const auto within = [&](const Whole& sum, const auto& bounded) {
    return (!bounded.lower || sum >= scaled.denominator * *bounded.lower) &&
           (!bounded.upper || sum <= scaled.denominator * *bounded.upper);
  };
  const auto outside = [&](const char* place, std::size_t index, const Whole& sum) -> ExactValue {
    return {.problem = fmt::format("{} {} has the value {}, outside its bounds", place, index,
                                   scaled.text(sum))};
  };
  Whole cost = 0;
  for (std::size_t k = 0; k < program.columns.size(); ++k) {
    const Whole& value = scaled.numerators[k];
    if (!within(value, program.columns[k])) return outside("column", k, value);
    cost += value * program.columns[k].cost;
  }
  for (std::size_t k = 0; k < program.rows.size(); ++k) {
    Whole sum = 0;
    for (const ExactTerm& term : program.rows[k].terms) {
      sum += scaled.numerators[at(term.column)] * term.coefficient;
    }
    if (!within(sum, program.rows[k])) return outside("row", k, sum);
  }
  return scaled.result(cost);
}

}  // namespace cclgym::synthesis
