// Random single mutations of correct programs, for the test that the verifier finds the harmful
// mutations.
#pragma once

#include <optional>
#include <random>
#include <string>

#include "collectives/ir.hpp"
#include "collectives/program.hpp"

namespace cclgym::test {

template <typename Mutated>
struct Mutant {
  std::string what;  ///< kind of mutation, for counting and messages
  Mutated program;
};

/// Drops, repeats, redirects or changes one traced operation. Empty if the randomly chosen mutation
/// does not apply to this program.
std::optional<Mutant<Program>> mutate(const Program& program, std::mt19937_64& random);

/// Drops, repeats, redirects, swaps or changes one step, a dependency or a peer of the thread-block
/// program. Stays within the buffers, so that an interpreter can run it.
std::optional<Mutant<ThreadBlockProgram>> mutate(const ThreadBlockProgram& program,
                                                 std::mt19937_64& random);

}  // namespace cclgym::test
