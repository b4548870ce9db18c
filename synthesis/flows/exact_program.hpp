// Linear programs in whole numbers, and proofs about them in exact arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology_models/rational.hpp"

namespace cclgym::synthesis {

class LinearProgram;

struct ExactTerm {
  int column = 0;
  std::int64_t coefficient = 0;
  friend bool operator==(const ExactTerm&, const ExactTerm&) = default;
};

struct ExactColumn {
  std::int64_t cost = 0;
  std::optional<std::int64_t> lower = 0;  ///< none: unbounded below
  std::optional<std::int64_t> upper{};    ///< none: unbounded above
  friend bool operator==(const ExactColumn&, const ExactColumn&) = default;
};

/// lower <= sum of coefficient * column <= upper. A column may occur once.
struct ExactRow {
  std::vector<ExactTerm> terms{};
  std::optional<std::int64_t> lower{};
  std::optional<std::int64_t> upper{};
  friend bool operator==(const ExactRow&, const ExactRow&) = default;
};

/// A linear program that minimises a cost, with all its numbers whole.
struct ExactProgram {
  std::vector<ExactColumn> columns{};
  std::vector<ExactRow> rows{};

  /// Adds a column and returns its index.
  int add_column(std::int64_t cost, std::optional<std::int64_t> lower = 0,
                 std::optional<std::int64_t> upper = {});
  /// Adds a row and returns its index.
  int add_row(std::vector<ExactTerm> terms, std::optional<std::int64_t> lower,
              std::optional<std::int64_t> upper);
  /// Adds the columns and rows that the solver does not have yet, in order.
  void load(LinearProgram& solver) const;
  friend bool operator==(const ExactProgram&, const ExactProgram&) = default;
};

/// Proof that no solution of a linear program costs less than `bound` (weak duality): for any
/// `duals`, a solution's cost is the sum of duals * rows and reduced costs * columns, and each
/// summand is at least its value at the bound that the factor's sign selects.
struct DualCertificate {
  ExactProgram program{};
  std::vector<Rational> duals{};  ///< by row
  Rational bound{0};
};

/// Verifies a certificate in exact arithmetic, without a solver: the program is well formed, every
/// row with a dual and every column with a reduced cost has the bound that the sign needs, and
/// these add up to `bound`. Returns the first problem in words; empty if there is none.
[[nodiscard]] std::string check_dual(const DualCertificate& certificate);

/// Verifies that `values` (by column) satisfy all bounds and rows and cost `cost`, in exact
/// arithmetic. Returns the first problem in words; empty if there is none.
[[nodiscard]] std::string check_solution(const ExactProgram& program,
                                         const std::vector<Rational>& values, const Rational& cost);

}  // namespace cclgym::synthesis
