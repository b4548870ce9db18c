// Noise on a lowered program: what of a profile changes the graph, and what changes while it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cost_models/cost_model.hpp"
#include "sim/graph/capacity_process.hpp"
#include "sim/lowering/lowering.hpp"
#include "sim/noise/noise_profile.hpp"
#include "sim/noise/noise_random.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

struct NoisyProgram {
  /// As given but for latencies, rate caps and capacities.
  LoweredProgram lowered;
  /// What an engine runs: lowered.graph, perhaps unfolded, perhaps with other jobs behind its
  /// nodes.
  std::shared_ptr<const TransferGraph> graph;
  /// With jitter, every message has a latency of its own, so that every firing of a tiled graph is
  /// a node of its own (see unfolded()). lowered.graph stays folded, without the jitter.
  bool unfolded = false;
  std::vector<TransferId> rank_last;            ///< lowered.rank_last, as nodes of `graph`
  std::unique_ptr<CapacityProcess> capacities;  ///< null: they stay as they are

  /// Is what an engine runs lowered.graph, and nothing else? Then tiles may be carried on from the
  /// first ones.
  [[nodiscard]] bool steady() const { return capacities == nullptr && graph == lowered.graph; }
};

/// Applies a profile (all but its start skew, which is part of the lowering). Same seed: same bits.
/// `lowered` must come from lower() with this fabric and model. Throws UserError if jitter would
/// unfold more than kMostUnfolded firings.
[[nodiscard]] NoisyProgram apply_noise(LoweredProgram lowered, const Fabric& fabric,
                                       const CostModel& model, const NoiseProfile& profile,
                                       const NoiseSeed& seed);
inline constexpr std::int64_t kMostUnfolded = 20'000'000;

/// Every firing of every node as a node of its own, in the order of nodes, then firings. Ends at
/// the same dates. Throws UserError as apply_noise does.
[[nodiscard]] LoweredProgram unfolded(const LoweredProgram& lowered);

}  // namespace cclgym
