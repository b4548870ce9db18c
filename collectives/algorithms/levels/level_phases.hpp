// The phases of a collective over levels: one kernel for each level, and for the shuffle. Internal
// to the algorithms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/algorithms/levels/level_plan.hpp"
#include "collectives/outline.hpp"
#include "collectives/program.hpp"

namespace cclgym::algorithms {

enum class PhaseKind : std::uint8_t { Gather, ReduceScatter, Shuffle };

/// Device copies that a phase makes besides its messages.
enum class PhaseCopies : std::uint8_t {
  None,
  OwnFirst,  ///< AllGather: first, each rank's slice to its place in the packed order
  OwnLast,   ///< ReduceScatter: last, the sum from its place in the packed order to the output
  Shuffle    ///< the shuffle, at the same time as the messages
};

struct LevelPhase {
  PhaseKind kind = PhaseKind::Gather;
  /// Level; for a shuffle, the innermost of the levels on which the slices are gathered.
  int level = 0;
  Buffer buffer = Buffer::Input;  ///< holds what the messages move
  bool packed = true;             ///< order of the slices in the buffer
  PhaseCopies copies = PhaseCopies::None;
};

/// The phases of a request, in order.
[[nodiscard]] std::vector<LevelPhase> level_phases(const LevelLayout& layout, ShuffleOption shuffle,
                                                   CollectiveKind collective);

/// Rank after whose kernel the rank's kernel of a phase starts (KernelGate); -1: none.
[[nodiscard]] int gate_of(const LevelLayout& layout, const LevelPhase& phase, int rank);

/// The messages of a phase, AllGather or ReduceScatter, in one group, in place, on channel 0.
/// `scratch`: first chunk of scratch that is free for the algorithm, which takes no more than all
/// runs have. `order`: of a ring. If MPI sends the messages, no thread block is there to copy and
/// add: local copies are device copies, and every message is added when it arrives.
void exchange_runs(ProgramBuilder& p, const LevelLayout& layout, const LevelPhase& phase,
                   const RankGroup& group, const Runs& runs, int scratch,
                   std::span<const int> order);
/// Opens a scope for the channels of each ring of a level (LevelLayout::ring_orders), one after the
/// other, and calls visit(order) in it. `channels`: those of levels inside nodes.
template <class Visit>
void for_each_ring(ProgramBuilder& p, const LevelLayout& layout, int level, int channels,
                   const Visit& visit) {
  const int instances = layout.channels(level, channels);
  const auto& orders = layout.ring_orders(level);
  const int rings = std::min(instances, static_cast<int>(orders.size()));
  for (int ring = 0; ring < rings; ++ring) {
    const auto parallel = p.parallelize(instances, ring, rings);
    visit(std::span<const int>(orders[static_cast<std::size_t>(ring)]));
  }
}

/// Number i of the runs that the rank at a place of a ring receives in AllGather, after its own, or
/// sends in ReduceScatter.
[[nodiscard]] int run_on_ring(std::span<const int> order, int place, int i, bool gathers);

/// Device copies of the shuffle on one rank: chunks of scratch to chunks of a buffer, or the other
/// way round.
struct ShuffleCopy {
  int packed;  ///< chunk of scratch
  int slice;   ///< chunk of the buffer in the final order
};
/// Copies for a shuffle at `level`, in the order in which a ring of that level receives (AllGather)
/// or sends (ReduceScatter) the runs.
[[nodiscard]] std::vector<ShuffleCopy> shuffle_copies(const LevelLayout& layout, int level,
                                                      int rank, bool gathers);

/// Traces all phases; chunks are slices. The builder's contract has one chunk per slice.
void trace_phases(ProgramBuilder& p, const LevelLayout& layout, std::span<const LevelPhase> phases,
                  int channels);

/// Outline of the compiled program of a checked request, without its traits; nullopt for several
/// instances.
[[nodiscard]] std::optional<ProgramOutline> levels_outline(const LevelPlan& plan,
                                                           const AlgorithmRequest& request,
                                                           const std::string& name);

}  // namespace cclgym::algorithms
