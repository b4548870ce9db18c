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
  std::int32_t first = 24;           ///< tiles of the first run, if there are more
  std::int64_t firings = 2'000'000;  ///< maximum for one run, unless `whole` requires more
};

/// End dates of a tiled graph.
struct TiledDates {
  std::shared_ptr<const TransferGraph> graph;  ///< last simulated graph, which has the first tiles
  std::int32_t simulated = 1;                  ///< number of its tiles
  double simulated_makespan_s = 0;             ///< makespan of that graph
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
/// Simulates the first tiles in ever larger runs, starting with budget.first, until all dates
/// repeat, and extrapolates the rest; docs/cost-models.md, "Thousands of tiles", has the criteria,
/// the meaning of `periodic` and the error estimate. With changing capacities or a background there
/// is no steady state, and all tiles are simulated.
///
/// `observer` is notified of all firings if the first run covers all tiles (up to budget.whole).
/// `kept`, if given, belongs to one engine and saves repeated runs; the result is the same.
[[nodiscard]] TiledDates run_tiles(Engine& engine,
                                   const std::shared_ptr<const TransferGraph>& graph,
                                   std::int32_t tiles, std::span<const TransferId> watched,
                                   const TileBudget& budget = {},
                                   CapacityProcess* capacities = nullptr,
                                   FiringObserver* observer = nullptr, TileRuns* kept = nullptr);

}  // namespace cclgym
