// Slow load by other tenants: the capacities of links as Markov chains.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "sim/graph/capacity_process.hpp"
#include "sim/noise/noise_profile.hpp"
#include "sim/noise/noise_random.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// The capacity changes of one call. Each chain starts at date 0 in a state drawn by the shares.
/// Its random stream is keyed by its link (or group of links), so that a link's load does not
/// depend on which other links are used.
class LoadProcess final : public CapacityProcess {
 public:
  /// `capacities_Bps`: capacities of the fabric's links without load. `used`: true for links that
  /// some flow crosses; changes of other links are left out. `profile` is copied.
  LoadProcess(const Fabric& fabric, const NoiseProfile& profile,
              std::span<const double> capacities_Bps, const std::vector<bool>& used,
              const NoiseSeed& seed);

  /// Maximum number of states that a run draws. Set by hand: drawing them takes seconds, and the
  /// largest shipped fabrics under the shipped profiles need a thousandth of it per second.
  static constexpr std::int64_t kMostDraws = 20'000'000;

  void restart() override;
  /// Throws SimulationStalled after kMostDraws.
  std::optional<CapacityChange> next() override;

  /// True if some capacity changes.
  [[nodiscard]] bool any() const { return !chains_.empty(); }

 private:
  struct Chain {
    std::size_t kind = 0;     ///< index of its LinkLoad in the profile
    std::uint64_t thing = 0;  ///< key of its random stream
    std::vector<std::int32_t> links;
    Random random{0};
    std::size_t state = 0;
  };

  [[nodiscard]] const LinkLoad& load_of(const Chain& chain) const {
    return profile_.load[chain.kind];
  }
  void begin(std::size_t index);
  void leave(Chain& chain);
  void schedule(std::size_t index, double now_s);
  void announce(const Chain& chain, double now_s);

  NoiseProfile profile_;
  NoiseSeed seed_;
  std::vector<double> capacities_Bps_;
  std::vector<Chain> chains_;
  /// Date at which each chain leaves its state, and the chain's index; the earliest is on top.
  std::priority_queue<std::pair<double, std::size_t>, std::vector<std::pair<double, std::size_t>>,
                      std::greater<>>
      changes_;
  std::deque<CapacityChange> due_;
  std::int64_t draws_ = 0;  ///< since restart()
};

}  // namespace cclgym
