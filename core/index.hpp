// Numbers as positions in containers.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace cclgym {

/// Position of an id, a rank or an enumerator in a container: `values[at(rank)]`. It must not be
/// negative.
template <class Number>
requires std::integral<Number> || std::is_enum_v<Number>
[[nodiscard]] constexpr std::size_t at(Number number) { return static_cast<std::size_t>(number); }

}  // namespace cclgym
