#include "agents/policy.hpp"

namespace cclgym {

bool is_legal_action(const Environment& environment, std::span<const std::uint8_t> action_mask,
                     std::span<const std::int32_t> action, std::span<std::uint8_t> scratch) {
  const auto dimensions = environment.spec().action_space.dimensions();
  if (action.size() != dimensions.size()) return false;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const auto mask = scratch.first(static_cast<std::size_t>(dimensions[d].n));
    environment.conditional_mask(action_mask, action.first(d), mask);
    const std::int32_t index = action[d] - dimensions[d].start;
    if (index < 0 || index >= dimensions[d].n || mask[static_cast<std::size_t>(index)] == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace cclgym
