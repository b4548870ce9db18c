// Links whose capacity changes while a graph runs: slow cross-tenant load, a link that degrades.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cclgym {

/// From date `time_s` on, link `link` has another capacity.
struct CapacityChange {
  double time_s = 0;        ///< finite, >= 0; the clock of an engine starts at 0
  std::int32_t link = 0;    ///< index of the link in the graph
  double capacity_Bps = 0;  ///< finite, > 0
};

/// The capacity changes of one run, in the order of their dates, drawn as they are needed: a
/// process may go on for ever, and what lies beyond the end of the run costs nothing but one draw.
///
/// How it is used: `engine.run(observer, &process)` (or run_tiles) calls restart(), then next()
/// before the first event and again each time the clock reaches the change it was given. All
/// changes of one date take effect at that date, before rates are found anew. Every run starts from
/// the graph's own capacities, which remain what adaptive routes are chosen by (RouteChooser).
///
/// Contract: after restart() next() gives the same changes again, so that all engines and all runs
/// see the same draws: keep the random stream (core/random) in the process and seed it anew in
/// restart(). Dates never fall, and any span of time holds finitely many of them. Engines throw
/// std::logic_error on a date or a capacity that breaks the rules above. Give only changes of links
/// whose capacity really changes: each costs a max-min solve of the flows that the link constrains.
class CapacityProcess {
 public:
  virtual ~CapacityProcess() = default;
  /// Back to before the first change.
  virtual void restart() = 0;
  /// The next change; nothing if there are no more.
  virtual std::optional<CapacityChange> next() = 0;
};

/// Changes that are known beforehand.
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

/// What an engine asks: the changes of a process one by one, each checked. Without a process there
/// are none.
class CapacityReader {
 public:
  /// Restarts the process (which may be null) for a run over so many links.
  void start(CapacityProcess* process, std::size_t links);
  [[nodiscard]] bool any() const { return pending_.has_value(); }
  /// Only if any().
  [[nodiscard]] const CapacityChange& pending() const { return *pending_; }
  /// Goes on to the next change. Throws std::logic_error if it is not valid.
  void advance();

 private:
  CapacityProcess* process_ = nullptr;
  std::size_t links_ = 0;
  std::optional<CapacityChange> pending_;
};

}  // namespace cclgym
