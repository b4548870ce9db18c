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

/// Checks a thread-block program, compiled or imported, for form, deadlocks, wrong data and races
/// (docs/collectives.md, "What the verifier checks"). Source and target of a step must not overlap
/// partially. The race check is exact; it reports at most one race per place.
///
/// A program without races gives the same result in every order of execution. Values are compared
/// as sums of chunks: the order of the additions may differ. Cost: about linear in the chunks moved
/// (docs/collectives.md, "Cost of the verifier").
[[nodiscard]] VerifyReport verify(const ThreadBlockProgram& program,
                                  const VerifyOptions& options = {});

/// Checks a traced program before anything is compiled, by running its operations one after
/// another. Reports reads of uninitialised data and wrong outputs, and names operations instead of
/// steps.
[[nodiscard]] VerifyReport verify(const Program& program, const VerifyOptions& options = {});

}  // namespace cclgym
