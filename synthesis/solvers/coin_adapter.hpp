// The only interface to COIN-OR's solvers: CLP (linear programs) and CBC (mixed-integer programs).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "synthesis/solvers/linear_program.hpp"
#include "synthesis/solvers/mixed_integer_program.hpp"

namespace cclgym::synthesis {

/// The rows and columns of a LinearProgram, whose functions have the same names and meanings. Time
/// limits are Deadline::solver_limit_s().
class LinearModel {
 public:
  virtual ~LinearModel() = default;
  virtual void add_column(double cost, double lower, double upper) = 0;
  virtual void add_row(std::span<const Term> terms, double lower, double upper) = 0;
  virtual void set_cost(int column, double cost) = 0;
  virtual void set_column_bounds(int column, double lower, double upper) = 0;
  virtual void limit_iterations(std::int64_t iterations) = 0;
  [[nodiscard]] virtual LpStatus solve(double time_limit_s) = 0;
  [[nodiscard]] virtual double objective() const = 0;
  [[nodiscard]] virtual std::vector<double> solution() const = 0;
  [[nodiscard]] virtual std::vector<double> duals() const = 0;
};

class CoinSolvers {
 public:
  virtual ~CoinSolvers() = default;
  [[nodiscard]] virtual std::unique_ptr<LinearModel> linear_model() const = 0;
  /// MixedIntegerProgram::solve of these columns and rows.
  [[nodiscard]] virtual MipSolution solve(std::span<const MipColumn> columns,
                                          std::span<const MipRow> rows, double time_limit_s,
                                          double relative_gap) const = 0;
};

/// A program either contains the solvers (coin_direct.cpp) or loads them with the first linear or
/// mixed-integer program (coin_lazy.cpp), because loading them, with OpenBLAS and LAPACK, takes a
/// third of the start of the command line. The second throws LibraryMissing if the library cannot
/// be loaded.
[[nodiscard]] const CoinSolvers& coin_solvers();

}  // namespace cclgym::synthesis

/// The only export of the library.
extern "C" const cclgym::synthesis::CoinSolvers* cclgym_coin_solvers();
