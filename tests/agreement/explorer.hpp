// All orders of execution of a small program, tried one after the other.
#pragma once

#include <cstddef>

#include "collectives/ir.hpp"

namespace cclgym::test {

struct Exploration {
  bool complete = false;         ///< were all orders covered?
  bool wrong = false;            ///< does an order end with a wrong output, or stop?
  bool order_dependent = false;  ///< does some step read, or an output end with, another value in
                                 ///< another order?
  std::size_t states = 0;        ///< that were visited
};

/// Runs a program of good form (see verify) on random numbers, with room for any number of
/// messages, in every order that can differ, but visits at most `most_states` states. A step loads
/// in one turn and stores in another, so that two blocks may both load before either stores.
///
/// Turns of steps whose places no other block of their GPU writes, or reads if they write, commute
/// with all that others do, and once possible stay so (connections have one sender and one
/// receiver): they are run as soon as they can be, and only the others in every order.
[[nodiscard]] Exploration explore(const ThreadBlockProgram& program, std::size_t most_states);

}  // namespace cclgym::test
