// The interface of an environment, by Gymnasium's conventions
// (https://gymnasium.farama.org/api/env/), with every result written into buffers of the caller.
// env/counter_env.* is an example to start from.
//
// An episode is reset, step, step, … until a step says `terminated` (the task has an end, and this
// was it) or `truncated` (somebody stopped looking, e.g. a TimeLimit): then reset again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "core/random.hpp"
#include "core/yaml/yaml.hpp"
#include "env/gym/env_error.hpp"
#include "env/gym/space.hpp"

namespace cclgym {

/// What an environment is: fixed from its construction on.
struct EnvironmentSpec {
  std::string name;  ///< "Counter-v0": what the registry makes it by
  Space observation_space;
  Space action_space;  ///< of integers only
  /// Whether `info` has an action mask. If not, buffers.action_mask is left all ones by who owns
  /// it.
  bool has_action_mask = false;
  /// The names of the numbers in `info`, in the order of buffers.info. In Python, "episode.r" is
  /// key "r" of a dict under key "episode".
  std::vector<std::string> info_names{};
  /// What reset() takes as options.
  std::vector<OptionSpec> reset_options{};
  /// Whether statistics are kept over episodes, as NormalizeObservation does: then a reset with the
  /// same seed brings other numbers. Two new environments that are driven alike agree all the same.
  bool keeps_statistics = false;
  /// Whether step() throws InvalidAction on an action of the space that is not legal now. If not,
  /// the environment says what it does instead.
  bool refuses_illegal_actions = true;
  /// What a user should know of the options before numbers are believed, a sentence each: that no
  /// parameter set was fitted to the machine, say. In Python, making the environment warns of it.
  std::vector<std::string> warnings{};
};

/// A number in `info` that does not apply to this step. Python's info has no such key then.
inline constexpr double kNoInfo = std::numeric_limits<double>::quiet_NaN();

/// Where an environment writes. The caller owns the memory (see OwnedBuffers) and may pass other
/// buffers at every call; an environment keeps no pointer into them.
struct StepBuffers {
  std::span<float> observation;         ///< observation_space.size() numbers
  std::span<std::uint8_t> action_mask;  ///< action_space.mask_size() bytes, 0 or 1
  std::span<double> info;               ///< info_names.size() numbers, each written by every call
};

struct StepOutcome {
  double reward = 0;
  bool terminated = false;
  bool truncated = false;

  [[nodiscard]] bool done() const { return terminated || truncated; }
  friend bool operator==(const StepOutcome&, const StepOutcome&) = default;
};

class Environment {
 public:
  Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  virtual ~Environment() = default;

  [[nodiscard]] virtual const EnvironmentSpec& spec() const = 0;

  /// Starts an episode. With a seed, all that happens from now on depends on it only; without one,
  /// the stream of random numbers continues (at the first reset: from a seed of the operating
  /// system's). `options` is null or a mapping of spec().reset_options; throws UserError at what is
  /// wrong in it.
  virtual void reset(std::optional<std::uint64_t> seed, const YamlValue& options,
                     const StepBuffers& out) = 0;
  void reset(std::optional<std::uint64_t> seed, const StepBuffers& out) {
    reset(seed, YamlValue(), out);
  }

  /// One step. `action` has action_space.size() integers. Throws InvalidAction if the action is not
  /// in the space or not legal now; environment and buffers are then as they were. ResetNeeded
  /// before the first reset and after the end is thrown by the wrapper OrderEnforcing, which
  /// make_environment puts around. Once its caches are warm, a step allocates nothing.
  virtual StepOutcome step(std::span<const std::int32_t> action, const StepBuffers& out) = 0;

  /// The mask of dimension `prefix.size()` of the next action, if the earlier dimensions are
  /// `prefix` (action values, not indices), into `out` (n bytes of that dimension). Legality may be
  /// joint: the action mask in `info` is the marginal one, which allows what some action has; an
  /// autoregressive policy that samples each dimension under this mask chooses a legal action.
  /// `action_mask` is the one that the last reset or step of this environment wrote.
  ///
  /// The default copies the dimension's segment of `action_mask`: dimensions are independent.
  virtual void conditional_mask(std::span<const std::uint8_t> action_mask,
                                std::span<const std::int32_t> prefix,
                                std::span<std::uint8_t> out) const;

  /// All actions that are legal in some state, action_space.size() integers each, distinct and in
  /// lexicographical order: what FlatActions numbers. May leave out an action that is but another
  /// name of one that is there. The default: every action of the space. Throws
  /// std::invalid_argument if these are too many to list.
  [[nodiscard]] virtual std::shared_ptr<const std::vector<std::int32_t>> possible_actions() const;
  /// Which of possible_actions() are legal next, a byte each; valid until the next call of reset or
  /// step. Empty (the default): who asks finds out by conditional_mask.
  [[nodiscard]] virtual std::span<const std::uint8_t> possible_mask() const { return {}; }
  /// An action of the space in words. The default: its numbers, "[1 2]".
  [[nodiscard]] virtual std::string describe_action(std::span<const std::int32_t> action) const;
};

/// Makes environments that are alike, as often as it is called.
using EnvironmentMaker = std::function<std::unique_ptr<Environment>()>;

/// Buffers for one environment, allocated once; masks start as ones.
class OwnedBuffers {
 public:
  explicit OwnedBuffers(const EnvironmentSpec& spec);

  std::vector<float> observation;
  std::vector<std::uint8_t> action_mask;
  std::vector<double> info;

  [[nodiscard]] StepBuffers view() { return {observation, action_mask, info}; }
};

/// Position of a name in spec.info_names. Throws std::logic_error if it is not there.
[[nodiscard]] std::size_t info_index(const EnvironmentSpec& spec, std::string_view name);

/// Throws InvalidAction, which names the environment and the action, unless the action is in the
/// action space. For environments: the first line of step().
void check_action(const EnvironmentSpec& spec, std::span<const std::int32_t> action);

/// Throws InvalidAction: "NAME: action [1 2] WHY".
[[noreturn]] void throw_invalid_action(const EnvironmentSpec& spec,
                                       std::span<const std::int32_t> action, std::string_view why);
/// Throws UserError unless `options` is null or a mapping of spec.reset_options. For environments:
/// the first line of reset().
void check_reset_options(const EnvironmentSpec& spec, const YamlValue& options);

/// A draw for each dimension in turn under conditional_mask: uniform among the legal choices of the
/// dimension, given the earlier ones. `scratch` has the n bytes of the largest dimension at least.
void sample_legal_action(const Environment& environment, std::span<const std::uint8_t> action_mask,
                         Random& random, std::span<std::uint8_t> scratch,
                         std::span<std::int32_t> out);

/// The random stream of an environment as reset() should treat it.
class EpisodeRandom {
 public:
  /// A seed starts the stream anew; without one it continues. The first time without: a seed of the
  /// operating system's.
  void reset(std::optional<std::uint64_t> seed);
  [[nodiscard]] Random& stream() { return random_; }

 private:
  Random random_{0};
  bool seeded_ = false;
};

}  // namespace cclgym
