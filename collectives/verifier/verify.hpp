// The symbolic verifier: does a program do what its contract says, in every order in which its
// thread blocks may run?
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/ir.hpp"
#include "collectives/program.hpp"

namespace cclgym {

struct VerifyOptions {
  /// Messages that fit on a connection before its sender must wait; 0: no bound.
  std::int32_t slots = 0;
  /// Problems described; those beyond are only counted, in a last line.
  std::size_t most_problems = 20;
};

struct VerifyReport {
  bool ok = true;
  std::vector<std::string> problems;  ///< one line each; empty iff ok

  /// The problems, one a line.
  [[nodiscard]] std::string to_string() const;
};

/// Checks a thread-block program, compiled or imported:
/// * form: buffers as in the contract, slices in range, peers valid, one thread block a connection
///   and direction, dependencies that exist, no partial overlap of source and target;
/// * deadlock: executes it, k-th receive of a connection with its k-th send, and names who waits
/// for
///   what; sends that are never received, and sends and receives of different counts;
/// * data: every place holds a multiset of input chunks; a read of uninitialised data, an output
///   that is not exactly the required reduction (a chunk counted twice, missing, or foreign);
/// * races: two accesses of a place by different thread blocks, one of them a write, that are not
///   ordered by block order, dependencies and messages, and of whose order it depends what some
///   step reads, or what an output holds at the end. The check is exact: it finds one iff there is
///   one (of each place, one). Races that change nothing (two blocks write the same value; nobody
///   reads what they write) are none. So every order of execution gives the result of the one that
///   was executed. (Values are compared as sums of chunks: the order of the additions may differ.)
///
/// Cost: for n steps, linear in the chunks moved times the intervals of a value (1 or 2 in a ring,
/// up to ranks / 2). The race check takes O(n_g * b_g) for a GPU with n_g steps in b_g blocks,
/// where dependencies on the GPU itself order its accesses (so with all programs of our compiler).
/// Only for a GPU where they do not, the messages are followed through all ranks: O(n * b_g) time
/// and O((b + n_g) * b_g) memory, b being the number of all blocks; and where that leaves places
/// with races, each of their reads costs up to O(b_g^2).
[[nodiscard]] VerifyReport verify(const ThreadBlockProgram& program,
                                  const VerifyOptions& options = {});

/// Checks a traced program, its operations taken one after the other: reads of uninitialised data
/// and wrong outputs, before anything is compiled. Names operations where verify names steps.
[[nodiscard]] VerifyReport verify(const Program& program, const VerifyOptions& options = {});

}  // namespace cclgym
