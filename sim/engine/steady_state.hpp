// Thousands of tiles for the price of a few: run some, and carry the steady state on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// How much may be simulated.
struct TileBudget {
  std::int32_t whole = 64;           ///< up to so many tiles, all are simulated
  std::int32_t first = 24;           ///< tiles of the first run when they are not
  std::int64_t firings = 2'000'000;  ///< of the largest run, unless `whole` asks for more
};

/// When a tiled graph is done.
struct TiledDates {
  std::shared_ptr<const TransferGraph> graph;  ///< the last one simulated: the first tiles
  std::int32_t simulated = 1;                  ///< its tiles
  double simulated_makespan_s = 0;             ///< of that graph
  std::vector<double> end_s;                   ///< by watched node, with all tiles
  /// Of the one run there was, if all tiles were simulated; valid until the engine runs again.
  EngineResult whole;
  /// How far end_s may be off, s; 0 if all tiles were simulated. A bound if `periodic`, otherwise
  /// an estimate.
  double error_s = 0;
  bool periodic = true;
};

/// Runs of the first tiles of a graph, kept for the next one: graphs of one program that differ in
/// the number of their tiles alone, as those of larger and larger calls do, begin alike.
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

/// The dates at which the `watched` nodes are done with all `tiles` tiles of a graph in which every
/// node fires once or `tiles` times. Throws GraphStalled as the engine does.
///
/// Runs of W and about 2 W tiles are compared, W doubling from budget.first on. The result is
/// carried on from them once
/// * in the middle half of the larger run every node's dates repeat after p tiles, later by the
/// same
///   time (within 1e-9 of it) over at least three periods; and
/// * the watched nodes end later in the larger run by just that.
/// The first says that the pipeline has reached its steady state: what follows depends on nothing
/// but the dates of one period. The second says that its end is the same after any number of
/// periods. That is proof where nodes wait only for ones at least as fast as themselves, and where
/// the flows on a link advance alike and have been seen together; elsewhere a third run must agree,
/// and `periodic` is false. Where the budget ends before the dates repeat, the last two runs give a
/// slope; its change from the runs before, and how far nodes still run ahead of ones that they wait
/// for, give an estimate of the error.
///
/// With capacities that change or a background there is no steady state: all tiles are simulated.
/// `observer` is told of all firings if the first run is of all tiles (up to budget.whole). `kept`,
/// if given, is for one engine, and saves runs that it has made already; the result is the same.
[[nodiscard]] TiledDates run_tiles(Engine& engine,
                                   const std::shared_ptr<const TransferGraph>& graph,
                                   std::int32_t tiles, std::span<const TransferId> watched,
                                   const TileBudget& budget = {},
                                   CapacityProcess* capacities = nullptr,
                                   FiringObserver* observer = nullptr, TileRuns* kept = nullptr);

}  // namespace cclgym
