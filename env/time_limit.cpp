#include "env/time_limit.hpp"

#include <stdexcept>

namespace cclgym {

TimeLimit::TimeLimit(std::unique_ptr<Environment> inner, std::int64_t max_steps)
    : Wrapper(std::move(inner)), max_steps_(max_steps) {
  if (max_steps < 1) throw std::invalid_argument("TimeLimit: max_steps < 1");
}

void TimeLimit::reset(std::optional<std::uint64_t> seed, const YamlValue& options,
                      const StepBuffers& out) {
  inner().reset(seed, options, out);
  steps_ = 0;
}

StepOutcome TimeLimit::step(std::span<const std::int32_t> action, const StepBuffers& out) {
  StepOutcome outcome = inner().step(action, out);
  // An episode may end by itself in its last step and be cut off there: then both are true.
  if (++steps_ >= max_steps_) outcome.truncated = true;
  return outcome;
}

}  // namespace cclgym
