#include "env/gym/wrapper.hpp"

namespace cclgym {

void OrderEnforcing::reset(std::optional<std::uint64_t> seed, const YamlValue& options,
                           const StepBuffers& out) {
  state_ = State::Fresh;  // stays Fresh if the reset throws
  inner().reset(seed, options, out);
  state_ = State::Running;
}

StepOutcome OrderEnforcing::step(std::span<const std::int32_t> action, const StepBuffers& out) {
  if (state_ != State::Running) {
    throw ResetNeeded(spec().name + (state_ == State::Fresh
                                         ? ": step() before the first reset()"
                                         : ": step() after the end of an episode: reset() first"));
  }
  const StepOutcome outcome = inner().step(action, out);
  if (outcome.done()) state_ = State::Ended;
  return outcome;
}

}  // namespace cclgym
