#include "env/gym/wrappers/time_limit.hpp"

#include <stdexcept>

namespace cclgym {

TimeLimit::TimeLimit(std::unique_ptr<Environment> inner, std::int64_t max_steps)
    : Wrapper(std::move(inner)), max_steps_(max_steps) {
  if (max_steps < 1) throw std::invalid_argument("TimeLimit: max_steps < 1");
}

void TimeLimit::reset(std::optional<std::uint64_t> seed, const YamlValue& options,
                      const StepBuffers& out) {
  steps_ = 0;
  inner().reset(seed, options, out);
}

StepOutcome TimeLimit::step(std::span<const std::int32_t> action, const StepBuffers& out) {
  // The inner environment does not know that its episode is over.
  if (steps_ >= max_steps_) {
    throw ResetNeeded(spec().name + ": step() after the end of an episode: reset() first");
  }
  StepOutcome outcome = inner().step(action, out);
  // If the episode also ends by itself in this step, both flags are set.
  if (++steps_ >= max_steps_) outcome.truncated = true;
  return outcome;
}

}  // namespace cclgym
