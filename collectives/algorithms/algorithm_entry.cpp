#include "collectives/algorithms/algorithm_entry.hpp"

#include <bit>
#include <fmt/core.h>

namespace cclgym {

RankRule RankRule::any() {
  return {"any number of ranks >= 2", [](int) { return true; }};
}

RankRule RankRule::even() {
  return {"an even number >= 2", [](int ranks) { return ranks % 2 == 0; }};
}

RankRule RankRule::power_of_two() {
  return {"a power of two >= 2",
          [](int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }};
}

RankRule RankRule::exactly(int number) {
  return {fmt::format("exactly {} ranks", number), [number](int ranks) { return ranks == number; }};
}

}  // namespace cclgym
