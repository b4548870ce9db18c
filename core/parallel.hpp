// Loops in several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace cclgym {

/// Runs work(i) for i in 0 .. count - 1 in `threads` threads, and rethrows the first exception.
void for_each_index(std::size_t count, std::size_t threads,
                    const std::function<void(std::size_t)>& work);

}  // namespace cclgym
