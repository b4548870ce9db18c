// The expert that behaviour cloning follows by default: the oracle's table of the times of all
// legal actions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "agents/training/expert.hpp"
#include "core/random.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

/// Draws among the good actions of a call: action a, which takes t(a), with probability
/// proportional to exp(-ln(t(a) / t(best)) / temperature) among those with t(a) <= (1 + margin)
/// t(best). Where many actions are as good as the best, a policy may so choose those that are good
/// at neighbouring sizes, too, in place of the first of each.
///
/// It knows the hidden regime of the machine; a policy that is to act like it has to find out.
/// Thread-safe; what it answers does not depend on who asked before.
class OracleExpert : public Expert {
 public:
  OracleExpert(std::shared_ptr<const TuningSetup> setup, double temperature, double margin);

  /// Levels of an action for the call that the environment makes next, in its regime (of random
  /// profiles: at their first moment).
  void choose(const CollectiveTuningEnv& environment, Random& random,
              std::span<std::int32_t> levels) override;
  /// Simulates the table for every call of a workload that has finitely many in every regime, in
  /// `threads` threads. Returns how many cells it has.
  std::size_t fill(std::size_t threads);

 private:
  using Key = std::tuple<std::uint8_t, int, std::uint64_t, std::size_t>;
  struct Cell {
    std::vector<std::uint32_t> actions;  ///< indices into legal_actions
    std::vector<double> cumulative;      ///< of their probabilities
  };
  [[nodiscard]] std::shared_ptr<const Cell> cell(const Call& call, std::size_t condition);
  [[nodiscard]] static Key key_of(const Call& call, std::size_t condition);
  [[nodiscard]] Cell cell_of(std::span<const double> times_s) const;
  [[nodiscard]] Cell make_cell(const Call& call, std::size_t condition) const;

  std::shared_ptr<const TuningSetup> setup_;
  double temperature_;
  double margin_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const Cell>> cells_;
};

}  // namespace cclgym
