// Deep Q-learning for the same network as PPO's: what a head says of a level is its Q value.
//
// Dimensions of the action are decided in turn, each knowing the ones before, so that a head's Q
// value is that of the best that may follow (Metz et al. 2017, "Discrete sequential prediction of
// continuous actions"). With theta the weights, theta' those at the beginning of the iteration:
//
//   target of head d  = max over the legal levels of head d + 1 of Q_theta'(o, a_0 .. a_d, .)
//   of the last one   = r + gamma Q_theta'(o', argmax Q_theta(o', .))       (first head; 0 if over)
//
// which is double Q-learning (van Hasselt et al. 2016). Heads with one legal level are passed over.
// The LSTM has no place in it: transitions are replayed one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "agents/network/policy_network.hpp"
#include "agents/network/rollout.hpp"

namespace cclgym {

struct DqnOptions {
  int replay = 0;      ///< transitions that are remembered
  int batch = 0;       ///< transitions of an update
  int updates = 0;     ///< of an iteration
  double epsilon = 0;  ///< share of random actions from the middle of the training on
};

/// Transitions (o, a, r, o') with the masks that a and the action after it were chosen under; the
/// oldest make room for new ones.
class ReplayMemory {
 public:
  /// Throws std::invalid_argument if the policy has an LSTM.
  ReplayMemory(std::size_t capacity, const RolloutShape& shape);

  /// All transitions of a rollout but those whose o' is not in it: of its last step, and of
  /// episodes that were cut off.
  void add(const Rollout& rollout);
  [[nodiscard]] std::size_t size() const { return size_; }

  /// The transitions `chosen` as sequences of one step, with the targets of every head.
  [[nodiscard]] SequenceBatch batch(std::span<const std::size_t> chosen,
                                    const std::shared_ptr<const PolicyNetwork>& online,
                                    const std::shared_ptr<const PolicyNetwork>& frozen,
                                    double gamma) const;

 private:
  /// Of a policy at one moment.
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
