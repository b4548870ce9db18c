#include "env/gym/counter_env.hpp"

namespace cclgym {

namespace {

// Each option has one record, from which reading, checking and documentation follow.
const OptionSpec kTarget{.name = "target",
                         .kind = OptionKind::Integer,
                         .description = "number to count to",
                         .min = 1,
                         .max = 1'000'000,
                         .default_text = "10"};
const OptionSpec kStart{.name = "start",
                        .kind = OptionKind::Integer,
                        .description = "number to start from, below the target",
                        .min = 0};

}  // namespace

const std::vector<OptionSpec>& CounterEnv::option_specs() {
  static const std::vector<OptionSpec> specs{kTarget};
  return specs;
}

// The spec is complete when the constructor returns, because vector environments, wrappers and
// agents take the sizes of their buffers from it.
CounterEnv::CounterEnv(const YamlValue& options)
    : target_([&] {
        if (options.is_null()) return std::int32_t{10};
        check_keys(options, option_specs(), "options of Counter-v0");
        return static_cast<std::int32_t>(read_integer(option_value(options, kTarget), kTarget));
      }()),
      spec_{.name = "Counter-v0",
            // Fraction of the distance covered, and the remaining count.
            .observation_space = Box({0, 0}, {1, static_cast<float>(target_)}),
            // Summand, 1 or 2, and its multiplicity, once or twice.
            .action_space = MultiDiscrete({2, 2}, {1, 1}),
            .has_action_mask = true,
            .info_names = {"count", "steps"},
            .reset_options = {kStart}} {}

void CounterEnv::reset(std::optional<std::uint64_t> seed, const YamlValue& options,
                       const StepBuffers& out) {
  check_reset_options(spec_, options);
  random_.reset(seed);
  // The draw is made even if the options override it, so the stream does not depend on them.
  count_ = static_cast<std::int32_t>(random_.stream().integer(0, target_ - 1));
  if (const YamlValue* start = options.is_null() ? nullptr : options.find(kStart.name)) {
    OptionSpec below_target = kStart;
    below_target.max = target_ - 1;
    count_ = static_cast<std::int32_t>(read_integer(*start, below_target));
  }
  steps_ = 0;
  write(out);
}

StepOutcome CounterEnv::step(std::span<const std::int32_t> action, const StepBuffers& out) {
  check_action(spec_, action);
  const std::int32_t sum = action[0] * action[1];
  if (sum > target_ - count_) throw_invalid_action(spec_, action, "is illegal: it overshoots");
  count_ += sum;
  ++steps_;
  write(out);
  return {.reward = -1, .terminated = count_ == target_, .truncated = false};
}

// Legality is joint: 2 x 2 = 4 may overshoot where 2 x 1 and 1 x 2 do not. The action mask in info,
// written by write(), allows each choice that is part of some legal action; this function narrows
// the second dimension given the first.
void CounterEnv::conditional_mask(std::span<const std::uint8_t> action_mask,
                                  std::span<const std::int32_t> prefix,
                                  std::span<std::uint8_t> out) const {
  Environment::conditional_mask(action_mask, prefix, out);
  if (prefix.size() == 1) out[1] = prefix[0] * 2 <= target_ - count_ ? 1 : 0;
}

// Every reset and step writes the caller's buffers completely: the caller may pass different ones
// each time, and nothing is allocated.
void CounterEnv::write(const StepBuffers& out) const {
  const std::int32_t remaining = target_ - count_;
  out.observation[0] = static_cast<float>(count_) / static_cast<float>(target_);
  out.observation[1] = static_cast<float>(remaining);
  // The mask is never all zeros, even at the end, where no action is legal: a policy that is asked
  // anyway must have a choice.
  const std::uint8_t two = remaining >= 2 ? 1 : 0;
  out.action_mask[0] = 1;
  out.action_mask[1] = two;
  out.action_mask[2] = 1;
  out.action_mask[3] = two;
  out.info[0] = count_;
  out.info[1] = steps_;
}

}  // namespace cclgym
