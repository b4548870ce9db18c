// The default expert of behaviour cloning: the oracle's table of the times of all legal actions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "agents/experts/expert.hpp"
#include "core/random.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

/// Draws among the good actions of a call: action a with time t(a) has a probability proportional
/// to exp(-ln(t(a) / t(best)) / temperature), if t(a) <= (1 + margin) t(best). If many actions are
/// as good as the best, the policy can thus prefer those that are also good at neighbouring sizes.
/// If `advised`, the answer is the action with the least estimate (ActionPrior::advice) where its
/// time is within the margin, so that a policy that observes this action learns when to follow it.
///
/// The expert knows the machine's hidden regime; a policy has to infer it. Thread-safe; its answers
/// do not depend on earlier calls.
class OracleExpert : public Expert {
 public:
  OracleExpert(std::shared_ptr<const TuningSetup> setup, double temperature, double margin,
               bool advised = false);

  /// Levels of an action for the environment's next call in its regime. Regimes with random
  /// profiles are taken at their first moment.
  void choose(const CollectiveTuningEnv& environment, Random& random,
              std::span<std::int32_t> levels) override;
  /// Simulates the table for every call of a finite workload in every regime, in `threads` threads.
  /// Returns the number of pairs of call and condition. `progress`, if given, gets the number so
  /// far after each one, from one thread at a time.
  std::size_t fill(std::size_t threads, const std::function<void(std::size_t done)>& progress = {});

 private:
  using Key = std::tuple<std::uint8_t, int, std::uint64_t, std::size_t>;
  struct Cell {
    std::vector<std::uint32_t> actions;  ///< indices into legal_actions
    std::vector<double> cumulative;      ///< cumulative probabilities
  };
  [[nodiscard]] std::shared_ptr<const Cell> cell(const Call& call, std::size_t condition);
  [[nodiscard]] static Key key_of(const Call& call, std::size_t condition);
  [[nodiscard]] Cell cell_of(const Call& call, std::span<const double> times_s) const;
  [[nodiscard]] Cell make_cell(const Call& call, std::size_t condition) const;

  std::shared_ptr<const TuningSetup> setup_;
  double temperature_;
  double margin_;
  bool advised_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const Cell>> cells_;
};

}  // namespace cclgym
