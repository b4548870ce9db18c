// Counts the allocations of this test program.
#pragma once

#include <cstddef>

namespace cclgym::test {

/// Number of calls of operator new so far, in all threads; always 0 under the sanitizers, which
/// have their own allocators.
[[nodiscard]] long allocations();

/// Bytes that these calls have asked for, freed or not. A count of work that is the same on every
/// machine, however slow.
[[nodiscard]] std::size_t allocated_bytes();

}  // namespace cclgym::test
