// Linear programs, by CLP.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "synthesis/solvers/deadline.hpp"

namespace cclgym::synthesis {

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// One coefficient of a row.
struct Term {
  int column = 0;
  double coefficient = 0;
};

enum class LpStatus : std::uint8_t { Optimal, Infeasible, Unbounded, Unknown };

class LinearModel;

/// Minimises a linear cost over columns with bounds and rows lower <= a x <= upper. Columns and
/// rows can be added between solutions; the next solution then starts from the last one.
/// The program `cclgym` loads CLP with the first one, and throws LibraryMissing if it cannot.
class LinearProgram {
 public:
  LinearProgram();
  ~LinearProgram();
  LinearProgram(const LinearProgram&) = delete;
  LinearProgram& operator=(const LinearProgram&) = delete;

  /// Adds a column and returns its index.
  int add_column(double cost, double lower = 0, double upper = kUnbounded);
  /// Adds a row and returns its index. A column may occur once.
  int add_row(std::span<const Term> terms, double lower, double upper);
  void set_cost(int column, double cost);
  void set_column_bounds(int column, double lower, double upper);

  [[nodiscard]] int columns() const { return columns_; }
  [[nodiscard]] int rows() const { return rows_; }

  /// Bounds the iterations of all later calls of solve() together: once they are used up, it
  /// returns Unknown, after the same steps on every machine.
  void limit_iterations(std::int64_t iterations);
  /// Unknown after the deadline. CLP only looks at the machine's clock: on another one, a solution
  /// that was begun is completed.
  [[nodiscard]] LpStatus solve(const Deadline& deadline = {});
  /// Cost of the last optimal solution.
  [[nodiscard]] double objective() const;
  /// Values of the columns in the last optimal solution.
  [[nodiscard]] std::vector<double> solution() const;
  /// Dual values of the rows in the last optimal solution: change of the cost per unit of the
  /// row's active bound.
  [[nodiscard]] std::vector<double> duals() const;

 private:
  std::unique_ptr<LinearModel> model_;
  int columns_ = 0;
  int rows_ = 0;
};

}  // namespace cclgym::synthesis
