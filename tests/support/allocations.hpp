// Counts what this test program allocates.
#pragma once

namespace cclgym::test {

/// Calls of operator new so far, in all threads; always 0 under the sanitizers, which have
/// allocators of their own.
[[nodiscard]] long allocations();

}  // namespace cclgym::test
