#include "env/gym/wrappers/wrapper_registry.hpp"

#include <stdexcept>

#include "env/gym/wrappers/episode_statistics.hpp"
#include "env/gym/wrappers/flat_actions.hpp"
#include "env/gym/wrappers/frame_stack.hpp"
#include "env/gym/wrappers/normalize.hpp"
#include "env/gym/wrappers/time_limit.hpp"

namespace cclgym {

namespace {

using Inner = std::unique_ptr<Environment>;

const OptionSpec kName{.name = "name", .description = "name of the wrapper", .required = true};
const OptionSpec kMaxSteps{.name = "max_steps",
                           .kind = OptionKind::Integer,
                           .description = "steps after which an episode is truncated",
                           .min = 1,
                           .required = true};
const OptionSpec kFrames{.name = "frames",
                         .kind = OptionKind::Integer,
                         .description = "number of observations to stack",
                         .min = 1,
                         .max = 1024,
                         .required = true};
const OptionSpec kEpsilon{.name = "epsilon",
                          .kind = OptionKind::Real,
                          .description = "number added to the variance before the division",
                          .min = 0,
                          .exclusive_min = true,
                          .default_text = "1e-8"};
const OptionSpec kGamma{.name = "gamma",
                        .kind = OptionKind::Real,
                        .description = "discount of the sum of rewards",
                        .min = 0,
                        .max = 1,
                        .default_text = "0.99"};

double real(const YamlValue& options, const OptionSpec& spec) {
  return read_real(option_value(options, spec), spec);
}

Inner time_limit(Inner inner, const YamlValue& options) {
  return std::make_unique<TimeLimit>(std::move(inner),
                                     read_integer(option_value(options, kMaxSteps), kMaxSteps));
}

Inner episode_statistics(Inner inner, const YamlValue&) {
  return std::make_unique<RecordEpisodeStatistics>(std::move(inner));
}

Inner normalize_observation(Inner inner, const YamlValue& options) {
  return std::make_unique<NormalizeObservation>(std::move(inner), real(options, kEpsilon));
}

Inner normalize_reward(Inner inner, const YamlValue& options) {
  return std::make_unique<NormalizeReward>(std::move(inner), real(options, kGamma),
                                           real(options, kEpsilon));
}

Inner frame_stack(Inner inner, const YamlValue& options) {
  const auto frames = read_integer(option_value(options, kFrames), kFrames);
  return std::make_unique<FrameStack>(std::move(inner), static_cast<std::size_t>(frames));
}

Inner flat_actions(Inner inner, const YamlValue&) {
  return std::make_unique<FlatActions>(std::move(inner));
}

Inner wrap(Inner inner, const YamlValue& item) {
  const bool named_only = item.is_scalar();
  YamlValue name = item;
  if (!named_only) {
    const YamlValue* found = item.find(kName.name);
    if (found == nullptr) {
      throw UserError(item.location(), "the wrapper has no name; expected {name: WRAPPER, ...}");
    }
    name = *found;
  }
  std::vector<std::string> names;
  for (const WrapperEntry& entry : wrapper_entries()) {
    names.push_back(entry.name);
    if (entry.name != name.as_text()) continue;
    std::vector<OptionSpec> keys = entry.options;
    keys.push_back(kName);
    const YamlValue options =
        named_only ? parse_yaml("{name: " + entry.name + "}", item.location().file) : item;
    try {
      check_keys(options, keys, "wrapper " + entry.name);
    } catch (const UserError&) {
      // The error of a bare name would point into the mapping made up above.
      if (named_only) throw UserError(item.location(), "wrapper " + entry.name + " needs options");
      throw;
    }
    try {
      return entry.wrap(std::move(inner), options);
    } catch (const std::invalid_argument& error) {  // the wrapper does not fit this environment
      throw UserError(name.location(), error.what());
    }
  }
  throw UserError(name.location(), unknown_name_message("wrapper", name.as_text(), names));
}

}  // namespace

const std::vector<WrapperEntry>& wrapper_entries() {
  static const std::vector<WrapperEntry> entries{
      {"TimeLimit", "truncates episodes", {kMaxSteps}, time_limit},
      {"RecordEpisodeStatistics",
       "adds return and length of episodes to info",
       {},
       episode_statistics},
      {"NormalizeObservation",
       "scales observations to mean 0 and variance 1",
       {kEpsilon},
       normalize_observation},
      {"NormalizeReward",
       "scales rewards so that their discounted sum has variance 1",
       {kGamma, kEpsilon},
       normalize_reward},
      {"FrameStack", "stacks the last observations", {kFrames}, frame_stack},
      {"FlatActions", "numbers the actions that are legal in some state", {}, flat_actions},
  };
  return entries;
}

std::unique_ptr<Environment> wrap_environment(std::unique_ptr<Environment> environment,
                                              const YamlValue& wrappers) {
  if (wrappers.is_null()) return environment;
  for (const YamlValue& item : wrappers.items()) {
    environment = wrap(std::move(environment), item);
  }
  return environment;
}

}  // namespace cclgym
