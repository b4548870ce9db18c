// Number of thread blocks of a compiled program, without making its steps.
#pragma once

#include <cstdint>

#include "collectives/compiler/compile.hpp"

namespace cclgym {

struct ResidentBlocks {
  std::int64_t count = 0;
  bool by_instance = false;  ///< true if n instances are known to have n times the blocks of one
};

/// `count` is compile(program, options).most_resident_blocks(), in less than half of the time: the
/// steps, their waits and the check for deadlocks are left out, and of instances and parallel parts
/// that are alike, one is compiled. Throws as compile().
[[nodiscard]] ResidentBlocks compiled_resident_blocks(const Program& program,
                                                      const CompileOptions& options = {});

}  // namespace cclgym
