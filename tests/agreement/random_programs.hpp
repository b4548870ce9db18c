// Random correct programs of the chunk DSL, for the test that the verifier, the interpreter and the
// simulator agree on them.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/compiler/compile.hpp"
#include "collectives/program.hpp"

namespace cclgym::test {

struct RandomProgram {
  std::string family;  ///< "operations", "routes" or "library": for counting and messages
  Program program;     ///< fulfils its contract
  CompileOptions options;
};

/// A program of one of three families, compiled with random options:
/// * operations: random valid operations; the contract requires the outputs that a model of the DSL
///   computes;
/// * routes: a random implementation of a collective: partial sums at random ranks in random order,
///   results spread over random trees, through relays, in runs of random length;
/// * library: an algorithm of the library on random ranks, nodes, roots, rings and channels.
[[nodiscard]] RandomProgram random_program(std::uint64_t seed);

}  // namespace cclgym::test
