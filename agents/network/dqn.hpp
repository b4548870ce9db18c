// Deep Q-learning for the network of PPO: a head's output for a level is its Q value
// (docs/agents.md, "Deep Q-learning", has the targets). An LSTM is not supported, since transitions
// are replayed one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agents/network/policy_network.hpp"
#include "agents/network/rollout.hpp"

namespace cclgym {

struct DqnOptions {
  int replay = 0;      ///< transitions that are kept
  int batch = 0;       ///< transitions per update
  int updates = 0;     ///< updates per iteration
  double epsilon = 0;  ///< fraction of random actions in the second half of training
};

/// Transitions (o, a, r, o') with the conditional masks of a and of the next action; new
/// transitions replace the oldest ones.
class ReplayMemory {
 public:
  /// Throws std::invalid_argument if the policy has an LSTM.
  ReplayMemory(std::size_t capacity, const RolloutShape& shape);

  /// Adds all transitions of a rollout except those without o', which are its last step and the
  /// ends of truncated episodes.
  void add(const Rollout& rollout);
  [[nodiscard]] std::size_t size() const { return size_; }

  /// All transitions as bytes, for checkpoints; the same transitions give the same bytes.
  [[nodiscard]] std::string bytes() const;
  /// Replaces all transitions by those of bytes(). Returns false, and changes nothing, if they are
  /// of a memory of another capacity or shape.
  [[nodiscard]] bool restore(std::string_view bytes);

  /// Batch of the transitions `chosen`, as sequences of one step, with the targets of every head.
  [[nodiscard]] SequenceBatch batch(std::span<const std::size_t> chosen,
                                    const std::shared_ptr<const PolicyNetwork>& online,
                                    const std::shared_ptr<const PolicyNetwork>& frozen,
                                    double gamma) const;

 private:
  /// Observation, masks and levels at one step.
  struct Side {
    std::vector<float> observations;   ///< [capacity x observations]
    std::vector<std::uint8_t> masks;   ///< [capacity x mask_size]
    std::vector<std::int32_t> levels;  ///< [capacity x dimensions]
    void copy(const Rollout& rollout, std::size_t row, std::size_t place);
  };

  RolloutShape shape_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  std::size_t next_ = 0;
  Side before_;
  Side after_;
  std::vector<float> reward_;
  std::vector<std::uint8_t> terminated_;
};

}  // namespace cclgym
