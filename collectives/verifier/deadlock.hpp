// Detects programs that can stop because a message, a slot or a step never comes. It looks only at
// the order of the steps, not at the data, and is much cheaper than verify.
#pragma once

#include <cstdint>
#include <optional>

#include "collectives/ir.hpp"

namespace cclgym {

struct StepPosition {
  std::int32_t rank = 0;
  std::int32_t thread_block = 0;
  std::int32_t step = 0;
};

/// Executes the program with room for `slots` messages per connection (0: no bound). nullopt if all
/// steps run; otherwise a step that cannot run. Needs a well-formed program (see verify).
///
/// One execution suffices: a step that can run stays able to run whatever other blocks do, so the
/// order of execution does not matter. Cost: linear in the steps and their dependencies.
[[nodiscard]] std::optional<StepPosition> find_deadlock(const ThreadBlockProgram& program,
                                                        std::int32_t slots);

}  // namespace cclgym
