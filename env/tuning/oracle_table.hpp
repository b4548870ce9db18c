// The best actions, found by trying all of them; shared by all users of one machine.
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
#include "sim/fast/bounded_cache.hpp"
#include "sim/fast/call_timer.hpp"

namespace cclgym {

/// The best action of a call in a condition.
struct BestAction {
  std::uint32_t index = 0;  ///< index in legal_actions(); the first if several are equal
  double time_s = 0;
};

/// A call, a condition and a moment of the machine, and the number of the tuner that is asked.
struct ChoiceKey {
  std::uint64_t bytes = 0;
  std::uint64_t rest = 0;  ///< collective, condition, moment, root
  std::uint64_t who = 0;   ///< number of the tuner, as TuningOracle counts
  friend bool operator==(const ChoiceKey&, const ChoiceKey&) = default;
};
struct ChoiceKeyHash {
  std::uint64_t operator()(const ChoiceKey& key) const;
};
using ChoiceCache = BoundedCache<ChoiceKey, PlainConfig, ChoiceKeyHash>;
inline constexpr std::size_t kCachedChoices = std::size_t{1} << 14;

/// Thread-safe. Its answers do not depend on earlier queries.
class OracleTable {
 public:
  /// Times are also stored in `cache`.
  OracleTable(std::shared_ptr<const CallSite> site, std::shared_ptr<const TuningActions> actions,
              std::shared_ptr<TimeCache> cache);

  /// Returns true and the best action of this call if it is known.
  [[nodiscard]] bool find(const Call& call, std::size_t condition, std::uint16_t moment,
                          BestAction& best) const;
  void keep(const Call& call, std::size_t condition, std::uint16_t moment, BestAction best);

  /// Receives results of fill(): the index of the call and the condition, and the times of all
  /// legal actions in their order, s. Called from several threads.
  using Visitor =
      std::function<void(std::size_t call, std::size_t condition, std::span<const double> times_s)>;
  /// Simulates every legal action of all calls in all conditions (random ones: at moment 0) in
  /// `threads` threads; without a visitor, calls that are known are skipped. A program is compiled
  /// once for all sizes. Returns the number of pairs of call and condition, including known ones.
  std::size_t fill(std::span<const Call> calls, std::span<const std::size_t> conditions,
                   std::size_t threads, const Visitor& visit = {});

  [[nodiscard]] const TuningActions& actions() const { return *actions_; }
  /// Choices of the actions' tuners, which all oracles with this table share: a cache per oracle
  /// would be a megabyte per environment.
  [[nodiscard]] ChoiceCache& choices() { return choices_; }

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
  ChoiceCache choices_{kCachedChoices};
  mutable std::shared_mutex mutex_;
  std::map<Key, BestAction> best_;
};

}  // namespace cclgym
