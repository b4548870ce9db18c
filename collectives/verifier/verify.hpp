// The symbolic verifier: checks that a program fulfils its contract in every order in which its
// thread blocks may run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/ir.hpp"
#include "collectives/program.hpp"

namespace cclgym {

struct VerifyOptions {
  /// Number of messages that fit on a connection before its sender must wait; 0: no bound.
  std::int32_t slots = 0;
  /// Maximum number of problems described; the rest are only counted, in a last line.
  std::size_t most_problems = 20;
};

struct VerifyReport {
  bool ok = true;
  std::vector<std::string> problems;  ///< one line each; empty iff ok

  /// The problems, one per line.
  [[nodiscard]] std::string to_string() const;
};

/// Checks a thread-block program, compiled or imported:
/// * form: buffers as in the contract, slices in range, peers valid, one thread block per
///   connection and direction, dependencies that exist, no partial overlap of source and target;
/// * deadlock: executes the program, matching the k-th receive of a connection with its k-th send,
///   and names the waits; sends that are never received; sends and receives of different counts;
/// * data: every place holds a multiset of input chunks; reports reads of uninitialised data and
///   every output that is not exactly the required reduction (a chunk counted twice, missing, or
///   foreign);
/// * races: two accesses of a place by different thread blocks, at least one a write, not ordered
///   by block order, dependencies and messages, whose order changes the input of a step or a final
///   output. Exact; at most one is reported per place (docs/collectives.md, "What the verifier
///   checks").
/// A program without races gives the result of this execution in every order. Values are compared
/// as sums of chunks: the order of the additions may differ.
///
/// Cost for n steps: linear in the chunks moved times the intervals of a value (1 or 2 in a ring,
/// up to ranks / 2). The race check takes O(n_g * b_g) for a GPU with n_g steps in b_g blocks whose
/// accesses are ordered by its own dependencies (true for our compiler's programs). For other GPUs
/// the messages are followed through all ranks: O(n * b_g) time and O((b + n_g) * b_g) memory for b
/// blocks in total, and up to O(b_g^2) per read of each place that still has races.
[[nodiscard]] VerifyReport verify(const ThreadBlockProgram& program,
                                  const VerifyOptions& options = {});

/// Checks a traced program before anything is compiled, by running its operations one after
/// another. Reports reads of uninitialised data and wrong outputs, and names operations instead of
/// steps.
[[nodiscard]] VerifyReport verify(const Program& program, const VerifyOptions& options = {});

}  // namespace cclgym
