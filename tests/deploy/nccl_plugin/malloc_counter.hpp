// Counts this program's allocations by malloc and related functions, including those of loaded
// libraries.
#pragma once

namespace cclgym::test {

/// Number of calls so far, in all threads; -1 under the sanitizers, which have their own
/// allocators.
[[nodiscard]] long malloc_calls();
/// The same, of the calling thread.
[[nodiscard]] long malloc_calls_of_this_thread();

}  // namespace cclgym::test
