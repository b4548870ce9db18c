// The network of policy_weights.hpp in plain loops, for rollouts and evaluation: a decision takes
// microseconds, and every environment can have its own thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "agents/network/policy_weights.hpp"
#include "core/random.hpp"

namespace cclgym {

/// Weights in the order in which the loops read them. Immutable, and may be shared by threads.
class PolicyNetwork {
 public:
  /// Throws std::invalid_argument if policy_weights_fault finds a fault.
  explicit PolicyNetwork(const PolicyWeights& weights);

  [[nodiscard]] const PolicyShape& shape() const { return shape_; }

 private:
  friend class PolicyRunner;
  /// The map W x + b. W is stored by column, so that the inner loop adds a multiple of a column to
  /// W x.
  struct Linear {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<float> columns_first;  ///< [columns x rows]
    std::vector<float> bias;           ///< [rows]

    /// out = W in + b
    void apply(std::span<const float> in, std::span<float> out) const;
    /// out += W in
    void add(std::span<const float> in, std::span<float> out) const;
  };
  struct Head {
    Linear hidden;
    std::vector<std::vector<float>> choices;  ///< by earlier dimension: [levels x hidden rows]
    Linear out;
  };
  [[nodiscard]] static Linear read(const PolicyWeights& weights, const std::string& name);

  PolicyShape shape_;
  std::vector<float> shift_;
  std::vector<float> scale_;
  float limit_ = 0;
  std::vector<Linear> encoder_;
  Linear lstm_ih_;
  Linear lstm_hh_;
  std::vector<Head> heads_;
  Linear value_;
  Linear value_out_;
  float value_prior_ = 0;
};

/// Provides the conditional mask of dimension prefix.size(); `out` has one byte per level.
class ConditionalMasks {
 public:
  virtual ~ConditionalMasks() = default;
  virtual void mask(std::span<const std::int32_t> prefix, std::span<std::uint8_t> out) const = 0;
};

/// State and buffers of one network in one environment. Does not allocate after construction.
class PolicyRunner {
 public:
  explicit PolicyRunner(std::shared_ptr<const PolicyNetwork> network);

  /// Sets the state to zero at the beginning of an episode.
  void start();
  /// State of the LSTM, [2 x lstm]: h, then c.
  [[nodiscard]] std::span<const float> state() const { return state_; }

  /// Feeds an observation to encoder and LSTM, which must be done before choose() and value().
  void observe(std::span<const float> observation);

  /// Chooses an action, dimension by dimension: with `random`, levels are drawn; without it, each
  /// dimension takes its likeliest level. Levels count from 0. `masks_out` (may be empty) receives
  /// the conditional masks, concatenated. Returns the logarithm of the action's probability.
  double choose(const ConditionalMasks& masks, Random* random, std::span<std::int32_t> levels,
                std::span<std::uint8_t> masks_out);
  /// Log probability of a given action, all of whose levels must be legal.
  double log_probability(const ConditionalMasks& masks, std::span<const std::int32_t> levels,
                         std::span<std::uint8_t> masks_out);
  /// Output of a head.
  struct HeadOutput {
    bool decided = false;   ///< true if more than one level is legal; if false, the rest is 0
    float given = 0;        ///< logit (DQN: Q value) of the given level
    std::int32_t best = 0;  ///< legal level with the maximum logit, the first of equals
    float most = 0;         ///< logit of that level
  };
  /// Outputs for each dimension, given the levels of the earlier dimensions. The levels must be
  /// legal up to the last dimension that is used.
  void head_outputs(const ConditionalMasks& masks, std::span<const std::int32_t> levels,
                    std::span<HeadOutput> out);
  /// Estimate of the critic, including its prior.
  [[nodiscard]] float value(float prior);

 private:
  /// Draws from the probabilities, takes the likeliest level, or looks up a given level.
  enum class Choice : std::uint8_t { Draw, Likeliest, Given };
  double run_heads(const ConditionalMasks& masks, Choice choice, Random* random,
                   std::span<std::int32_t> levels, std::span<std::uint8_t> masks_out,
                   std::span<HeadOutput> outputs = {});

  std::shared_ptr<const PolicyNetwork> network_;
  std::vector<float> state_;
  std::vector<float> input_;
  std::vector<std::vector<float>> encoded_;
  std::vector<float> gates_;
  std::vector<float> features_;  ///< [e h prior]
  std::vector<float> hidden_;
  std::vector<float> value_hidden_;
  std::vector<float> logits_;
  std::vector<std::uint8_t> mask_;
  std::vector<std::int32_t> given_;
};

}  // namespace cclgym
