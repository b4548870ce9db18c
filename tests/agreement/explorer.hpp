// Explores all orders of execution of a small program.
#pragma once

#include <cstddef>

#include "collectives/ir.hpp"

namespace cclgym::test {

struct Exploration {
  bool complete = false;         ///< true if all orders were covered
  bool wrong = false;            ///< true if an order deadlocks or ends with a wrong output
  bool order_dependent = false;  ///< true if a value read, or a final output, depends on the order
  std::size_t states = 0;        ///< number of visited states
};

/// Runs a well-formed program (see verify) on random numbers, with room for any number of messages,
/// in every order that can make a difference, visiting at most `most_states` states. A step loads
/// in one turn and stores in another, so that two blocks may both load before either stores.
///
/// Steps on places that no other block of their GPU writes (or reads, if they write) commute with
/// all others and stay runnable once they are (connections have one sender and one receiver). They
/// run as soon as possible; only the remaining steps are tried in every order.
[[nodiscard]] Exploration explore(const ThreadBlockProgram& program, std::size_t most_states);

}  // namespace cclgym::test
