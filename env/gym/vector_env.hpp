// Several environments of a kind side by side, by Gymnasium's conventions for vector environments
// (https://gymnasium.farama.org/api/vector/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "env/gym/environment.hpp"

namespace cclgym {

/// When an environment whose episode has ended starts the next one.
enum class Autoreset : std::uint8_t {
  /// In the step after: it ignores its action, and its result is that of the reset with reward 0.
  NextStep,
  /// In the same step: the observation is the first one of the next episode, the last one of the
  /// old episode is in final_observations (and so are mask and info), where `finished` says so.
  SameStep,
  /// Never: the caller resets those that ended (reset_some), or step throws ResetNeeded.
  Disabled,
};
/// "NextStep", "SameStep", "Disabled": the values of Gymnasium's AutoresetMode.
[[nodiscard]] std::string_view to_string(Autoreset autoreset);

/// What a vector environment advertises.
struct VectorMetadata {
  Autoreset autoreset = Autoreset::NextStep;
};

/// Results of all environments, row i of environment i. The vector environment owns them; reset and
/// step overwrite them.
struct VectorBuffers {
  std::vector<float> observations;         ///< [environments x observation size]
  std::vector<std::uint8_t> action_masks;  ///< [environments x mask size]
  std::vector<double> infos;               ///< [environments x info names]
  std::vector<double> rewards;             ///< [environments]
  std::vector<std::uint8_t> terminated;    ///< [environments], 0 or 1
  std::vector<std::uint8_t> truncated;     ///< [environments], 0 or 1
  // Of the last step of an episode, in mode SameStep. Other rows are old.
  std::vector<std::uint8_t> finished;     ///< [environments], 0 or 1: the row is of this step
  std::vector<float> final_observations;  ///< as observations
  std::vector<std::uint8_t> final_action_masks;  ///< as action_masks
  std::vector<double> final_infos;               ///< as infos
};

class VectorEnv {
 public:
  virtual ~VectorEnv() = default;
  VectorEnv(const VectorEnv&) = delete;
  VectorEnv& operator=(const VectorEnv&) = delete;

  [[nodiscard]] std::size_t size() const { return environments_.size(); }
  /// Of each of the environments, which are alike.
  [[nodiscard]] const EnvironmentSpec& single_spec() const { return environments_[0]->spec(); }
  [[nodiscard]] const VectorMetadata& metadata() const { return metadata_; }
  [[nodiscard]] const VectorBuffers& results() const { return buffers_; }

  /// Resets all; environment i gets seed + i. Throws what a reset throws (of the first environment
  /// that did).
  void reset(std::optional<std::uint64_t> seed, const YamlValue& options = {});
  /// Resets all, each with a seed of its own or none. `seeds` has an entry an environment.
  void reset(std::span<const std::optional<std::uint64_t>> seeds, const YamlValue& options = {});
  /// Resets those whose byte in `mask` is not 0, at any time; environment i gets seed + i. The rows
  /// of the others stay as they are.
  void reset_some(std::span<const std::uint8_t> mask, std::optional<std::uint64_t> seed,
                  const YamlValue& options = {});
  /// Likewise, each with a seed of its own or none. `seeds` has an entry an environment.
  void reset_some(std::span<const std::uint8_t> mask,
                  std::span<const std::optional<std::uint64_t>> seeds,
                  const YamlValue& options = {});

  /// Steps all; `actions` is [environments x action size]. Throws what a step throws (of the first
  /// environment that did; the others have stepped), and ResetNeeded before the first reset.
  void step(std::span<const std::int32_t> actions);

  /// Environment::conditional_mask of one environment in its present state.
  void conditional_mask(std::size_t environment, std::span<const std::int32_t> prefix,
                        std::span<std::uint8_t> out) const;
  /// Environment::describe_action, which is the same for all.
  [[nodiscard]] std::string describe_action(std::span<const std::int32_t> action) const {
    return environments_.front()->describe_action(action);
  }

 protected:
  /// Throws std::invalid_argument if there is no environment, or their specs differ.
  VectorEnv(const std::vector<EnvironmentMaker>& makers, Autoreset autoreset);

  enum class Command : std::uint8_t { Reset, Step };
  /// Carries out the command for every environment by calling run_one: in any order and from any
  /// thread, but each environment once.
  virtual void run_all(Command command) = 0;
  void run_one(Command command, std::size_t environment) noexcept;

 private:
  [[nodiscard]] StepBuffers row(std::size_t environment);
  void set_seeds(std::optional<std::uint64_t> seed);
  void begin_episode(std::size_t environment);
  void step_one(std::size_t environment);
  void rethrow_first();

  std::vector<std::unique_ptr<Environment>> environments_;
  VectorMetadata metadata_;
  VectorBuffers buffers_;
  // What the command in progress is about.
  std::vector<std::optional<std::uint64_t>> seeds_;
  std::vector<std::uint8_t> selected_;
  YamlValue options_;
  std::span<const std::int32_t> actions_;
  std::vector<std::exception_ptr> errors_;
  enum class State : std::uint8_t { Fresh, Running, Ended };
  std::vector<State> states_;
};

/// All environments one after the other in the caller's thread.
class SyncVectorEnv : public VectorEnv {
 public:
  explicit SyncVectorEnv(const std::vector<EnvironmentMaker>& makers,
                         Autoreset autoreset = Autoreset::NextStep);

 private:
  void run_all(Command command) override;
};

/// The draw of sample_legal_action for one environment of a vector.
void sample_legal_action(const VectorEnv& envs, std::size_t environment, Random& random,
                         std::span<std::uint8_t> scratch, std::span<std::int32_t> out);

/// `count` times the same maker.
[[nodiscard]] std::vector<EnvironmentMaker> same_makers(std::size_t count,
                                                        const EnvironmentMaker& maker);

}  // namespace cclgym
