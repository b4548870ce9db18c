#include "synthesis/solvers/linear_program.hpp"

#include "synthesis/solvers/coin_adapter.hpp"

namespace cclgym::synthesis {

LinearProgram::LinearProgram() : model_(coin_solvers().linear_model()) {}
LinearProgram::~LinearProgram() = default;

int LinearProgram::add_column(double cost, double lower, double upper) {
  model_->add_column(cost, lower, upper);
  return columns_++;
}

int LinearProgram::add_row(std::span<const Term> terms, double lower, double upper) {
  model_->add_row(terms, lower, upper);
  return rows_++;
}

void LinearProgram::set_cost(int column, double cost) { model_->set_cost(column, cost); }

void LinearProgram::set_column_bounds(int column, double lower, double upper) {
  model_->set_column_bounds(column, lower, upper);
}

void LinearProgram::limit_iterations(std::int64_t iterations) {
  model_->limit_iterations(iterations);
}

LpStatus LinearProgram::solve(const Deadline& deadline) {
  return deadline.over() ? LpStatus::Unknown : model_->solve(deadline.solver_limit_s());
}

double LinearProgram::objective() const { return model_->objective(); }

std::vector<double> LinearProgram::solution() const { return model_->solution(); }

std::vector<double> LinearProgram::duals() const { return model_->duals(); }

}  // namespace cclgym::synthesis
