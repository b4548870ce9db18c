// Exact values from a solver's floating-point solution: rounding to simple fractions, then proof.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "synthesis/flows/exact_program.hpp"
#include "synthesis/solvers/deadline.hpp"

namespace cclgym::synthesis {

/// The fraction with the smallest denominator among the continued-fraction convergents of `value`
/// within `tolerance` of it; none if a convergent does not fit into 64 bits first.
[[nodiscard]] std::optional<Rational> simple_fraction(double value, double tolerance);

/// Rounds dual values (by row) to fractions and proves the bound that they give in exact
/// arithmetic. Tries several tolerances, then rounding to multiples of 2^-30, which always gives a
/// bound if all columns with a cost or in a row are bounded; keeps the best bound. None if no
/// rounding is feasible or the bound's numerator and denominator do not fit into 64 bits.
[[nodiscard]] std::optional<DualCertificate> certify_dual(const ExactProgram& program,
                                                          std::span<const double> duals);

/// A solution in exact fractions.
struct ExactSolution {
  std::vector<Rational> values{};  ///< by column
  Rational cost{0};
};

/// Rounds a solution (by column) to fractions that satisfy every row and bound exactly. Tries
/// several tolerances and keeps the solution of least cost; none if no rounding is feasible.
[[nodiscard]] std::optional<ExactSolution> certify_solution(const ExactProgram& program,
                                                            std::span<const double> values);

/// Optimum of a linear program with its proof: the solution costs exactly what the certificate
/// proves.
struct ExactOptimum {
  ExactSolution solution{};
  DualCertificate certificate{};
};

/// Solves a linear program and proves the optimum. Throws UserError if there is no solution, none
/// before the deadline, or if the solution does not round to exact fractions; `subject` begins the
/// message.
[[nodiscard]] ExactOptimum solve_exactly(const ExactProgram& program, const std::string& subject,
                                         const Deadline& deadline = {});

/// Solves a linear program and proves its optimum to within 1e-6 of it, exactly if the dual values
/// are simple fractions. Throws UserError as solve_exactly().
[[nodiscard]] DualCertificate solve_bound(const ExactProgram& program, const std::string& subject,
                                          const Deadline& deadline = {});

/// Least common multiple of the denominators; none if it exceeds `limit`.
[[nodiscard]] std::optional<std::int64_t> common_denominator(const std::vector<Rational>& values,
                                                             std::int64_t limit = std::int64_t{1}
                                                                                  << 40);

}  // namespace cclgym::synthesis
