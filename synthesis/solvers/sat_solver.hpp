// Satisfiability of Boolean formulas, by CaDiCaL.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "synthesis/solvers/deadline.hpp"

namespace cclgym::synthesis {

/// A literal: variable number (from 1 on), negative for the negated variable.
using Literal = int;

enum class SatResult : std::uint8_t { Satisfiable, Unsatisfiable, Unknown };

/// An incremental SAT solver. It keeps all clauses that were added, so that the formula can be
/// written out with the proof.
class SatSolver {
 public:
  SatSolver();
  ~SatSolver();
  SatSolver(const SatSolver&) = delete;
  SatSolver& operator=(const SatSolver&) = delete;

  /// A new variable's positive literal.
  [[nodiscard]] Literal new_variable() { return ++variables_; }
  [[nodiscard]] int variables() const { return variables_; }
  [[nodiscard]] std::int64_t clauses() const { return clauses_; }
  void add_clause(std::span<const Literal> literals);
  void add_clause(std::initializer_list<Literal> literals) {
    add_clause(std::span<const Literal>(literals.begin(), literals.size()));
  }

  /// Seed of the solver's random choices; call it before the first clause.
  void set_seed(int seed);
  /// Writes a DRAT proof in binary form to a file from now on; call it before the first clause.
  /// Inferences that are not reverse unit propagation (RUP) are switched off. Throws UserError if
  /// the file cannot be written.
  void trace_proof(const std::string& path);
  /// The same, but the proof is kept in memory.
  void trace_proof();
  /// Completes the proof. Returns the text of a proof that was kept in memory.
  std::string close_proof();

  /// Bounds the number of conflicts of the next solve(), which then returns Unknown after the same
  /// steps on every machine.
  void limit_conflicts(std::int64_t conflicts);
  /// Solves under assumptions. Unknown after the deadline, after the conflicts of limit_conflicts,
  /// or once stop() was called.
  [[nodiscard]] SatResult solve(std::span<const Literal> assumptions = {},
                                const Deadline& deadline = {});
  /// Makes a running solve() return Unknown soon; may be called from another thread. Stays in force
  /// until the solver is destroyed.
  void stop();
  /// Value of a literal in the last satisfying assignment.
  [[nodiscard]] bool value(Literal literal) const;

  /// The formula in DIMACS.
  [[nodiscard]] std::string dimacs() const;

 private:
  struct Solver;
  std::unique_ptr<Solver> solver_;
  int variables_ = 0;
  std::int64_t clauses_ = 0;
  std::vector<Literal> formula_;  ///< clauses, each ended by 0
};

/// Adds a sequential counter (Sinz, CP 2005): clauses that allow at most `bound` of the literals,
/// > 0, to be true, and literals that follow if at least 1, 2, ... of them are, which it returns:
/// as many as there are literals, at most `bound`.
std::vector<Literal> add_counter(SatSolver& solver, std::span<const Literal> literals,
                                 std::int64_t bound);

/// Adds clauses for: at most `bound` of the literals are true (add_counter). bound 0 negates all.
void add_at_most(SatSolver& solver, std::span<const Literal> literals, int bound);

}  // namespace cclgym::synthesis
