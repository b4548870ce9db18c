#include "synthesis/solvers/linear_program.hpp"

#include <ClpSimplex.hpp>
#include <ClpSolve.hpp>

#include "core/index.hpp"

namespace cclgym::synthesis {

namespace {

double clp_bound(double bound) {
  if (bound == kUnbounded) return COIN_DBL_MAX;
  if (bound == -kUnbounded) return -COIN_DBL_MAX;
  return bound;
}

}  // namespace

// New rows and columns are collected, because CLP adds many at once much faster than one by one.
struct LinearProgram::Model {
  ClpSimplex simplex;
  std::vector<double> column_cost;
  std::vector<double> column_lower;
  std::vector<double> column_upper;
  std::vector<double> row_lower;
  std::vector<double> row_upper;
  std::vector<CoinBigIndex> row_start{0};
  std::vector<int> row_columns;
  std::vector<double> row_coefficients;
  bool solved = false;

  Model() { simplex.setLogLevel(0); }

  void add_collected() {
    if (!column_cost.empty()) {
      const std::vector<CoinBigIndex> starts(column_cost.size() + 1, 0);
      simplex.addColumns(static_cast<int>(column_cost.size()), column_lower.data(),
                         column_upper.data(), column_cost.data(), starts.data(), nullptr, nullptr);
      column_cost.clear();
      column_lower.clear();
      column_upper.clear();
    }
    if (!row_lower.empty()) {
      simplex.addRows(static_cast<int>(row_lower.size()), row_lower.data(), row_upper.data(),
                      row_start.data(), row_columns.data(), row_coefficients.data());
      row_lower.clear();
      row_upper.clear();
      row_start.assign(1, 0);
      row_columns.clear();
      row_coefficients.clear();
    }
  }
};

LinearProgram::LinearProgram() : model_(std::make_unique<Model>()) {}
LinearProgram::~LinearProgram() = default;

int LinearProgram::add_column(double cost, double lower, double upper) {
  model_->column_cost.push_back(cost);
  model_->column_lower.push_back(clp_bound(lower));
  model_->column_upper.push_back(clp_bound(upper));
  return columns_++;
}

int LinearProgram::add_row(std::span<const Term> terms, double lower, double upper) {
  for (const Term& term : terms) {
    model_->row_columns.push_back(term.column);
    model_->row_coefficients.push_back(term.coefficient);
  }
  model_->row_start.push_back(static_cast<CoinBigIndex>(model_->row_columns.size()));
  model_->row_lower.push_back(clp_bound(lower));
  model_->row_upper.push_back(clp_bound(upper));
  return rows_++;
}

void LinearProgram::set_cost(int column, double cost) {
  model_->add_collected();
  model_->simplex.setObjectiveCoefficient(column, cost);
}

void LinearProgram::set_column_bounds(int column, double lower, double upper) {
  model_->add_collected();
  model_->simplex.setColumnBounds(column, clp_bound(lower), clp_bound(upper));
}

LpStatus LinearProgram::solve(double time_limit_s) {
  model_->add_collected();
  ClpSimplex& simplex = model_->simplex;
  simplex.setMaximumSeconds(time_limit_s > 0 ? time_limit_s : -1);
  if (model_->solved) {
    simplex.dual();
  } else {
    // CLP would take SIGINT for itself, and a command could not be interrupted any more.
    constexpr int kInterruptHandling = 2;
    ClpSolve options;
    options.setSpecialOption(kInterruptHandling, 1);  // 1: none
    simplex.initialSolve(options);
  }
  model_->solved = simplex.status() == 0;
  switch (simplex.status()) {
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

double LinearProgram::objective() const { return model_->simplex.objectiveValue(); }

std::vector<double> LinearProgram::solution() const {
  const double* values = model_->simplex.primalColumnSolution();
  return {values, values + columns_};
}

std::vector<double> LinearProgram::duals() const {
  const double* values = model_->simplex.dualRowSolution();
  return {values, values + rows_};
}

}  // namespace cclgym::synthesis
