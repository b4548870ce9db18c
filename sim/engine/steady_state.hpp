// Extrapolates thousands of tiles from a few: simulates the first ones and continues the steady
// state.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// Limits on the simulated tiles.
struct TileBudget {
  std::int32_t whole = 64;           ///< all tiles are simulated up to this number
  std::int32_t first = 24;           ///< otherwise: tiles of the first run
  std::int64_t firings = 2'000'000;  ///< max of the largest run, unless `whole` requires more
};

/// End dates of a tiled graph.
struct TiledDates {
  std::shared_ptr<const TransferGraph> graph;  ///< the last one simulated: the first tiles
  std::int32_t simulated = 1;                  ///< number of its tiles
  double simulated_makespan_s = 0;             ///< that graph's
  std::vector<double> end_s;                   ///< by watched node, for all tiles
  /// The result of the only run if all tiles were simulated; valid until the engine runs again.
  EngineResult whole;
  /// Error of end_s, s; 0 if all tiles were simulated. A bound if `periodic`, otherwise an
  /// estimate.
  double error_s = 0;
  bool periodic = true;
};

/// Runs of the first tiles of a graph, kept for later calls: graphs of one program that differ only
/// in the number of their tiles, as for calls of increasing size, start with the same tiles.
class TileRuns {
 public:
  TileRuns();
  ~TileRuns();
  TileRuns(TileRuns&&) noexcept;
  TileRuns& operator=(TileRuns&&) noexcept;

 private:
  friend class SteadyState;
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

/// Dates at which the `watched` nodes are done with all `tiles` tiles of a graph in which every
/// node fires once or `tiles` times. Throws GraphStalled as the engine does.
///
/// Simulates runs of W and about 2 W tiles, with W doubling from budget.first, until, in the middle
/// half of the larger run, every node's dates repeat every p tiles, later by the same time (within
/// 1e-9 of it) over at least three periods, and the watched nodes end later in the larger run by
/// exactly that time per period. The rest is extrapolated. `periodic` is true where that is a
/// proof: nodes wait only for nodes at least as fast, and flows that share a link advance at one
/// speed and were active together. Otherwise a third run must agree, or, if the budget ends before
/// the dates repeat, the slope of the last two runs is used. docs/cost-models.md, "Thousands of
/// tiles", has the reasons and the error estimate.
///
/// With changing capacities or a background there is no steady state, and all tiles are simulated.
/// `observer` is notified of all firings if the first run covers all tiles (up to budget.whole).
/// `kept`, if given, belongs to one engine and saves repeated runs; the result is the same.
[[nodiscard]] TiledDates run_tiles(Engine& engine,
                                   const std::shared_ptr<const TransferGraph>& graph,
                                   std::int32_t tiles, std::span<const TransferId> watched,
                                   const TileBudget& budget = {},
                                   CapacityProcess* capacities = nullptr,
                                   FiringObserver* observer = nullptr, TileRuns* kept = nullptr);

}  // namespace cclgym
