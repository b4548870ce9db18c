#include "synthesis/solvers/mixed_integer_program.hpp"

#include <CbcModel.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>

namespace cclgym::synthesis {

namespace {

double osi_bound(double bound) {
  if (bound == kUnbounded) return COIN_DBL_MAX;
  if (bound == -kUnbounded) return -COIN_DBL_MAX;
  return bound;
}

}  // namespace

int MixedIntegerProgram::add_column(double cost, double lower, double upper, bool whole) {
  columns_.push_back({cost, osi_bound(lower), osi_bound(upper), whole});
  return columns() - 1;
}

void MixedIntegerProgram::add_row(std::span<const Term> terms, double lower, double upper) {
  rows_.push_back({{terms.begin(), terms.end()}, osi_bound(lower), osi_bound(upper)});
}

MipSolution MixedIntegerProgram::solve(double time_limit_s, double relative_gap) const {
  std::vector<int> row_index;
  std::vector<int> column_index;
  std::vector<double> coefficient;
  std::vector<double> row_lower;
  std::vector<double> row_upper;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (const Term& term : rows_[row].terms) {
      row_index.push_back(static_cast<int>(row));
      column_index.push_back(term.column);
      coefficient.push_back(term.coefficient);
    }
    row_lower.push_back(rows_[row].lower);
    row_upper.push_back(rows_[row].upper);
  }
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> cost;
  for (const Column& column : columns_) {
    lower.push_back(column.lower);
    upper.push_back(column.upper);
    cost.push_back(column.cost);
  }
  CoinPackedMatrix matrix(true, row_index.data(), column_index.data(), coefficient.data(),
                          static_cast<CoinBigIndex>(coefficient.size()));
  matrix.setDimensions(rows(), columns());
  OsiClpSolverInterface solver;
  solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);
  solver.messageHandler()->setLogLevel(0);
  solver.loadProblem(matrix, lower.data(), upper.data(), cost.data(), row_lower.data(),
                     row_upper.data());
  for (int column = 0; column < columns(); ++column) {
    if (columns_[static_cast<std::size_t>(column)].whole) solver.setInteger(column);
  }
  CbcModel model(solver);
  model.setLogLevel(0);
  model.messageHandler()->setLogLevel(0);
  model.solver()->messageHandler()->setLogLevel(0);
  if (time_limit_s > 0) model.setMaximumSeconds(time_limit_s);
  if (relative_gap > 0) model.setAllowableFractionGap(relative_gap);
  model.initialSolve();
  MipSolution result;
  if (model.solver()->isProvenPrimalInfeasible()) {
    result.status = MipStatus::Infeasible;
    return result;
  }
  model.branchAndBound();
  result.bound = model.getBestPossibleObjValue();
  if (model.bestSolution() != nullptr) {
    result.objective = model.getObjValue();
    result.values.assign(model.bestSolution(), model.bestSolution() + columns());
    result.status = model.isProvenOptimal() ? MipStatus::Optimal : MipStatus::Feasible;
  } else {
    result.status = model.isProvenInfeasible() ? MipStatus::Infeasible : MipStatus::Unknown;
  }
  return result;
}

}  // namespace cclgym::synthesis
