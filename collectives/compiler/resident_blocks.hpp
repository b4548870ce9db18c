// Number of thread blocks of a compiled program, without making its steps.
#pragma once

#include <cstdint>

#include "collectives/compiler/compile.hpp"

namespace cclgym {

/// compile(program, options).most_resident_blocks(), in about half of the time: the steps, their
/// waits and the check for deadlocks are left out. Throws as compile().
[[nodiscard]] std::int64_t compiled_resident_blocks(const Program& program,
                                                    const CompileOptions& options = {});

}  // namespace cclgym
