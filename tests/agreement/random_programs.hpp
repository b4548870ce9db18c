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

/// One of three families, with random compiler options:
/// * operations: valid operations at random; the contract asks for what a model of the DSL says
///   that they leave in the outputs;
/// * routes: a random way to carry out a collective: partial sums at random ranks in random order,
///   results spread over random trees, through relays, in runs of random length;
/// * library: an algorithm of the library on random ranks, servers, roots, rings and channels.
[[nodiscard]] RandomProgram random_program(std::uint64_t seed);

}  // namespace cclgym::test
