#include "env/gym/wrappers/frame_stack.hpp"

#include <algorithm>
#include <stdexcept>

namespace cclgym {

namespace {

std::vector<float> repeated(const std::vector<float>& values, std::size_t times) {
  std::vector<float> result;
  for (std::size_t i = 0; i < times; ++i) {
    result.insert(result.end(), values.begin(), values.end());
  }
  return result;
}

}  // namespace

FrameStack::FrameStack(std::unique_ptr<Environment> inner_environment, std::size_t frames)
    : Wrapper(std::move(inner_environment)),
      spec_(inner().spec()),
      frame_(spec_.observation_space.size()),
      stack_(frames * frame_.size()) {
  const auto* box = std::get_if<Box>(&spec_.observation_space.kind());
  if (box == nullptr) {
    throw std::invalid_argument("FrameStack: the observations of " + spec_.name +
                                " must be in a Box, not " + spec_.observation_space.text());
  }
  if (frames < 1) throw std::invalid_argument("FrameStack: frames < 1");
  std::vector<std::size_t> shape = box->shape();
  shape.insert(shape.begin(), frames);
  spec_.observation_space =
      Box(repeated(box->low(), frames), repeated(box->high(), frames), std::move(shape));
}

void FrameStack::reset(std::optional<std::uint64_t> seed, const YamlValue& options,
                       const StepBuffers& out) {
  inner().reset(seed, options, {frame_, out.action_mask, out.info});
  for (auto to = stack_.begin(); to != stack_.end();) {
    to = std::copy(frame_.begin(), frame_.end(), to);
  }
  std::copy(stack_.begin(), stack_.end(), out.observation.begin());
}

StepOutcome FrameStack::step(std::span<const std::int32_t> action, const StepBuffers& out) {
  const StepOutcome outcome = inner().step(action, {frame_, out.action_mask, out.info});
  const auto kept = static_cast<std::ptrdiff_t>(frame_.size());
  std::copy(frame_.begin(), frame_.end(),
            std::copy(stack_.begin() + kept, stack_.end(), stack_.begin()));
  std::copy(stack_.begin(), stack_.end(), out.observation.begin());
  return outcome;
}

}  // namespace cclgym
