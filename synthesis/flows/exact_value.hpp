// Values of linear programs in exact arithmetic, with whole numbers of any size in between.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "synthesis/flows/exact_program.hpp"

namespace cclgym::synthesis {

/// A value, or the reason why there is none: something is infeasible, or the value does not fit
/// into a fraction of 64-bit numbers.
struct ExactValue {
  std::optional<Rational> value{};
  std::string problem{};  ///< empty if there is a value
};

/// Bound that dual values (by row) prove: see DualCertificate. None if a row with a dual value or a
/// column with a reduced cost lacks the bound that the sign needs.
[[nodiscard]] ExactValue bound_of_duals(const ExactProgram& program,
                                        const std::vector<Rational>& duals);

/// Cost of a solution (by column). None if it violates a bound or a row.
[[nodiscard]] ExactValue cost_of_solution(const ExactProgram& program,
                                          const std::vector<Rational>& values);

}  // namespace cclgym::synthesis
