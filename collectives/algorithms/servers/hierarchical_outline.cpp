// Outline of the compiled hierarchical AllReduce (hierarchical.cpp).
//
// Each rank has blocks for the ReduceScatter in its node, one or two per used channel, the same for
// the AllGather, and last, on the highest channel, the block of the ring across nodes. Only the
// number of that block's steps grows with the number of nodes.
#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/algorithms/outlines.hpp"
#include "collectives/algorithms/ring_steps.hpp"
#include "collectives/compiler/wait_reducer.hpp"
#include "core/index.hpp"

namespace cclgym::algorithms {

namespace {

// A step on a run of chunks within a node.
struct RunStep {
  Opcode opcode;
  int run;
  std::vector<OutlineWait> waits;
};

struct ServerBlock {
  int channel = 0;
  int send_peer = -1;
  int recv_peer = -1;
  std::vector<RunStep> steps;
};

// True if a GPU passes on a run on this channel; its block then serves both directions.
bool passes_on(const std::vector<RunStep>& steps) {
  return std::ranges::any_of(steps, [&steps](const RunStep& step) {
    const bool sent = std::ranges::any_of(steps, [&step](const RunStep& other) {
      return other.run == step.run && sends(other.opcode);
    });
    return receives(step.opcode) && sent;
  });
}

class RankOutline {
 public:
  RankOutline(const AlgorithmRequest& request, int rank)
      : request_(request),
        gpus_(request.ranks_per_server),
        servers_(request.ranks / gpus_),
        gpu_(rank % gpus_),
        base_(rank - gpu_),
        waits_(at(8 * request.channels + 1)) {
    // Run r starts at GPU r + 1 (ReduceScatter) or r (AllGather) and moves up. A GPU therefore
    // handles the runs gpu - 1, gpu - 2, ..., gpu and gpu, gpu - 1, ..., gpu + 1, in this order.
    add_phase(gpu_ - 1, kReduceOnRing, 0);
    add_phase(gpu_, kCopyOnRing, request.channels);
    find_waits();
  }

  void write(ProgramOutline& outline) const {
    for (const ServerBlock& block : blocks_) {
      outline.begin_block(
          {.send_peer = block.send_peer, .recv_peer = block.recv_peer, .channel = block.channel});
      outline.begin_loop(1);
      for (const RunStep& step : block.steps) {
        outline.add_step(step.opcode, servers_, step.waits);
      }
    }
    const int ranks = request_.ranks;
    const int rank = base_ + gpu_;
    outline.begin_block({.send_peer = (rank + gpus_) % ranks,
                         .recv_peer = (rank + ranks - gpus_) % ranks,
                         .channel = 2 * request_.channels});
    RingSteps(outline, request_.compile, servers_).all_reduce(across_waits_);
  }

 private:
  void add_phase(int first_run, const RingOpcodes& opcodes, int first_channel) {
    const bool fused = fuses(request_.compile);
    std::vector<std::vector<RunStep>> by_channel(at(request_.channels));
    const auto add = [&](Opcode opcode, int place) {
      const int run = (first_run - place + 2 * gpus_) % gpus_;
      by_channel[at(run % request_.channels)].push_back({opcode, run, {}});
    };
    add(Opcode::Send, 0);
    for (int place = 1; place < gpus_; ++place) {
      const bool last = place == gpus_ - 1;
      add(fused && !last ? opcodes.pass_on : opcodes.keep, place);
      if (!fused && !last) add(Opcode::Send, place);
    }
    for (int channel = 0; channel < request_.channels; ++channel) {
      add_blocks(by_channel[at(channel)], first_channel + channel);
    }
  }

  // Adds one block for both directions, or one block for each direction in the order of first use.
  void add_blocks(const std::vector<RunStep>& steps, int channel) {
    if (steps.empty()) return;
    const bool joined = passes_on(steps);
    const bool sends_first = sends(steps.front().opcode);
    for (const bool sending : {sends_first, !sends_first}) {
      ServerBlock block;
      block.channel = channel;
      for (const RunStep& step : steps) {
        if (!joined && sends(step.opcode) != sending) continue;
        if (sends(step.opcode)) block.send_peer = base_ + (gpu_ + 1) % gpus_;
        if (receives(step.opcode)) block.recv_peer = base_ + (gpu_ + gpus_ - 1) % gpus_;
        block.steps.push_back(step);
      }
      if (!block.steps.empty()) blocks_.push_back(std::move(block));
      if (joined) return;
    }
  }

  // A receive of the AllGather waits for the ReduceScatter's send of the same run. The ring across
  // nodes waits for the sum of the GPU's own run, and the GPU's send of its own run waits for the
  // end of that ring. Only waits that do not follow from others are kept.
  void find_waits() {
    std::vector<WaitReducer::Wait> sent(at(gpus_));  // by run
    WaitReducer::Wait own{};
    const int across = static_cast<int>(blocks_.size());
    const int last_across = all_reduce_steps(request_.compile, servers_) - 1;
    bool gathering = false;
    for (int b = 0; b < across; ++b) {
      ServerBlock& block = blocks_[at(b)];
      if (!gathering && block.channel >= request_.channels) {
        gathering = true;
        across_waits_ = reduced(across, 0, {own});
        (void)reduced(across, last_across, {});
      }
      for (int s = 0; s < static_cast<int>(block.steps.size()); ++s) {
        RunStep& step = block.steps[at(s)];
        std::vector<WaitReducer::Wait> waits;
        if (gathering && receives(step.opcode)) waits.push_back(sent[at(step.run)]);
        if (gathering && step.run == gpu_) waits.push_back({across, last_across});
        std::erase_if(waits, [b](const WaitReducer::Wait& wait) { return wait.block == b; });
        step.waits = reduced(b, s, std::move(waits));
        if (!gathering && sends(step.opcode)) sent[at(step.run)] = {b, s};
        if (!gathering && step.run == gpu_) own = {b, s};
      }
    }
  }

  std::vector<OutlineWait> reduced(int block, int step, std::vector<WaitReducer::Wait> waits) {
    waits_.add_step(block, step, true, waits);
    std::vector<OutlineWait> result;
    for (const WaitReducer::Wait& wait : waits) result.push_back({wait.block, wait.step, 0});
    return result;
  }

  const AlgorithmRequest& request_;
  int gpus_;
  int servers_;
  int gpu_;
  int base_;  // first rank of the node
  WaitReducer waits_;
  std::vector<ServerBlock> blocks_;
  std::vector<OutlineWait> across_waits_;
};

}  // namespace

std::optional<ProgramOutline> hierarchical_outline(const AlgorithmRequest& request) {
  const int gpus = request.ranks_per_server;
  if (gpus < 3 || request.ranks / gpus < 3 || !joins(request.compile)) return std::nullopt;
  // Instances cut runs and single chunks differently, so each wait would cover all instances.
  if (request.compile.instances > 1) return std::nullopt;
  ProgramOutline outline(
      "hierarchical", Contract::make(CollectiveKind::AllReduce, request.ranks, request.ranks, true),
      CostTraits{});
  for (int rank = 0; rank < request.ranks; ++rank) {
    outline.begin_rank();
    RankOutline(request, rank).write(outline);
  }
  outline.finish();
  return outline;
}

}  // namespace cclgym::algorithms
