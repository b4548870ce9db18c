// Links whose capacity changes while a graph runs: slow cross-tenant load, a degrading link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cclgym {

/// Link `link` has capacity `capacity_Bps` from date `time_s` on.
struct CapacityChange {
  double time_s = 0;        ///< finite, >= 0; the clock of an engine starts at 0
  std::int32_t link = 0;    ///< index of the link in the graph
  double capacity_Bps = 0;  ///< finite, > 0
};

/// The capacity changes of one run in order of their dates, drawn on demand: a process may be
/// endless, and changes beyond the end of the run cost only one draw.
///
/// `engine.run(observer, &process)` (or run_tiles) calls restart(), then next() before the first
/// event and each time the clock reaches the pending change. All changes of one date take effect at
/// that date, before new rates are computed. Every run starts from the graph's own capacities, with
/// which adaptive routes are always chosen (RouteChooser).
///
/// Contract: after restart(), next() returns the same changes again, so that all engines and runs
/// see the same draws: keep the random stream (core/random) in the process and reseed it in
/// restart(). Dates never decrease, and any finite time has finitely many of them. Engines throw
/// std::logic_error on a date or capacity that breaks these rules. Return only real changes: each
/// costs a max-min solve of the flows that the link constrains.
class CapacityProcess {
 public:
  virtual ~CapacityProcess() = default;
  /// Returns to the state before the first change.
  virtual void restart() = 0;
  /// Returns the next change; nullopt if there are no more.
  virtual std::optional<CapacityChange> next() = 0;
};

/// A fixed list of changes.
class CapacitySchedule final : public CapacityProcess {
 public:
  /// Throws std::logic_error unless the changes are sorted by date and valid.
  explicit CapacitySchedule(std::vector<CapacityChange> changes);
  void restart() override { position_ = 0; }
  std::optional<CapacityChange> next() override;

 private:
  std::vector<CapacityChange> changes_;
  std::size_t position_ = 0;
};

/// Reads the changes of a process one by one for an engine, and checks each. Without a process
/// there are no changes.
class CapacityReader {
 public:
  /// Restarts the process (may be null) for a run with `links` links.
  void start(CapacityProcess* process, std::size_t links);
  [[nodiscard]] bool any() const { return pending_.has_value(); }
  /// Requires any().
  [[nodiscard]] const CapacityChange& pending() const { return *pending_; }
  /// Advances to the next change. Throws std::logic_error if it is not valid.
  void advance();

 private:
  CapacityProcess* process_ = nullptr;
  std::size_t links_ = 0;
  std::optional<CapacityChange> pending_;
};

}  // namespace cclgym
