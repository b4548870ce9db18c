#include "collectives/algorithms/levels/level_phases.hpp"

#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/all_pairs_phases.hpp"
#include "collectives/algorithms/recursive/bruck_phases.hpp"
#include "collectives/algorithms/recursive/recursive_phases.hpp"
#include "collectives/algorithms/ring_phases.hpp"
#include "collectives/algorithms/rooted_tree.hpp"

namespace cclgym::algorithms {

namespace {

constexpr OperationOptions kOnChannel0{.channel = 0};
constexpr OperationOptions kDeviceCopy{.channel = 0, .device = true};

// Phases of AllGather, from the outermost level to the innermost one.
std::vector<LevelPhase> gather_phases(int last, ShuffleOption shuffle) {
  std::vector<LevelPhase> phases;
  const bool avoided = last == 0 || shuffle == ShuffleOption::Avoided;
  for (int level = last; level >= 0; --level) {
    const bool at_place = avoided || (level == 0 && shuffle == ShuffleOption::Before);
    LevelPhase phase{.kind = PhaseKind::Gather,
                     .level = level,
                     .buffer = at_place ? Buffer::Output : Buffer::Scratch,
                     .packed = !at_place || last == 0};
    if (!avoided && level == last) phase.copies = PhaseCopies::OwnFirst;
    if (!avoided && level == 0 && shuffle == ShuffleOption::Overlapped) {
      phase.copies = PhaseCopies::Shuffle;
    }
    phases.push_back(phase);
    const int shuffled = shuffle == ShuffleOption::Before ? 1 : 0;
    if (!avoided && level == shuffled && shuffle != ShuffleOption::Overlapped) {
      phases.push_back({.kind = PhaseKind::Shuffle, .level = level, .buffer = Buffer::Output});
    }
  }
  return phases;
}

// ReduceScatter runs the phases of AllGather backwards.
std::vector<LevelPhase> scatter_phases(int last, ShuffleOption shuffle) {
  std::vector<LevelPhase> phases = gather_phases(last, shuffle);
  std::reverse(phases.begin(), phases.end());
  for (LevelPhase& phase : phases) {
    if (phase.kind == PhaseKind::Gather) phase.kind = PhaseKind::ReduceScatter;
    if (phase.buffer == Buffer::Output) phase.buffer = Buffer::Input;
    if (phase.copies == PhaseCopies::OwnFirst) phase.copies = PhaseCopies::OwnLast;
  }
  return phases;
}

// A binomial tree for each run, with its rank at the root. Calls visit(tree, run).
template <class Visit>
void for_each_tree(int ranks, const Visit& visit) {
  for (int run = 0; run < ranks; ++run) visit(parents_in(RootedTree::Binomial, ranks, run), run);
}

void shuffle(ProgramBuilder& p, const LevelLayout& layout, const LevelPhase& phase, bool gathers,
             int channel) {
  const OperationOptions options{.channel = channel, .device = true};
  const Buffer ordered = gathers ? Buffer::Output : Buffer::Input;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    for (const auto& [packed, slice] : shuffle_copies(layout, phase.level, rank, gathers)) {
      if (gathers) {
        (void)p.chunk(rank, Buffer::Scratch, packed).copy(rank, ordered, slice, options);
      } else {
        (void)p.chunk(rank, ordered, slice).copy(rank, Buffer::Scratch, packed, options);
      }
    }
  }
}

void gather_runs(ProgramBuilder& p, LevelAlgorithm algorithm, const RankGroup& group,
                 const Runs& runs, int scratch, std::span<const int> order, bool by_mpi) {
  switch (algorithm) {
    case LevelAlgorithm::Ring:
      return ring_all_gather(p, group, runs, 0, 1, order);
    case LevelAlgorithm::Recursive:
      return group_double_up(p, group, runs);
    case LevelAlgorithm::Bruck:
      return bruck_all_gather(p, group, runs, scratch, kOnChannel0,
                              by_mpi ? kDeviceCopy : kOnChannel0);
    case LevelAlgorithm::BroadcastReduce:
      return for_each_tree(group.count, [&](const Parents& tree, int run) {
        copy_down(p, tree, group, runs.buffer, runs.first(run), runs.count, 0);
      });
    case LevelAlgorithm::AllPairs:
      for (int run = 0; run < group.count; ++run) spread_run(p, group, runs, run, kOnChannel0);
  }
}

void reduce_scatter_runs(ProgramBuilder& p, LevelAlgorithm algorithm, const RankGroup& group,
                         const Runs& runs, int scratch, std::span<const int> order, bool by_mpi) {
  switch (algorithm) {
    case LevelAlgorithm::Ring:
      return ring_reduce_scatter(p, group, runs, 0, 1, order);
    case LevelAlgorithm::Recursive:
      return group_halve(p, group, runs);
    case LevelAlgorithm::Bruck:
      return bruck_reduce_scatter(p, group, runs, scratch, kOnChannel0,
                                  by_mpi ? kDeviceCopy : kOnChannel0);
    case LevelAlgorithm::BroadcastReduce:
      return for_each_tree(group.count, [&](const Parents& tree, int run) {
        reduce_up(p, tree, group, runs.buffer, runs.first(run), runs.count, 0);
      });
    case LevelAlgorithm::AllPairs:
      for (int run = 0; run < group.count; ++run) {
        if (by_mpi) {
          add_run(p, group, runs, run, kOnChannel0);
        } else {
          (void)collect_run(p, group, runs, run, scratch, kOnChannel0);
        }
      }
  }
}

// The messages of all channels that have this ring.
void exchange(ProgramBuilder& p, const LevelLayout& layout, const LevelPhase& phase,
              std::span<const int> order) {
  const int level = phase.level;
  for (const RankGroup& group : layout.groups(level)) {
    int scratch = layout.ranks();
    const auto runs = phase.packed ? std::vector{layout.packed_runs(group, level, phase.buffer)}
                                   : layout.final_runs(group, level, phase.buffer);
    for (const Runs& each : runs) {
      exchange_runs(p, layout, phase, group, each, scratch, order);
      scratch += group.count * each.count;
    }
  }
}

}  // namespace

std::vector<LevelPhase> level_phases(const LevelLayout& layout, ShuffleOption shuffle,
                                     CollectiveKind collective) {
  const int last = layout.last();
  if (collective == CollectiveKind::AllGather) return gather_phases(last, shuffle);
  if (collective == CollectiveKind::ReduceScatter) return scatter_phases(last, shuffle);
  // The order of the slices between the two halves of an AllReduce does not matter.
  std::vector<LevelPhase> phases;
  for (int level = 0; level <= last; ++level) {
    phases.push_back({.kind = PhaseKind::ReduceScatter, .level = level});
  }
  for (int level = last; level >= 0; --level) {
    phases.push_back({.kind = PhaseKind::Gather, .level = level});
  }
  return phases;
}

int gate_of(const LevelLayout& layout, const LevelPhase& phase, int rank) {
  const bool across = phase.kind != PhaseKind::Shuffle && layout.crosses_nodes(phase.level);
  return across ? layout.waits_for(rank) : -1;
}

void exchange_runs(ProgramBuilder& p, const LevelLayout& layout, const LevelPhase& phase,
                   const RankGroup& group, const Runs& runs, int scratch,
                   std::span<const int> order) {
  const auto run = phase.kind == PhaseKind::Gather ? gather_runs : reduce_scatter_runs;
  run(p, layout.at(phase.level).algorithm, group, runs, scratch, order, layout.by_mpi(phase.level));
}

int run_on_ring(std::span<const int> order, int place, int i, bool gathers) {
  const auto position = std::ranges::find(order, place) - order.begin();
  const std::ptrdiff_t ranks = std::ssize(order);
  return order[static_cast<std::size_t>((position + 2 * ranks - i - (gathers ? 0 : 1)) % ranks)];
}

std::vector<ShuffleCopy> shuffle_copies(const LevelLayout& layout, int level, int rank,
                                        bool gathers) {
  const auto& [factor, algorithm, stride, outer] = layout.at(level);
  const int own = layout.place(rank, level);
  std::vector<ShuffleCopy> copies;
  for (int i = 0; i < factor; ++i) {
    const int run = run_on_ring(layout.ring_orders(level).front(), own, i, gathers);
    const int first = layout.packed(rank % stride) + run * outer;
    for (int packed = first; packed < first + outer; ++packed) {
      const int slice = layout.slice_at(packed);
      // AllGather is in place: a rank's own slice is in the output from the start.
      if (!gathers || slice != rank) copies.push_back({packed, slice});
    }
  }
  return copies;
}

void trace_phases(ProgramBuilder& p, const LevelLayout& layout, std::span<const LevelPhase> phases,
                  int channels) {
  const bool gathers = p.contract().kind() == CollectiveKind::AllGather;
  for (const LevelPhase& phase : phases) {
    p.next_kernel();
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      const int before = gate_of(layout, phase, rank);
      if (before >= 0) p.gate(rank, before);
    }
    if (phase.kind == PhaseKind::Shuffle) {
      shuffle(p, layout, phase, gathers, 0);
      continue;
    }
    for (int rank = 0; rank < layout.ranks() && phase.copies == PhaseCopies::OwnFirst; ++rank) {
      (void)p.chunk(rank, Buffer::Output, rank)
          .copy(rank, Buffer::Scratch, layout.packed(rank), kDeviceCopy);
    }
    // On a channel of their own, the copies have a block of their own.
    const bool overlaps = phase.copies == PhaseCopies::Shuffle;
    if (overlaps && !gathers) shuffle(p, layout, phase, gathers, channels);
    for_each_ring(p, layout, phase.level, channels,
                  [&](std::span<const int> order) { exchange(p, layout, phase, order); });
    if (overlaps && gathers) shuffle(p, layout, phase, gathers, channels);
    for (int rank = 0; rank < layout.ranks() && phase.copies == PhaseCopies::OwnLast; ++rank) {
      (void)p.chunk(rank, Buffer::Scratch, layout.packed(rank))
          .copy(rank, Buffer::Input, rank, kDeviceCopy);
    }
  }
}

}  // namespace cclgym::algorithms
