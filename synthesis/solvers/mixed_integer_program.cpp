#include "synthesis/solvers/mixed_integer_program.hpp"

#include "synthesis/solvers/coin_adapter.hpp"

namespace cclgym::synthesis {

int MixedIntegerProgram::add_column(double cost, double lower, double upper, bool whole) {
  columns_.push_back({cost, lower, upper, whole});
  return columns() - 1;
}

void MixedIntegerProgram::add_row(std::span<const Term> terms, double lower, double upper) {
  rows_.push_back({{terms.begin(), terms.end()}, lower, upper});
}

MipSolution MixedIntegerProgram::solve(const Deadline& deadline, double relative_gap) const {
  if (deadline.over()) return {};
  return coin_solvers().solve(columns_, rows_, deadline.solver_limit_s(), relative_gap);
}

}  // namespace cclgym::synthesis
