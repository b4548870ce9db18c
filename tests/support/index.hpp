// The index of a rank, a block or the like in a vector.
#pragma once

#include <cstddef>

namespace cclgym {

inline std::size_t ix(int index) { return static_cast<std::size_t>(index); }

}  // namespace cclgym
