// Outlines of collectives over levels (level_phases.cpp).
//
// The groups of a level do the same on different ranks, and a kernel does not depend on others. So
// each kernel is compiled for one group only, on ranks 0 to f - 1, and its blocks are written for
// the ranks of every group. The group's program has the buffers that the kernel sees: kernels
// before and after it put its data there and read it, so that the compiler keeps the same sums.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collectives/algorithms/levels/level_phases.hpp"
#include "core/index.hpp"

namespace cclgym::algorithms {

namespace {

constexpr OperationOptions kDeviceCopyOfGroup{.channel = 0, .device = true};

// One kernel of a group.
struct GroupKernel {
  ProgramOutline outline;
  std::int32_t kernel = 0;
  std::int32_t parts = 1;  // chunks of the whole program in one of the group's
};

// The runs of a group of `factor` ranks whose buffer has only them.
std::vector<Runs> runs_of_group(const LevelPhase& phase, const Level& level, Buffer buffer) {
  if (phase.packed) return {{buffer, 0, level.outer, level.outer}};
  std::vector<Runs> runs;
  for (int i = 0; i < level.outer; ++i) runs.push_back({buffer, i, level.outer, 1, false});
  return runs;
}

template <class Visit>
void for_each_run(const LevelPhase& phase, const Level& level, Buffer buffer, const Visit& visit) {
  int scratch = level.factor * level.outer;
  for (const Runs& runs : runs_of_group(phase, level, buffer)) {
    visit(runs, scratch);
    scratch += level.factor * runs.count;
  }
}

// The messages of a phase on all channels.
void exchange_in_group(ProgramBuilder& p, const LevelPhase& phase, const LevelLayout& layout,
                       Buffer buffer, int channels) {
  const Level& level = layout.at(phase.level);
  const RankGroup group{0, level.factor, 1};
  for_each_ring(p, layout, phase.level, channels, [&](std::span<const int> order) {
    for_each_run(phase, level, buffer, [&](const Runs& runs, int scratch) {
      exchange_runs(p, layout, phase, group, runs, scratch, order);
    });
  });
}

Program gather_kernel(const LevelPhase& phase, const LevelLayout& layout, int channels) {
  const Level& level = layout.at(phase.level);
  const std::vector<int>& first_order = layout.ring_orders(phase.level).front();
  const int factor = level.factor;
  const int outer = level.outer;
  const bool overlaps = phase.copies == PhaseCopies::Shuffle;
  const Buffer buffer = overlaps ? Buffer::Scratch : Buffer::Output;
  ProgramBuilder p("group", Contract::make(CollectiveKind::AllGather, factor, outer));
  for (int rank = 0; rank < factor; ++rank) {
    (void)p.chunk(rank, Buffer::Input, 0, outer)
        .copy(rank, buffer, rank * outer, kDeviceCopyOfGroup);
  }
  if (phase.copies != PhaseCopies::OwnFirst) p.next_kernel();
  exchange_in_group(p, phase, layout, buffer, channels);
  for (int rank = 0; rank < factor && overlaps; ++rank) {
    for (int i = 0; i < factor; ++i) {
      // One slice of the rank's own run, here the first, is in the output already.
      for (int k = i == 0 ? 1 : 0; k < outer; ++k) {
        const int index = run_on_ring(first_order, rank, i, true) * outer + k;
        (void)p.chunk(rank, buffer, index)
            .copy(rank, Buffer::Output, index, {.channel = channels, .device = true});
      }
    }
  }
  return p.finish();
}

Program scatter_kernel(const LevelPhase& phase, const LevelLayout& layout, int channels) {
  const Level& level = layout.at(phase.level);
  const std::vector<int>& first_order = layout.ring_orders(phase.level).front();
  const int factor = level.factor;
  const int outer = level.outer;
  const bool overlaps = phase.copies == PhaseCopies::Shuffle;
  const Buffer buffer = overlaps ? Buffer::Scratch : Buffer::Input;
  ProgramBuilder p("group", Contract::make(CollectiveKind::ReduceScatter, factor, outer));
  for (int rank = 0; rank < factor && overlaps; ++rank) {
    for (int i = 0; i < factor * outer; ++i) {
      const int index = run_on_ring(first_order, rank, i / outer, false) * outer + i % outer;
      (void)p.chunk(rank, Buffer::Input, index)
          .copy(rank, buffer, index, {.channel = channels, .device = true});
    }
  }
  exchange_in_group(p, phase, layout, buffer, channels);
  if (phase.copies != PhaseCopies::OwnLast) p.next_kernel();
  for (int rank = 0; rank < factor; ++rank) {
    (void)p.chunk(rank, buffer, rank * outer, outer)
        .copy(rank, Buffer::Output, 0, kDeviceCopyOfGroup);
  }
  return p.finish();
}

GroupKernel group_kernel(const LevelPhase& phase, const LevelLayout& layout,
                         const AlgorithmRequest& request) {
  const bool gathers = phase.kind == PhaseKind::Gather;
  const int channels = layout.channels(phase.level, request.channels);
  const Program program =
      gathers ? gather_kernel(phase, layout, channels) : scatter_kernel(phase, layout, channels);
  const bool prepared = gathers && phase.copies != PhaseCopies::OwnFirst;
  return {outline_of(compile(program, request.compile)), prepared ? 1 : 0,
          layout.channels(request.channels) / channels};
}

class LevelsOutline {
 public:
  LevelsOutline(const LevelLayout& layout, const std::vector<LevelPhase>& phases,
                const AlgorithmRequest& request, const std::string& name)
      : layout_(layout),
        phases_(phases),
        channels_(layout.channels(request.channels)),
        outline_(name,
                 Contract::make(request.collective, request.ranks,
                                request.collective == CollectiveKind::AllReduce ? request.ranks : 1,
                                true)
                     .refined(layout.channels(request.channels)),
                 CostTraits{}),
        gathers_(request.collective == CollectiveKind::AllGather) {
    for (const LevelPhase& phase : phases) {
      if (phase.kind == PhaseKind::Shuffle) {
        kernels_.emplace_back();
      } else {
        kernels_.push_back(group_kernel(phase, layout, request));
      }
    }
  }

  ProgramOutline write() {
    for (int rank = 0; rank < layout_.ranks(); ++rank) {
      outline_.begin_rank();
      for (std::size_t kernel = 0; kernel < phases_.size(); ++kernel) add_kernel(rank, kernel);
    }
    for (std::size_t kernel = 0; kernel < phases_.size(); ++kernel) {
      for (int rank = 0; rank < layout_.ranks(); ++rank) {
        const int before = gate_of(layout_, phases_[kernel], rank);
        if (before >= 0) outline_.gates.push_back({rank, static_cast<int>(kernel), before});
      }
    }
    outline_.finish();
    return std::move(outline_);
  }

 private:
  void add_kernel(int rank, std::size_t kernel) {
    const LevelPhase& phase = phases_[kernel];
    if (!kernels_[kernel]) return add_shuffle(phase.level, static_cast<std::int32_t>(kernel));
    const auto& [factor, algorithm, stride, outer] = layout_.at(phase.level);
    const int place = layout_.place(rank, phase.level);
    const RankGroup group{rank - place * stride, factor, stride};
    const auto rank_of = [&](std::int32_t peer) { return peer < 0 ? peer : group[peer]; };
    const ProgramOutline& own = kernels_[kernel]->outline;
    const std::int32_t parts = kernels_[kernel]->parts;
    const std::uint32_t begin = own.first_block(place);
    std::uint32_t first = begin;  // first block of the kernel
    while (own.blocks[first].kernel != kernels_[kernel]->kernel) ++first;
    const auto before =
        static_cast<std::int32_t>(outline_.blocks.size() - outline_.first_block(rank)) -
        static_cast<std::int32_t>(first - begin);
    for (std::uint32_t b = first; b < own.first_block(place + 1); ++b) {
      const OutlineBlock& block = own.blocks[b];
      if (block.kernel != kernels_[kernel]->kernel) break;
      outline_.begin_block({.send_peer = rank_of(block.send_peer),
                            .recv_peer = rank_of(block.recv_peer),
                            .channel = block.channel,
                            .kernel = static_cast<std::int32_t>(kernel)});
      for (const OutlineLoop& loop : own.loops_of(b)) {
        outline_.begin_loop(loop.times);
        for (std::uint32_t s = loop.first; s < loop.first + at(loop.body); ++s) {
          waits_.clear();
          for (const OutlineWait& wait : own.waits_of(s)) {
            waits_.push_back({wait.thread_block + before, wait.step, wait.stride});
          }
          outline_.add_step(own.steps[s].opcode, own.steps[s].count * parts, waits_);
        }
      }
    }
  }

  void add_shuffle(int level, std::int32_t kernel) {
    const auto& [factor, algorithm, stride, outer] = layout_.at(level);
    outline_.begin_block({.kernel = kernel});
    outline_.begin_loop(factor * outer - (gathers_ ? 1 : 0));  // shuffle_copies
    outline_.add_step(Opcode::DeviceCopy, channels_);
  }

  const LevelLayout& layout_;
  const std::vector<LevelPhase>& phases_;
  std::int32_t channels_;
  ProgramOutline outline_;
  bool gathers_;
  std::vector<std::optional<GroupKernel>> kernels_;  // by phase; none: a shuffle
  std::vector<OutlineWait> waits_;
};

}  // namespace

std::optional<ProgramOutline> levels_outline(const LevelPlan& plan, const AlgorithmRequest& request,
                                             const std::string& name) {
  // The channels of instances depend on those of the whole program.
  if (request.compile.instances > 1) return std::nullopt;
  const LevelLayout layout(plan, request);
  const auto phases = level_phases(layout, plan.shuffle, request.collective);
  return LevelsOutline(layout, phases, request, name).write();
}

}  // namespace cclgym::algorithms
