// Counts the allocations of this test program.
#pragma once

namespace cclgym::test {

/// Number of calls of operator new so far, in all threads; always 0 under the sanitizers, which
/// have their own allocators.
[[nodiscard]] long allocations();

}  // namespace cclgym::test
