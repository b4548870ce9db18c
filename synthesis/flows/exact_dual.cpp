#include "synthesis/flows/exact_dual.hpp"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/flows/exact_value.hpp"
#include "synthesis/solvers/linear_program.hpp"

namespace cclgym::synthesis {

namespace {

// Tolerances of the rounding, the likeliest first: noise of the solver is about 1e-12, and a
// fraction with denominator d is recognised if the tolerance is well below 1 / d^2.
constexpr std::array kTolerances{1e-9, 1e-8, 1e-10, 1e-7, 1e-11, 1e-6};
constexpr double kLargest = 9e15;
constexpr double kEqual = 1e-9;  // relative difference of equal values

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
    const std::optional<Rational> bound = bound_of_duals(program, *fractions).value;
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
    const std::optional<Rational> bound = bound_of_duals(program, fractions).value;
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
    const std::optional<Rational> cost = cost_of_solution(program, *fractions).value;
    if (!cost) continue;
    if (!best || *cost < best->cost) best = ExactSolution{std::move(*fractions), *cost};
    const double value = boost::rational_cast<double>(best->cost);
    if (value <= expected + kEqual * std::max(1.0, std::abs(expected))) break;
  }
  return best;
}

namespace {

void solve_or_throw(LinearProgram& solver, const ExactProgram& program, const std::string& subject,
                    const Deadline& deadline) {
  program.load(solver);
  switch (solver.solve(deadline)) {
    case LpStatus::Optimal:
      return;
    case LpStatus::Infeasible:
      throw UserError(subject + " has no solution");
    case LpStatus::Unbounded:
      throw UserError(subject + " has no finite optimum");
    case LpStatus::Unknown:
      throw UserError(fmt::format("{} was not solved within {} s", subject, deadline.limit_s()));
  }
}

}  // namespace

DualCertificate solve_bound(const ExactProgram& program, const std::string& subject,
                            const Deadline& deadline) {
  LinearProgram solver;
  solve_or_throw(solver, program, subject, deadline);
  std::optional<DualCertificate> certificate = certify_dual(program, solver.duals());
  const double least = solver.objective() - 1e-6 * std::max(1.0, std::abs(solver.objective()));
  if (!certificate || boost::rational_cast<double>(certificate->bound) < least) {
    throw UserError(
        fmt::format("{}: the optimum {:.9g} is not proved", subject, solver.objective()));
  }
  return std::move(*certificate);
}

ExactOptimum solve_exactly(const ExactProgram& program, const std::string& subject,
                           const Deadline& deadline) {
  LinearProgram solver;
  solve_or_throw(solver, program, subject, deadline);
  const std::vector<double> duals = solver.duals();
  const std::vector<double> values = solver.solution();
  std::optional<DualCertificate> certificate = certify_dual(program, duals);
  std::optional<ExactSolution> solution = certify_solution(program, values);
  if (!certificate || !solution || certificate->bound != solution->cost) {
    throw UserError(
        fmt::format("{}: the optimum {:.9g} is not proved exactly; bound {}, solution "
                    "{}",
                    subject, solver.objective(), certificate ? text_of(certificate->bound) : "none",
                    solution ? text_of(solution->cost) : "none"));
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
