// Several identical environments side by side, by Gymnasium's conventions for vector environments
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

/// Time at which an environment whose episode has ended starts the next one.
enum class Autoreset : std::uint8_t {
  /// At the following step, which ignores its action and returns the reset's result with reward 0.
  NextStep,
  /// In the same step: observation, mask and info come from the new episode's reset. The results of
  /// the old episode's last step are in final_observations etc. where `finished` is 1.
  SameStep,
  /// Never: the caller resets ended environments (reset_some), or step throws ResetNeeded.
  Disabled,
};
/// Names of the values of Gymnasium's AutoresetMode: "NextStep", "SameStep", "Disabled".
[[nodiscard]] std::string_view to_string(Autoreset autoreset);

/// Properties that a vector environment advertises.
struct VectorMetadata {
  Autoreset autoreset = Autoreset::NextStep;
};

/// Results of all environments; row i belongs to environment i. The vector environment owns them;
/// reset and step overwrite them.
struct VectorBuffers {
  std::vector<float> observations;         ///< [environments x observation size]
  std::vector<std::uint8_t> action_masks;  ///< [environments x mask size]
  std::vector<double> infos;               ///< [environments x info names]
  std::vector<double> rewards;             ///< [environments]
  std::vector<std::uint8_t> terminated;    ///< [environments], 0 or 1
  std::vector<std::uint8_t> truncated;     ///< [environments], 0 or 1
  // Results of an episode's last step, in mode SameStep. Rows without `finished` are stale.
  std::vector<std::uint8_t> finished;     ///< [environments], 0 or 1: the row is from this step
  std::vector<float> final_observations;  ///< like observations
  std::vector<std::uint8_t> final_action_masks;  ///< like action_masks
  std::vector<double> final_infos;               ///< like infos
};

class VectorEnv {
 public:
  virtual ~VectorEnv() = default;
  VectorEnv(const VectorEnv&) = delete;
  VectorEnv& operator=(const VectorEnv&) = delete;

  [[nodiscard]] std::size_t size() const { return environments_.size(); }
  /// Spec shared by all environments.
  [[nodiscard]] const EnvironmentSpec& single_spec() const { return environments_[0]->spec(); }
  [[nodiscard]] const VectorMetadata& metadata() const { return metadata_; }
  [[nodiscard]] const VectorBuffers& results() const { return buffers_; }

  /// Resets all environments; environment i gets seed + i. Rethrows the exception of the first
  /// environment whose reset threw.
  void reset(std::optional<std::uint64_t> seed, const YamlValue& options = {});
  /// Resets all environments, each with its own seed or none. `seeds` has one entry per
  /// environment.
  void reset(std::span<const std::optional<std::uint64_t>> seeds, const YamlValue& options = {});
  /// Resets the environments whose byte in `mask` is not 0, at any time; environment i gets
  /// seed + i. The rows of the others stay unchanged.
  void reset_some(std::span<const std::uint8_t> mask, std::optional<std::uint64_t> seed,
                  const YamlValue& options = {});
  /// Resets environments by mask, each with its own seed or none; `seeds` covers all environments.
  void reset_some(std::span<const std::uint8_t> mask,
                  std::span<const std::optional<std::uint64_t>> seeds,
                  const YamlValue& options = {});

  /// Steps all environments; `actions` is [environments x action size]. Rethrows the exception of
  /// the first environment whose step threw (the others have stepped); throws ResetNeeded before
  /// the first reset.
  void step(std::span<const std::int32_t> actions);

  /// Calls Environment::conditional_mask of one environment in its current state.
  void conditional_mask(std::size_t environment, std::span<const std::int32_t> prefix,
                        std::span<std::uint8_t> out) const;
  /// Calls Environment::describe_action, which is the same for all environments.
  [[nodiscard]] std::string describe_action(std::span<const std::int32_t> action) const {
    return environments_.front()->describe_action(action);
  }

 protected:
  /// Throws std::invalid_argument if there is no environment, or if their specs differ.
  VectorEnv(const std::vector<EnvironmentMaker>& makers, Autoreset autoreset);

  enum class Command : std::uint8_t { Reset, Step };
  /// Carries out the command for every environment by calling run_one exactly once for each, in any
  /// order and from any thread.
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
  // Arguments of the command in progress.
  std::vector<std::optional<std::uint64_t>> seeds_;
  std::vector<std::uint8_t> selected_;
  YamlValue options_;
  std::span<const std::int32_t> actions_;
  std::vector<std::exception_ptr> errors_;
  enum class State : std::uint8_t { Fresh, Running, Ended };
  std::vector<State> states_;
};

/// Runs all environments in turn in the caller's thread.
class SyncVectorEnv : public VectorEnv {
 public:
  explicit SyncVectorEnv(const std::vector<EnvironmentMaker>& makers,
                         Autoreset autoreset = Autoreset::NextStep);

 private:
  void run_all(Command command) override;
};

/// Draws a legal action of one environment of a vector.
void sample_legal_action(const VectorEnv& envs, std::size_t environment, Random& random,
                         std::span<std::uint8_t> scratch, std::span<std::int32_t> out);

/// `count` copies of one maker.
[[nodiscard]] std::vector<EnvironmentMaker> same_makers(std::size_t count,
                                                        const EnvironmentMaker& maker);

}  // namespace cclgym
