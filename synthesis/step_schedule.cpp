#include "synthesis/step_schedule.hpp"

#include <fmt/format.h>
#include <numeric>

#include "core/index.hpp"

namespace cclgym::synthesis {

int StepSchedule::total_rounds() const { return std::accumulate(rounds.begin(), rounds.end(), 0); }

std::string check_schedule(const Instance& instance, const Demand& demand,
                           const StepSchedule& schedule) {
  if (demand.ranks != instance.ranks) {
    return fmt::format("the demand has {} ranks, the instance {}", demand.ranks, instance.ranks);
  }
  const std::size_t ranks = at(instance.ranks);
  const std::size_t chunks = demand.chunks.size();
  for (int step = 0; step < schedule.steps(); ++step) {
    if (schedule.rounds[at(step)] < 1) return fmt::format("step {} has no round", step);
  }
  std::vector<char> held(chunks * ranks, 0);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    held[chunk * ranks + at(demand.chunks[chunk].source)] = 1;
  }
  for (const StepSend& send : schedule.sends) {
    if (send.step < 0 || send.step >= schedule.steps() || send.chunk < 0 ||
        at(send.chunk) >= chunks || send.hop < 0 || at(send.hop) >= instance.hops.size()) {
      return fmt::format("chunk {} over hop {} in step {}: out of range", send.chunk, send.hop,
                         send.step);
    }
  }
  for (int step = 0; step < schedule.steps(); ++step) {
    std::vector<std::int64_t> load(instance.limits.size(), 0);
    std::vector<std::size_t> arrived;
    for (const StepSend& send : schedule.sends) {
      if (send.step != step) continue;
      const Hop& hop = instance.hops[at(send.hop)];
      if (!held[at(send.chunk) * ranks + at(hop.source)]) {
        return fmt::format("step {}: rank {} sends chunk {}, which it does not hold", step,
                           hop.source, send.chunk);
      }
      arrived.push_back(at(send.chunk) * ranks + at(hop.target));
      for (const int limit : hop.limits) {
        const Limit& bound = instance.limits[at(limit)];
        if (++load[at(limit)] > bound.units * schedule.rounds[at(step)]) {
          return fmt::format("step {}: more than {} chunks over {}", step,
                             bound.units * schedule.rounds[at(step)], bound.name);
        }
      }
    }
    for (const std::size_t place : arrived) held[place] = 1;
  }
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    for (const int target : demand.chunks[chunk].targets) {
      if (!held[chunk * ranks + at(target)]) {
        return fmt::format("rank {} does not hold chunk {} at the end", target, chunk);
      }
    }
  }
  return {};
}

}  // namespace cclgym::synthesis
