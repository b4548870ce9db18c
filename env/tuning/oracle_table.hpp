// The best actions that were found by trying all, kept for everybody who asks on one machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <tuple>

#include "env/tuning/actions/tuning_action.hpp"
#include "sim/fast/call_timer.hpp"

namespace cclgym {

/// The best action of a call in a condition.
struct BestAction {
  std::uint32_t index = 0;  ///< which of legal_actions(); the first of equals
  double time_s = 0;
};

/// Thread-safe. What it answers does not depend on who asked before.
class OracleTable {
 public:
  /// Times go through `cache`, too.
  OracleTable(std::shared_ptr<const CallSite> site, std::shared_ptr<const TuningActions> actions,
              std::shared_ptr<TimeCache> cache);

  /// Is the best action of this call known?
  [[nodiscard]] bool find(const Call& call, std::size_t condition, std::uint16_t moment,
                          BestAction& best) const;
  void keep(const Call& call, std::size_t condition, std::uint16_t moment, BestAction best);

  /// What fill tells: the index of the call and the condition, and the time of every legal action
  /// in their order, s. Called from several threads.
  using Visitor =
      std::function<void(std::size_t call, std::size_t condition, std::span<const double> times_s)>;
  /// Simulates every legal action of all calls in all conditions (of random ones: at their moment
  /// 0) in `threads` threads, but for calls that are known if there is no visitor. A program is
  /// compiled once for all sizes. Returns the number of cells, known ones included.
  std::size_t fill(std::span<const Call> calls, std::span<const std::size_t> conditions,
                   std::size_t threads, const Visitor& visit = {});

  [[nodiscard]] const TuningActions& actions() const { return *actions_; }

 private:
  using Key = std::tuple<std::uint8_t, int, std::uint64_t, std::size_t, std::uint16_t>;
  [[nodiscard]] static Key key_of(const Call& call, std::size_t condition, std::uint16_t moment);
  struct Wanted {
    std::size_t call = 0;
    std::size_t condition = 0;
  };
  void fill_collective(CollectiveKind collective, std::span<const Call> calls,
                       std::span<const Wanted> wanted, std::size_t threads, const Visitor& visit);

  std::shared_ptr<const CallSite> site_;
  std::shared_ptr<const TuningActions> actions_;
  std::shared_ptr<TimeCache> cache_;
  mutable std::shared_mutex mutex_;
  std::map<Key, BestAction> best_;
};

}  // namespace cclgym
