// Noise on a lowered program: changes of its graph before a run, and of capacities during it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cost_models/cost_model.hpp"
#include "sim/graph/capacity_process.hpp"
#include "sim/graph/firing_tracker.hpp"
#include "sim/lowering/lowering.hpp"
#include "sim/noise/noise_profile.hpp"
#include "sim/noise/noise_random.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

struct NoisyProgram {
  /// The given program with changed cost records, delays and capacities, and a graph to match.
  LoweredProgram lowered;
  /// The graph that an engine runs: lowered.graph, possibly unfolded, possibly followed by nodes of
  /// other jobs.
  std::shared_ptr<const TransferGraph> graph;
  /// With jitter, every message has a latency of its own, so every firing of a tiled graph is a
  /// separate node (see unfolded()). lowered.graph stays folded, without the jitter.
  bool unfolded = false;
  /// Not null: `graph` stays folded, and FiringRun runs it with these latencies.
  std::unique_ptr<FiringLatencies> latencies;
  std::vector<TransferId> rank_last;            ///< lowered.rank_last, as nodes of `graph`
  std::unique_ptr<CapacityProcess> capacities;  ///< null if they do not change during the run

  /// True if an engine runs lowered.graph as it is; then tiles may be extrapolated from the first
  /// ones.
  [[nodiscard]] bool steady() const { return capacities == nullptr && graph == lowered.graph; }
};

/// Form of a tiled graph with jitter: unfolded, as records and engine simgrid need it, or folded
/// with a latency for each firing where FiringRun can run it, which has the same dates.
enum class JitterForm : std::uint8_t { Unfolded, Folded };

/// Applies a profile (except its start skew, which is part of the lowering). The same seed gives
/// the same bits. `lowered` must come from lower() with this model and either this fabric or
/// lowered.fabric, the same fabric bound to other NICs; other jobs run on `fabric`. Slow GPUs
/// change the cost records of their nodes (NodeCost::gpu_rate), which are repriced; jitter adds
/// delays; degraded links change capacities. Everything else in the graph stays bit-identical.
/// Throws UserError if jitter would unfold more than kMaxUnfolded firings.
[[nodiscard]] NoisyProgram apply_noise(LoweredProgram lowered, const Fabric& fabric,
                                       const CostModel& model, const NoiseProfile& profile,
                                       const NoiseSeed& seed,
                                       JitterForm form = JitterForm::Unfolded);
inline constexpr std::int64_t kMaxUnfolded = 20'000'000;

/// The costs of a graph, to change some of them (TransferGraph::with_costs).
[[nodiscard]] TransferGraph::Costs costs_of(const TransferGraph& graph);

/// Throws UserError if a graph has more than kMaxUnfolded firings.
void require_unfoldable(const TransferGraph& graph);
/// The program with every firing of every node as a separate node, in the order of nodes, then
/// firings. It ends at the same dates. Throws UserError as apply_noise does.
[[nodiscard]] LoweredProgram unfolded(const LoweredProgram& lowered);

}  // namespace cclgym
