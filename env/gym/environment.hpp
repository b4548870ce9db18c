// The interface of an environment, by Gymnasium's conventions
// (https://gymnasium.farama.org/api/env/); every result is written into the caller's buffers.
// env/gym/counter_env.* is an example to start from.
//
// An episode is one reset followed by steps until a step reports `terminated` (the task has ended)
// or `truncated` (the episode was cut off, e.g. by a TimeLimit).
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

/// Description of an environment; fixed at construction.
struct EnvironmentSpec {
  std::string name;  ///< name in the registry, such as "Counter-v0"
  Space observation_space;
  Space action_space;  ///< integers only
  /// True if `info` has an action mask. Otherwise the owner of buffers.action_mask leaves it all
  /// ones.
  bool has_action_mask = false;
  /// Names of the numbers in `info`, in the order of buffers.info. In Python, "episode.r" is key
  /// "r" of a dict under key "episode".
  std::vector<std::string> info_names{};
  /// Options of reset().
  std::vector<OptionSpec> reset_options{};
  /// True if statistics are kept over episodes, as NormalizeObservation does: a reset with the same
  /// seed then gives different numbers. Two new environments driven by the same actions still
  /// agree.
  bool keeps_statistics = false;
  /// True if step() throws InvalidAction for an action of the space that is illegal in the current
  /// state. Otherwise the environment documents its fallback.
  bool refuses_illegal_actions = true;
  /// Caveats of the options, one sentence each, e.g. that no parameter set was fitted to the
  /// machine. Python issues them as warnings when the environment is made.
  std::vector<std::string> warnings{};
};

/// A number in `info` that does not apply to this step. Python's info then lacks the key.
inline constexpr double kNoInfo = std::numeric_limits<double>::quiet_NaN();

/// Buffers that an environment writes. The caller owns the memory (see OwnedBuffers) and may pass
/// other buffers at every call; an environment keeps no pointer into them.
struct StepBuffers {
  std::span<float> observation;         ///< observation_space.size() numbers
  std::span<std::uint8_t> action_mask;  ///< action_space.mask_size() bytes, 0 or 1
  std::span<double> info;               ///< info_names.size() numbers, all written by every call
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

  /// Starts an episode. With a seed, everything that follows depends on it alone; without one, the
  /// random stream continues (the first reset takes a seed from the operating system). `options` is
  /// null or a mapping of spec().reset_options; throws UserError if they are wrong.
  virtual void reset(std::optional<std::uint64_t> seed, const YamlValue& options,
                     const StepBuffers& out) = 0;
  void reset(std::optional<std::uint64_t> seed, const StepBuffers& out) {
    reset(seed, YamlValue(), out);
  }

  /// Takes one step. `action` has action_space.size() integers. Throws InvalidAction if the action
  /// is not in the space or illegal in the current state, and leaves environment and buffers
  /// unchanged. The wrapper OrderEnforcing, which make_environment adds, throws ResetNeeded before
  /// the first reset and after the end. Once its caches are warm, a step allocates nothing.
  virtual StepOutcome step(std::span<const std::int32_t> action, const StepBuffers& out) = 0;

  /// Writes to `out` the mask of dimension `prefix.size()` of the next action, given the earlier
  /// dimensions `prefix` (action values, not indices); `out` has the n bytes of that dimension.
  /// Legality may be joint: the action mask in `info` is the marginal one, which allows every
  /// choice that is part of some legal action. An autoregressive policy that samples each dimension
  /// under this mask chooses a legal action. `action_mask` is the mask of the last reset or step.
  ///
  /// The default copies the dimension's segment of `action_mask`: dimensions are independent.
  virtual void conditional_mask(std::span<const std::uint8_t> action_mask,
                                std::span<const std::int32_t> prefix,
                                std::span<std::uint8_t> out) const;

  /// All actions that are legal in some state, action_space.size() integers each, distinct and in
  /// lexicographical order; FlatActions numbers them. An action equivalent to another one in the
  /// list may be left out. The default is every action of the space. Throws std::invalid_argument
  /// if there are too many to list.
  [[nodiscard]] virtual std::shared_ptr<const std::vector<std::int32_t>> possible_actions() const;
  /// Mask over possible_actions(), one byte each: 1 if legal next. Valid until the next reset or
  /// step. If empty (the default), the caller derives it from conditional_mask.
  [[nodiscard]] virtual std::span<const std::uint8_t> possible_mask() const { return {}; }
  /// Readable text of an action of the space. The default is its numbers, "[1 2]".
  [[nodiscard]] virtual std::string describe_action(std::span<const std::int32_t> action) const;
};

/// Makes one environment per call; all of them are identical.
using EnvironmentMaker = std::function<std::unique_ptr<Environment>()>;

/// Buffers for one environment, allocated once; masks are initially all ones.
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

/// Throws InvalidAction, naming the environment and the action, unless the action is in the action
/// space. Every step() of an environment should call it first.
void check_action(const EnvironmentSpec& spec, std::span<const std::int32_t> action);

/// Throws InvalidAction: "NAME: action [1 2] WHY".
[[noreturn]] void throw_invalid_action(const EnvironmentSpec& spec,
                                       std::span<const std::int32_t> action, std::string_view why);
/// Throws UserError unless `options` is null or a mapping of spec.reset_options. Every reset() of
/// an environment should call it first.
void check_reset_options(const EnvironmentSpec& spec, const YamlValue& options);

/// Draws each dimension in turn under conditional_mask: uniform among the dimension's legal
/// choices, given the earlier ones. `scratch` needs n bytes of the largest dimension.
void sample_legal_action(const Environment& environment, std::span<const std::uint8_t> action_mask,
                         Random& random, std::span<std::uint8_t> scratch,
                         std::span<std::int32_t> out);

/// Random stream of an environment with the seeding rules of reset().
class EpisodeRandom {
 public:
  /// Restarts the stream with a seed; without one, continues it, starting from a seed of the
  /// operating system the first time.
  void reset(std::optional<std::uint64_t> seed);
  [[nodiscard]] Random& stream() { return random_; }

 private:
  Random random_{0};
  bool seeded_ = false;
};

}  // namespace cclgym
