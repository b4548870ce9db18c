#include "synthesis/sccl/inversion.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/index.hpp"

namespace cclgym::synthesis {

StepSchedule reversed(const StepSchedule& schedule) {
  StepSchedule result{.rounds = {schedule.rounds.rbegin(), schedule.rounds.rend()},
                      .sends = schedule.sends};
  for (StepSend& send : result.sends) send.step = schedule.steps() - 1 - send.step;
  std::sort(result.sends.begin(), result.sends.end());
  return result;
}

std::string check_reduction(const Instance& instance, const Demand& demand,
                            const StepSchedule& schedule) {
  if (demand.ranks != instance.ranks) {
    return fmt::format("the demand has {} ranks, the instance {}", demand.ranks, instance.ranks);
  }
  const std::size_t ranks = at(instance.ranks);
  // Contributions that each rank's sum of a chunk consists of, and whether it gave the sum away.
  std::vector<std::vector<char>> parts(demand.chunks.size() * ranks, std::vector<char>(ranks, 0));
  std::vector<char> gone(demand.chunks.size() * ranks, 0);
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    const int root = demand.chunks[chunk].source;
    parts[chunk * ranks + at(root)][at(root)] = 1;
    for (const int rank : demand.chunks[chunk].targets) {
      parts[chunk * ranks + at(rank)][at(rank)] = 1;
    }
  }
  for (int step = 0; step < schedule.steps(); ++step) {
    if (schedule.rounds[at(step)] < 1) return fmt::format("step {} has no round", step);
    std::vector<std::int64_t> load(instance.limits.size(), 0);
    const std::vector<std::vector<char>> before = parts;
    for (const StepSend& send : schedule.sends) {
      if (send.chunk < 0 || at(send.chunk) >= demand.chunks.size() || send.hop < 0 ||
          at(send.hop) >= instance.hops.size() || send.step < 0 || send.step >= schedule.steps()) {
        return fmt::format("chunk {} over hop {} in step {}: out of range", send.chunk, send.hop,
                           send.step);
      }
      if (send.step != step) continue;
      const Hop& hop = instance.hops[at(send.hop)];
      const std::size_t from = at(send.chunk) * ranks + at(hop.source);
      const std::size_t to = at(send.chunk) * ranks + at(hop.target);
      if (gone[from]) {
        return fmt::format("step {}: rank {} sends chunk {} twice", step, hop.source, send.chunk);
      }
      gone[from] = 1;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        if (!before[from][rank]) continue;
        if (parts[to][rank]) {
          return fmt::format("step {}: rank {} adds the part of rank {} to chunk {} twice", step,
                             hop.target, rank, send.chunk);
        }
        parts[to][rank] = 1;
      }
      for (const int limit : hop.limits) {
        const Limit& bound = instance.limits[at(limit)];
        if (++load[at(limit)] > bound.units * schedule.rounds[at(step)]) {
          return fmt::format("step {}: more than {} chunks over {}", step,
                             bound.units * schedule.rounds[at(step)], bound.name);
        }
      }
    }
  }
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    const int root = demand.chunks[chunk].source;
    for (const int rank : demand.chunks[chunk].targets) {
      if (!parts[chunk * ranks + at(root)][at(rank)]) {
        return fmt::format("rank {} lacks the part of rank {} of chunk {} at the end", root, rank,
                           chunk);
      }
    }
  }
  return {};
}

}  // namespace cclgym::synthesis
