// Experience of an agent in the form that training needs: plain arrays, one environment after the
// other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agents/network/policy_weights.hpp"

namespace cclgym {

/// Sizes of a rollout.
struct RolloutShape {
  std::size_t environments = 0;
  std::size_t steps = 0;         ///< steps per environment
  std::size_t observations = 0;  ///< numbers per observation
  std::size_t lstm = 0;
  std::vector<std::size_t> levels{};  ///< number of levels by dimension of the action

  [[nodiscard]] std::size_t mask_size() const;
  /// Bytes of a Rollout of this shape.
  [[nodiscard]] double bytes() const;
};

/// Steps of several environments, indexed [environment x steps + step]; a worker fills the rows of
/// its environments.
struct Rollout {
  explicit Rollout(RolloutShape wanted);

  RolloutShape shape;
  std::vector<float> observations;       ///< [rows x observations]
  std::vector<std::uint8_t> masks;       ///< [rows x mask_size]: the conditional masks of `levels`
  std::vector<std::int32_t> levels;      ///< [rows x dimensions]: of the action or the expert
  std::vector<float> states;             ///< [rows x 2 lstm]: state before the observation
  std::vector<std::uint8_t> starts;      ///< [rows]: 1 at the first step of an episode
  std::vector<std::uint8_t> done;        ///< [rows]: 1 at the last step of an episode
  std::vector<std::uint8_t> terminated;  ///< [rows]: 1 if the episode ended with its task
  std::vector<float> log_probability;    ///< [rows]: of `levels`, when they were drawn
  std::vector<float> prior;              ///< [rows]: the critic's prior
  std::vector<float> value;              ///< [rows]: the critic's estimate
  std::vector<float> next_value;  ///< [rows]: estimate for the next state; 0 where the task ended
  std::vector<float> reward;      ///< [rows]
  std::vector<float> advantage;   ///< [rows]: set by estimate_advantages
  std::vector<float> target;      ///< [rows]: value that the critic should have estimated
  std::vector<float> entropy;     ///< [rows]: weights of the entropy; empty if all are equal

  [[nodiscard]] std::size_t rows() const { return shape.environments * shape.steps; }
};

/// Generalised advantage estimation (Schulman et al. 2016, equation 16) along each environment:
///
///   delta_t = reward_t + gamma next_value_t - value_t
///   advantage_t = delta_t + gamma lambda advantage_(t+1)    (without the second term where done)
///   target_t = advantage_t + value_t
void estimate_advantages(Rollout& rollout, double gamma, double lambda);

/// Sequences of equal length from a rollout, in the layout of the gradient: index [step x sequences
/// + sequence].
struct SequenceBatch {
  std::size_t sequences = 0;
  std::size_t steps = 0;
  std::vector<float> observations;   ///< [steps x sequences x observations]
  std::vector<std::uint8_t> masks;   ///< [steps x sequences x mask_size]
  std::vector<std::int32_t> levels;  ///< [steps x sequences x dimensions]
  std::vector<float> starts;  ///< [steps x sequences]: 1 if the state is reset before this step
  std::vector<float> hidden;  ///< [sequences x lstm]: h at the beginning
  std::vector<float> cell;    ///< [sequences x lstm]: c at the beginning
  std::vector<float> log_probability;
  std::vector<float> prior;
  std::vector<float> advantage;
  std::vector<float> target;
  std::vector<float> entropy;  ///< weights of the entropy; empty if LossOptions has the weight
  /// [steps x sequences x dimensions]: target Q values of DQN's heads for `levels`; empty without
  /// DQN.
  std::vector<float> head_target;
};

/// Gathers the sequences `chosen` of `length` steps. With n = steps / length, sequence i belongs to
/// environment i / n and starts at its step (i % n) * length. shape.steps must be a multiple of
/// `length`.
[[nodiscard]] SequenceBatch gather_sequences(const Rollout& rollout, std::size_t length,
                                             std::span<const std::size_t> chosen);

/// Shifts and scales advantages to mean 0 and standard deviation 1; leaves them unchanged if all
/// are equal.
void normalise(std::span<float> advantages);

}  // namespace cclgym
