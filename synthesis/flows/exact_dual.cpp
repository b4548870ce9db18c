#include "synthesis/flows/exact_dual.hpp"

#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/solvers/linear_program.hpp"

namespace cclgym::synthesis {

namespace {

using Integer = boost::multiprecision::cpp_int;

// Tolerances of the rounding, the likeliest first: noise of the solver is about 1e-12, and a
// fraction with denominator d is recognised if the tolerance is well below 1 / d^2.
constexpr std::array kTolerances{1e-9, 1e-8, 1e-10, 1e-7, 1e-11, 1e-6};
constexpr double kLargest = 9e15;
constexpr double kEqual = 1e-9;  // relative difference of equal values

std::optional<Rational> reduced_fraction(Integer numerator, Integer denominator) {
  const Integer divisor = boost::multiprecision::gcd(numerator, denominator);
  if (divisor > 1) {
    numerator /= divisor;
    denominator /= divisor;
  }
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  if (denominator > kMax || boost::multiprecision::abs(numerator) > kMax) return std::nullopt;
  return Rational(static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator));
}

std::optional<std::vector<Rational>> rounded(std::span<const double> values, double tolerance) {
  std::vector<Rational> result;
  result.reserve(values.size());
  for (const double value : values) {
    const auto fraction = simple_fraction(value, tolerance * std::max(1.0, std::abs(value)));
    if (!fraction) return std::nullopt;
    result.push_back(*fraction);
  }
  return result;
}

// Numbers over one denominator.
struct OverCommon {
  Integer denominator = 1;
  std::vector<Integer> numerators;

  explicit OverCommon(const std::vector<Rational>& values) {
    for (const Rational& value : values) {
      denominator = boost::multiprecision::lcm(denominator, Integer(value.denominator()));
    }
    for (const Rational& value : values) {
      numerators.emplace_back(Integer(value.numerator()) * (denominator / value.denominator()));
    }
  }
};

// The bound that dual values prove: none if they are not feasible.
std::optional<Rational> proven_bound(const ExactProgram& program,
                                     const std::vector<Rational>& duals) {
  const OverCommon scaled(duals);
  std::vector<Integer> reduced;
  for (const ExactColumn& column : program.columns) {
    reduced.emplace_back(scaled.denominator * column.cost);
  }
  Integer sum = 0;
  const auto add = [&](const Integer& factor, const auto& bounded) {
    if (factor == 0) return true;
    const auto& bound = factor > 0 ? bounded.lower : bounded.upper;
    if (!bound) return false;
    sum += factor * *bound;
    return true;
  };
  for (std::size_t k = 0; k < program.rows.size(); ++k) {
    const Integer& dual = scaled.numerators[k];
    if (dual == 0) continue;
    if (!add(dual, program.rows[k])) return std::nullopt;
    for (const ExactTerm& term : program.rows[k].terms) {
      reduced[at(term.column)] -= dual * term.coefficient;
    }
  }
  for (std::size_t k = 0; k < program.columns.size(); ++k) {
    if (!add(reduced[k], program.columns[k])) return std::nullopt;
  }
  return reduced_fraction(sum, scaled.denominator);
}

std::optional<Rational> exact_cost(const ExactProgram& program,
                                   const std::vector<Rational>& values) {
  const OverCommon scaled(values);
  Integer sum = 0;
  for (std::size_t k = 0; k < program.columns.size(); ++k) {
    sum += scaled.numerators[k] * program.columns[k].cost;
  }
  return reduced_fraction(sum, scaled.denominator);
}

}  // namespace

std::optional<Rational> simple_fraction(double value, double tolerance) {
  // Convergents p / q of the continued fraction.
  double rest = std::abs(value);
  double p_before = 0;
  double q_before = 1;
  double p = 1;
  double q = 0;
  constexpr int kTerms = 40;
  for (int term = 0; term < kTerms; ++term) {
    const double whole = std::floor(rest);
    const double p_next = whole * p + p_before;
    const double q_next = whole * q + q_before;
    if (!(p_next < kLargest) || !(q_next < kLargest)) return std::nullopt;
    p_before = p;
    q_before = q;
    p = p_next;
    q = q_next;
    if (std::abs(p / q - std::abs(value)) <= tolerance) {
      const auto numerator = static_cast<std::int64_t>(p);
      return Rational(value < 0 ? -numerator : numerator, static_cast<std::int64_t>(q));
    }
    if (rest <= whole) return std::nullopt;
    rest = 1 / (rest - whole);
  }
  return std::nullopt;
}

std::optional<DualCertificate> certify_dual(const ExactProgram& program,
                                            std::span<const double> duals) {
  double expected = 0;  // bound by floating-point arithmetic, for an early stop
  std::vector<double> reduced;
  for (const ExactColumn& column : program.columns) {
    reduced.push_back(static_cast<double>(column.cost));
  }
  const auto add = [&](double factor, const auto& bounded) {
    const auto& bound = factor > 0 ? bounded.lower : bounded.upper;
    if (bound) expected += factor * static_cast<double>(*bound);
  };
  for (std::size_t k = 0; k < program.rows.size(); ++k) {
    add(duals[k], program.rows[k]);
    for (const ExactTerm& term : program.rows[k].terms) {
      reduced[at(term.column)] -= duals[k] * static_cast<double>(term.coefficient);
    }
  }
  for (std::size_t k = 0; k < program.columns.size(); ++k) add(reduced[k], program.columns[k]);

  std::optional<std::vector<Rational>> best;
  Rational best_bound(0);
  for (const double tolerance : kTolerances) {
    auto fractions = rounded(duals, tolerance);
    if (!fractions) continue;
    const std::optional<Rational> bound = proven_bound(program, *fractions);
    if (!bound) continue;
    if (!best || *bound > best_bound) {
      best = std::move(fractions);
      best_bound = *bound;
    }
    const double value = boost::rational_cast<double>(best_bound);
    if (value >= expected - kEqual * std::max(1.0, std::abs(expected))) break;
  }
  if (!best) {
    constexpr double kDenominator = 1 << 30;
    std::vector<Rational> fractions;
    for (const double dual : duals) {
      if (!(std::abs(dual) * kDenominator < kLargest)) return std::nullopt;
      fractions.emplace_back(std::llround(dual * kDenominator), std::int64_t{1} << 30);
    }
    const std::optional<Rational> bound = proven_bound(program, fractions);
    if (!bound) return std::nullopt;
    best = std::move(fractions);
    best_bound = *bound;
  }
  return DualCertificate{program, std::move(*best), best_bound};
}

std::optional<ExactSolution> certify_solution(const ExactProgram& program,
                                              std::span<const double> values) {
  double expected = 0;
  for (std::size_t k = 0; k < program.columns.size(); ++k) {
    expected += values[k] * static_cast<double>(program.columns[k].cost);
  }
  std::optional<ExactSolution> best;
  for (const double tolerance : kTolerances) {
    auto fractions = rounded(values, tolerance);
    if (!fractions) continue;
    const std::optional<Rational> cost = exact_cost(program, *fractions);
    if (!cost || !check_solution(program, *fractions, *cost).empty()) continue;
    if (!best || *cost < best->cost) best = ExactSolution{std::move(*fractions), *cost};
    const double value = boost::rational_cast<double>(best->cost);
    if (value <= expected + kEqual * std::max(1.0, std::abs(expected))) break;
  }
  return best;
}

namespace {

void solve_or_throw(LinearProgram& solver, const ExactProgram& program, const std::string& subject,
                    double time_limit_s) {
  program.load(solver);
  switch (solver.solve(time_limit_s)) {
    case LpStatus::Optimal:
      return;
    case LpStatus::Infeasible:
      throw UserError(subject + " has no solution");
    case LpStatus::Unbounded:
      throw UserError(subject + " has no finite optimum");
    case LpStatus::Unknown:
      throw UserError(fmt::format("{} was not solved within {} s", subject, time_limit_s));
  }
}

}  // namespace

DualCertificate solve_bound(const ExactProgram& program, const std::string& subject,
                            double time_limit_s) {
  LinearProgram solver;
  solve_or_throw(solver, program, subject, time_limit_s);
  std::optional<DualCertificate> certificate = certify_dual(program, solver.duals());
  const double least = solver.objective() - 1e-6 * std::max(1.0, std::abs(solver.objective()));
  if (!certificate || boost::rational_cast<double>(certificate->bound) < least) {
    throw UserError(
        fmt::format("{}: the optimum {:.9g} is not proved", subject, solver.objective()));
  }
  return std::move(*certificate);
}

ExactOptimum solve_exactly(const ExactProgram& program, const std::string& subject,
                           double time_limit_s) {
  LinearProgram solver;
  solve_or_throw(solver, program, subject, time_limit_s);
  const std::vector<double> duals = solver.duals();
  const std::vector<double> values = solver.solution();
  std::optional<DualCertificate> certificate = certify_dual(program, duals);
  std::optional<ExactSolution> solution = certify_solution(program, values);
  if (!certificate || !solution || certificate->bound != solution->cost) {
    const auto text = [](const Rational& value) {
      return fmt::format("{}/{}", value.numerator(), value.denominator());
    };
    throw UserError(
        fmt::format("{}: the optimum {:.9g} is not proved exactly; bound {}, solution "
                    "{}",
                    subject, solver.objective(), certificate ? text(certificate->bound) : "none",
                    solution ? text(solution->cost) : "none"));
  }
  return {std::move(*solution), std::move(*certificate)};
}

std::optional<std::int64_t> common_denominator(const std::vector<Rational>& values,
                                               std::int64_t limit) {
  std::int64_t result = 1;
  for (const Rational& value : values) {
    const std::int64_t factor = value.denominator() / std::gcd(result, value.denominator());
    if (factor > limit / result) return std::nullopt;
    result *= factor;
  }
  return result;
}

}  // namespace cclgym::synthesis
