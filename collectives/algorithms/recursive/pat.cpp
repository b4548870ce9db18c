// PAT, NCCL's Parallel Aggregated Trees (Jeaugey, arXiv 2506.20252; NCCL 2.23,
// src/include/collectives.h): AllGather and ReduceScatter in ceil(log2 n) steps on any number of
// ranks. docs/collectives.md, "PAT", describes the steps and the differences from NCCL.
//
// It runs in place; channel k has chunk k of each rank's slice. Messages are contiguous in scratch,
// which stands for NCCL's FIFOs, not in the user's buffer; n local copies per rank and channel
// gather and scatter them.
#include <algorithm>
#include <bit>
#include <vector>

#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

/// One message of a step. In AllGather it goes from the places [first, first + count) of the sender
/// to the places from `target` on of the rank `distance` further on; ReduceScatter reverses the
/// direction.
struct PatStep {
  int distance;
  int first;
  int target;
  int count;
};

struct Pat {
  std::vector<int> offsets;    ///< by place: o if the place has the slice of rank r - o
  std::vector<PatStep> steps;  ///< in the order of AllGather
};

/// Chooses places such that each step's message is contiguous: of the offsets that a rank has, only
/// the largest may have nothing to send, and it stays in the last place. `first` counts from the
/// final first place; places are added in front if that keeps the largest offset last.
Pat plan_of(int ranks) {
  int distance = 1;
  while (2 * distance < ranks) distance *= 2;
  Pat result;
  std::vector<int>& held = result.offsets;
  held = {0};
  std::vector<int> in_front;  // places added in front, by step
  for (; distance > 0; distance /= 2) {
    const auto count = static_cast<int>(held.size());
    const bool all = held.back() + distance < ranks;
    std::vector<int> fresh(held.begin(), all ? held.end() : held.end() - 1);
    const auto sent = static_cast<int>(fresh.size());
    for (int& offset : fresh) offset += distance;
    held.insert(all ? held.end() : held.begin(), fresh.begin(), fresh.end());
    in_front.push_back(all ? 0 : sent);
    result.steps.push_back({distance, all ? 0 : sent, all ? count : 0, sent});
  }
  int shift = 0;  // number of places that later steps add in front
  for (std::size_t i = result.steps.size(); i-- > 0;) {
    result.steps[i].first += shift;
    result.steps[i].target += shift;
    shift += in_front[i];
  }
  return result;
}

/// Location of the slice at a given place of `rank`'s scratch.
class PatPlaces {
 public:
  PatPlaces(const AlgorithmRequest& request, const Pat& plan)
      : ranks_(request.ranks), channels_(request.channels), offsets_(plan.offsets) {}
  [[nodiscard]] int scratch(int channel, int place) const { return channel * ranks_ + place; }
  [[nodiscard]] int user(int rank, int channel, int place) const {
    const int owner = (rank - offsets_[static_cast<std::size_t>(place)] + ranks_) % ranks_;
    return owner * channels_ + channel;
  }
  [[nodiscard]] int own() const {
    return static_cast<int>(std::find(offsets_.begin(), offsets_.end(), 0) - offsets_.begin());
  }

 private:
  int ranks_;
  int channels_;
  const std::vector<int>& offsets_;
};

template <typename Visit>
void for_each_lane(const AlgorithmRequest& request, Visit visit) {
  for (int rank = 0; rank < request.ranks; ++rank) {
    for (int channel = 0; channel < request.channels; ++channel) visit(rank, channel);
  }
}

void all_gather(ProgramBuilder& p, const AlgorithmRequest& request, const Pat& plan) {
  const PatPlaces at(request, plan);
  for_each_lane(request, [&](int rank, int channel) {
    (void)p.chunk(rank, Buffer::Output, at.user(rank, channel, at.own()))
        .copy(rank, Buffer::Scratch, at.scratch(channel, at.own()), {.channel = channel});
  });
  for (const PatStep& step : plan.steps) {
    for_each_lane(request, [&](int rank, int channel) {
      const int next = (rank + step.distance) % request.ranks;
      (void)p.chunk(rank, Buffer::Scratch, at.scratch(channel, step.first), step.count)
          .copy(next, Buffer::Scratch, at.scratch(channel, step.target), {.channel = channel});
      for (int place = step.target; place < step.target + step.count; ++place) {
        (void)p.chunk(next, Buffer::Scratch, at.scratch(channel, place))
            .copy(next, Buffer::Output, at.user(next, channel, place), {.channel = channel});
      }
    });
  }
}

void reduce_scatter(ProgramBuilder& p, const AlgorithmRequest& request, const Pat& plan) {
  const PatPlaces at(request, plan);
  for_each_lane(request, [&](int rank, int channel) {
    for (int place = 0; place < request.ranks; ++place) {
      (void)p.chunk(rank, Buffer::Input, at.user(rank, channel, place))
          .copy(rank, Buffer::Scratch, at.scratch(channel, place), {.channel = channel});
    }
  });
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) {
    for_each_lane(request, [&](int rank, int channel) {
      const int next = (rank + step->distance) % request.ranks;
      const ChunkRef theirs =
          p.chunk(next, Buffer::Scratch, at.scratch(channel, step->target), step->count);
      (void)p.chunk(rank, Buffer::Scratch, at.scratch(channel, step->first), step->count)
          .reduce(theirs, {.channel = channel});
    });
  }
  for_each_lane(request, [&](int rank, int channel) {
    (void)p.chunk(rank, Buffer::Scratch, at.scratch(channel, at.own()))
        .copy(rank, Buffer::Output, channel, {.channel = channel});
  });
}

Program pat(const AlgorithmRequest& request) {
  ProgramBuilder p("pat",
                   Contract::make(request.collective, request.ranks, request.channels, true));
  const Pat plan = plan_of(request.ranks);
  if (request.collective == CollectiveKind::AllGather) {
    all_gather(p, request, plan);
  } else {
    reduce_scatter(p, request, plan);
  }
  return p.finish();
}

}  // namespace

// Blocks to and from a rank in each step, which also make the copies inside the GPU.
std::int64_t pat_blocks(const AlgorithmRequest& request) {
  const auto steps = static_cast<int>(std::bit_width(static_cast<unsigned>(request.ranks - 1)));
  return std::int64_t{request.channels} * 2 * steps;
}

AlgorithmEntry pat_entry() {
  return {.name = "pat",
          .description =
              "NCCL's Parallel Aggregated Trees; log2(ranks) steps, large messages to near ranks",
          .collectives = {CollectiveKind::AllGather, CollectiveKind::ReduceScatter},
          .traits = {.runtime = Runtime::Nccl},
          .in_nccl = true,
          .memory = {{CollectiveKind::AllGather, 140}, {CollectiveKind::ReduceScatter, 140}},
          .trace = pat,
          .thread_blocks = pat_blocks};
}

}  // namespace cclgym::algorithms
