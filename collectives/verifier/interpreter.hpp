// The data-level interpreter: executes thread-block programs on numbers, in random orders of the
// blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/ir.hpp"

namespace cclgym {

struct ExecuteOptions {
  int interleavings = 16;  ///< orders of execution to try
  std::uint64_t seed = 0;  ///< equal seeds give equal orders and numbers
  std::int32_t slots = 2;  ///< messages that fit on a connection, 1 to 8; FIFO slots of NCCL
  std::size_t most_problems = 20;  ///< maximum number described, of the first wrong interleaving
};

struct ExecuteReport {
  bool ok = true;
  int interleavings = 0;              ///< executed, including a wrong one
  std::vector<std::string> problems;  ///< one line each; empty iff ok

  /// The problems, one per line.
  [[nodiscard]] std::string to_string() const;
};

/// Executes a well-formed program (see verify) `interleavings` times, until one goes wrong.
///
/// Every chunk is one integer-valued double, so that sums are exact in any order; an unwritten
/// place is NaN. A step waits for its dependencies, its message and a free slot; then it loads its
/// inputs, and stores and sends in a later turn. Any other block may run in between, so that races
/// show. The orders are of several kinds: random blocks; one block as far as it can run; some
/// blocks only when no other block can run.
///
/// Reports deadlocks (and the waits behind them), messages whose count differs from their receive,
/// messages left over, and outputs that differ from the contract's sum; for custom collectives also
/// unconstrained outputs that differ between orders (all orders use the same numbers). Throws
/// UserError on slots outside 1 to 8 and interleavings < 1.
///
/// Cost: about linear in the steps and the chunks moved, times `interleavings`.
[[nodiscard]] ExecuteReport execute(const ThreadBlockProgram& program,
                                    const ExecuteOptions& options = {});

}  // namespace cclgym
