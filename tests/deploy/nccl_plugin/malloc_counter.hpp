// Counts what this program allocates by malloc and its kin, also in libraries that it loads.
#pragma once

namespace cclgym::test {

/// Calls so far, in all threads; -1 under the sanitizers, which have allocators of their own.
[[nodiscard]] long malloc_calls();

}  // namespace cclgym::test
