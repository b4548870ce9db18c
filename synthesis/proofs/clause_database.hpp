// Clauses with two watched literals each, for unit propagation.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace cclgym::synthesis {

/// Clauses over variables 1 .. n; a negative number is a negated variable. Literals that follow
/// from the clauses alone stay assigned.
class ClauseDatabase {
 public:
  explicit ClauseDatabase(int variables);

  /// Adds a clause without repeated literals.
  void add(std::span<const int> literals);
  /// Removes a clause with these literals in any order; false if there is none.
  [[nodiscard]] bool remove(std::span<const int> literals);
  /// True if the clauses contradict each other by unit propagation.
  [[nodiscard]] bool contradiction() const { return contradiction_; }
  /// True if the negations of all literals lead to a contradiction by unit propagation.
  [[nodiscard]] bool implies(std::span<const int> literals);
  [[nodiscard]] int variables() const { return variables_; }

 private:
  struct Clause {
    std::size_t first = 0;
    std::uint32_t size = 0;
    bool removed = false;
  };
  struct Watch {
    std::uint32_t clause = 0;
    int blocker = 0;  ///< a literal of the clause: if it is true, the clause needs no visit
  };

  [[nodiscard]] static std::size_t index(int literal);
  [[nodiscard]] int value(int literal) const { return values_[index(literal)]; }
  void assign(int literal);
  /// False if a clause has only false literals.
  [[nodiscard]] bool propagate();
  [[nodiscard]] bool propagate_literal(int falsified);
  [[nodiscard]] static std::uint64_t hash(std::span<const int> literals);

  int variables_;
  bool contradiction_ = false;
  std::vector<int> literals_;  ///< all clauses, one after the other
  std::vector<Clause> clauses_;
  std::vector<std::vector<Watch>> watches_;  ///< by literal
  std::vector<signed char> values_;          ///< by literal: 1 true, -1 false, 0 open
  std::vector<int> trail_;
  std::size_t propagated_ = 0;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;  ///< only looked up
};

}  // namespace cclgym::synthesis
