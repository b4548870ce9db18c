// The data-level interpreter: executes thread-block programs on numbers, as a GPU's blocks would,
// in random orders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/ir.hpp"

namespace cclgym {

struct ExecuteOptions {
  int interleavings = 16;  ///< orders of execution to try
  std::uint64_t seed = 0;  ///< same seed, same orders and same numbers
  std::int32_t slots = 2;  ///< messages that fit on a connection, 1 to 8; FIFO slots of NCCL
  std::size_t most_problems = 20;  ///< described, of the first interleaving that goes wrong
};

struct ExecuteReport {
  bool ok = true;
  int interleavings = 0;              ///< executed, the wrong one included
  std::vector<std::string> problems;  ///< one line each; empty iff ok

  /// The problems, one a line.
  [[nodiscard]] std::string to_string() const;
};

/// Executes a program of good form (see verify) `interleavings` times, until one goes wrong.
///
/// Every chunk is one integer-valued double, so that sums are exact in any order; what holds
/// nothing is NaN. A step waits for its dependencies, for its message and for a free slot; then it
/// first loads all it reads, and in a later turn stores and sends: between the two any other block
/// may run, so that races show. The orders differ in kind: all blocks by chance; one block as far
/// as it can; some blocks only when no other can run.
///
/// Reports deadlocks (who waits for what), messages of another count than their receive, messages
/// left over, and outputs that differ from the contract's sum; of custom collectives also outputs
/// of which nothing is required but that differ from one order to another (the numbers are the same
/// in all). Throws UserError on slots outside 1 to 8 and interleavings < 1.
///
/// Cost: about linear in the steps and the chunks moved, times `interleavings`.
[[nodiscard]] ExecuteReport execute(const ThreadBlockProgram& program,
                                    const ExecuteOptions& options = {});

}  // namespace cclgym
