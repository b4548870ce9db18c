#include "env/gym/wrappers/flat_actions.hpp"

#include <algorithm>
#include <stdexcept>

namespace cclgym {

FlatActions::FlatActions(std::unique_ptr<Environment> inner_environment)
    : Wrapper(std::move(inner_environment)),
      spec_(inner().spec()),
      actions_(inner().possible_actions()),
      width_(spec_.action_space.size()),
      inner_mask_(spec_.action_space.mask_size(), 1),
      conditional_(spec_.action_space.mask_size(), 0) {
  if (actions_->empty()) {
    throw std::invalid_argument("FlatActions: no action of " + spec_.name + " is ever legal");
  }
  prefix_.reserve(width_);
  spec_.action_space = Discrete{static_cast<std::int32_t>(actions_->size() / width_)};
  spec_.has_action_mask = true;
}

void FlatActions::reset(std::optional<std::uint64_t> seed, const YamlValue& options,
                        const StepBuffers& out) {
  inner().reset(seed, options, {out.observation, inner_mask_, out.info});
  write_mask(out.action_mask);
}

StepOutcome FlatActions::step(std::span<const std::int32_t> action, const StepBuffers& out) {
  check_action(spec_, action);
  const StepOutcome outcome =
      inner().step(inner_action(action[0]), {out.observation, inner_mask_, out.info});
  write_mask(out.action_mask);
  return outcome;
}

// The action has one dimension, so its mask is the complete mask.
void FlatActions::conditional_mask(std::span<const std::uint8_t> action_mask,
                                   std::span<const std::int32_t> prefix,
                                   std::span<std::uint8_t> out) const {
  Environment::conditional_mask(action_mask, prefix, out);
}

std::shared_ptr<const std::vector<std::int32_t>> FlatActions::possible_actions() const {
  return Environment::possible_actions();
}

std::string FlatActions::describe_action(std::span<const std::int32_t> action) const {
  check_action(spec_, action);
  return inner().describe_action(inner_action(action[0]));
}

std::span<const std::int32_t> FlatActions::inner_action(std::int32_t number) const {
  return std::span(*actions_).subspan(static_cast<std::size_t>(number) * width_, width_);
}

void FlatActions::write_mask(std::span<std::uint8_t> out) {
  const auto known = inner().possible_mask();
  if (!known.empty()) {
    std::ranges::copy(known, out.begin());
    return;
  }
  std::ranges::fill(out, std::uint8_t{0});
  prefix_.clear();
  write_mask(0, out.size(), out);
}

// Handles the actions from `begin` to `end`, which all begin with prefix_: checks their next
// numbers under the conditional mask, then recurses. The actions are sorted, so those with a common
// prefix are adjacent.
void FlatActions::write_mask(std::size_t begin, std::size_t end, std::span<std::uint8_t> out) {
  const Space& space = inner().spec().action_space;
  const std::size_t depth = prefix_.size();
  if (depth == width_) {
    out[begin] = 1;
    return;
  }
  const Discrete& dimension = space.dimensions()[depth];
  const auto mask = std::span(conditional_)
                        .subspan(space.mask_offset(depth), static_cast<std::size_t>(dimension.n));
  inner().conditional_mask(inner_mask_, prefix_, mask);
  while (begin < end) {
    const std::int32_t value = (*actions_)[begin * width_ + depth];
    std::size_t next = begin;
    while (next < end && (*actions_)[next * width_ + depth] == value) ++next;
    if (mask[static_cast<std::size_t>(value - dimension.start)] != 0) {
      prefix_.push_back(value);
      write_mask(begin, next, out);
      prefix_.pop_back();
    }
    begin = next;
  }
}

}  // namespace cclgym
