// The best legal action, found by trying all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "env/tuning/actions/tuning_action.hpp"
#include "env/tuning/oracle_table.hpp"
#include "sim/fast/call_timer.hpp"

namespace cclgym {

/// Times actions and finds the best one. Not thread-safe.
class TuningOracle {
 public:
  /// `timer` must outlive this object. `table` has results of other oracles for the same actions on
  /// the same site; may be null.
  TuningOracle(std::shared_ptr<const TuningActions> actions, CallTimer& timer,
               std::shared_ptr<OracleTable> table = nullptr);

  /// If the table does not have the result, simulates every legal action that has not been timed
  /// before: several thousand for profile offline. `condition` and `moment` are those of
  /// CallTimer::time. Throws std::logic_error if no action is legal.
  [[nodiscard]] BestAction best(const Call& call, std::size_t condition = 0,
                                std::uint16_t moment = 0);
  /// Times of all legal actions in their order, s; infinite for those that are not legal for a
  /// call of this size.
  void all_times(const Call& call, std::span<double> time_s, std::size_t condition = 0,
                 std::uint16_t moment = 0);

  /// Configuration of a legal action, and its time. Does not allocate if both have been requested
  /// before.
  [[nodiscard]] PlainConfig config(const Call& call, std::span<const std::int32_t> action);
  [[nodiscard]] PlainConfig reference(const Call& call);
  /// Choice of a tuner; nullopt if it does not choose for the collective or on the fabric.
  [[nodiscard]] std::optional<PlainConfig> choice(const Call& call, std::size_t tuner);
  [[nodiscard]] TimedCall time(const Call& call, std::span<const std::int32_t> action,
                               std::size_t condition = 0, std::uint16_t moment = 0);

  [[nodiscard]] const TuningActions& actions() const { return *actions_; }

 private:
  // Numbers of those who choose: 0 is the reference, tuner i has i + 1.
  static constexpr std::uint64_t kEngine = ~std::uint64_t{0};  ///< PCCL's engine
  [[nodiscard]] PlainConfig chosen(const Call& call, std::uint64_t who);

  using BestCache = BoundedCache<ChoiceKey, BestAction, ChoiceKeyHash>;

  std::shared_ptr<const TuningActions> actions_;
  CallTimer& timer_;
  std::shared_ptr<OracleTable> table_;
  std::unique_ptr<ChoiceCache> own_;  ///< null if the table's choices are of the same actions
  ChoiceCache& chosen_;
  std::unique_ptr<BestCache> best_;  ///< made at the first best()
};

}  // namespace cclgym
