// Mixed-integer linear programs, by CBC.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "synthesis/solvers/linear_program.hpp"

namespace cclgym::synthesis {

enum class MipStatus : std::uint8_t {
  Optimal,
  Feasible,  ///< a solution before the deadline, not proven optimal
  Infeasible,
  Unknown  ///< no solution before the deadline
};

struct MipSolution {
  MipStatus status = MipStatus::Unknown;
  double objective = 0;
  double bound = 0;              ///< no solution costs less
  std::vector<double> values{};  ///< by column; empty without a solution
};

struct MipColumn {
  double cost = 0;
  double lower = 0;
  double upper = 0;
  bool whole = false;
};

struct MipRow {
  std::vector<Term> terms{};
  double lower = 0;
  double upper = 0;
};

/// Minimises a linear cost over columns, some of them whole numbers, with rows lower <= a x <=
/// upper. Solves on one thread, with the same result each time unless the deadline comes.
class MixedIntegerProgram {
 public:
  /// Adds a column and returns its index.
  int add_column(double cost, double lower, double upper, bool whole);
  /// Adds a row. A column may occur once.
  void add_row(std::span<const Term> terms, double lower, double upper);
  [[nodiscard]] int columns() const { return static_cast<int>(columns_.size()); }
  [[nodiscard]] int rows() const { return static_cast<int>(rows_.size()); }

  /// The best solution until the deadline, as for LinearProgram::solve. `relative_gap`: stop at a
  /// solution that costs at most this fraction more than the bound.
  [[nodiscard]] MipSolution solve(const Deadline& deadline = {}, double relative_gap = 0) const;

 private:
  std::vector<MipColumn> columns_;
  std::vector<MipRow> rows_;
};

}  // namespace cclgym::synthesis
