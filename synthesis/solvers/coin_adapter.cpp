#include "synthesis/solvers/coin_adapter.hpp"

#include <CbcModel.hpp>
#include <ClpSimplex.hpp>
#include <ClpSolve.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <limits>
#include <optional>

namespace cclgym::synthesis {

namespace {

double coin_bound(double bound) {
  if (bound == kUnbounded) return COIN_DBL_MAX;
  if (bound == -kUnbounded) return -COIN_DBL_MAX;
  return bound;
}

// New rows and columns are collected, because CLP adds many at once much faster than one by one.
class ClpModel final : public LinearModel {
 public:
  ClpModel() { simplex_.setLogLevel(0); }

  void add_column(double cost, double lower, double upper) override {
    column_cost_.push_back(cost);
    column_lower_.push_back(coin_bound(lower));
    column_upper_.push_back(coin_bound(upper));
  }

  void add_row(std::span<const Term> terms, double lower, double upper) override {
    for (const Term& term : terms) {
      row_columns_.push_back(term.column);
      row_coefficients_.push_back(term.coefficient);
    }
    row_start_.push_back(static_cast<CoinBigIndex>(row_columns_.size()));
    row_lower_.push_back(coin_bound(lower));
    row_upper_.push_back(coin_bound(upper));
  }

  void set_cost(int column, double cost) override {
    add_collected();
    simplex_.setObjectiveCoefficient(column, cost);
  }

  void set_column_bounds(int column, double lower, double upper) override {
    add_collected();
    simplex_.setColumnBounds(column, coin_bound(lower), coin_bound(upper));
  }

  void limit_iterations(std::int64_t iterations) override { iterations_ = iterations; }

  [[nodiscard]] LpStatus solve(double time_limit_s) override {
    add_collected();
    if (iterations_) {
      constexpr std::int64_t kMax = std::numeric_limits<int>::max();
      simplex_.setMaximumIterations(
          static_cast<int>(std::clamp<std::int64_t>(*iterations_, 0, kMax)));
    }
    simplex_.setMaximumSeconds(time_limit_s > 0 ? time_limit_s : -1);
    if (solved_) {
      simplex_.dual();
    } else {
      // CLP would take SIGINT for itself, and a command could not be interrupted any more.
      constexpr int kInterruptHandling = 2;
      ClpSolve options;
      options.setSpecialOption(kInterruptHandling, 1);  // 1: none
      simplex_.initialSolve(options);
    }
    if (iterations_) *iterations_ -= simplex_.numberIterations();
    solved_ = simplex_.status() == 0;
    switch (simplex_.status()) {
      case 0:
        return LpStatus::Optimal;
      case 1:
        return LpStatus::Infeasible;
      case 2:
        return LpStatus::Unbounded;
      default:
        return LpStatus::Unknown;
    }
  }

  [[nodiscard]] double objective() const override { return simplex_.objectiveValue(); }

  [[nodiscard]] std::vector<double> solution() const override {
    const double* values = simplex_.primalColumnSolution();
    return {values, values + simplex_.numberColumns()};
  }

  [[nodiscard]] std::vector<double> duals() const override {
    const double* values = simplex_.dualRowSolution();
    return {values, values + simplex_.numberRows()};
  }

 private:
  void add_collected() {
    if (!column_cost_.empty()) {
      const std::vector<CoinBigIndex> starts(column_cost_.size() + 1, 0);
      simplex_.addColumns(static_cast<int>(column_cost_.size()), column_lower_.data(),
                          column_upper_.data(), column_cost_.data(), starts.data(), nullptr,
                          nullptr);
      column_cost_.clear();
      column_lower_.clear();
      column_upper_.clear();
    }
    if (!row_lower_.empty()) {
      simplex_.addRows(static_cast<int>(row_lower_.size()), row_lower_.data(), row_upper_.data(),
                       row_start_.data(), row_columns_.data(), row_coefficients_.data());
      row_lower_.clear();
      row_upper_.clear();
      row_start_.assign(1, 0);
      row_columns_.clear();
      row_coefficients_.clear();
    }
  }

  ClpSimplex simplex_;
  std::vector<double> column_cost_;
  std::vector<double> column_lower_;
  std::vector<double> column_upper_;
  std::vector<double> row_lower_;
  std::vector<double> row_upper_;
  std::vector<CoinBigIndex> row_start_{0};
  std::vector<int> row_columns_;
  std::vector<double> row_coefficients_;
  bool solved_ = false;
  std::optional<std::int64_t> iterations_;  ///< that are left; none: no limit
};

// Loads a mixed-integer program into CLP, which solves its relaxations.
void load(OsiClpSolverInterface& solver, std::span<const MipColumn> columns,
          std::span<const MipRow> rows) {
  std::vector<int> row_index;
  std::vector<int> column_index;
  std::vector<double> coefficient;
  std::vector<double> row_lower;
  std::vector<double> row_upper;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (const Term& term : rows[row].terms) {
      row_index.push_back(static_cast<int>(row));
      column_index.push_back(term.column);
      coefficient.push_back(term.coefficient);
    }
    row_lower.push_back(coin_bound(rows[row].lower));
    row_upper.push_back(coin_bound(rows[row].upper));
  }
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> cost;
  for (const MipColumn& column : columns) {
    lower.push_back(coin_bound(column.lower));
    upper.push_back(coin_bound(column.upper));
    cost.push_back(column.cost);
  }
  CoinPackedMatrix matrix(true, row_index.data(), column_index.data(), coefficient.data(),
                          static_cast<CoinBigIndex>(coefficient.size()));
  matrix.setDimensions(static_cast<int>(rows.size()), static_cast<int>(columns.size()));
  solver.loadProblem(matrix, lower.data(), upper.data(), cost.data(), row_lower.data(),
                     row_upper.data());
  for (std::size_t column = 0; column < columns.size(); ++column) {
    if (columns[column].whole) solver.setInteger(static_cast<int>(column));
  }
}

class Solvers final : public CoinSolvers {
 public:
  [[nodiscard]] std::unique_ptr<LinearModel> linear_model() const override {
    return std::make_unique<ClpModel>();
  }

  [[nodiscard]] MipSolution solve(std::span<const MipColumn> columns, std::span<const MipRow> rows,
                                  double time_limit_s, double relative_gap) const override {
    OsiClpSolverInterface solver;
    solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);
    solver.messageHandler()->setLogLevel(0);
    load(solver, columns, rows);
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
      result.values.assign(model.bestSolution(), model.bestSolution() + columns.size());
      result.status = model.isProvenOptimal() ? MipStatus::Optimal : MipStatus::Feasible;
    } else {
      result.status = model.isProvenInfeasible() ? MipStatus::Infeasible : MipStatus::Unknown;
    }
    return result;
  }
};

}  // namespace

}  // namespace cclgym::synthesis

const cclgym::synthesis::CoinSolvers* cclgym_coin_solvers() {
  static const cclgym::synthesis::Solvers solvers;
  return &solvers;
}
