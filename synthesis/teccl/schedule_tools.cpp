#include "synthesis/teccl/schedule_tools.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <stdexcept>
#include <tuple>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/teccl/tick_bounds.hpp"

namespace cclgym::synthesis {

namespace {

// First arrival of every chunk at every rank, by (chunk, rank); 0 at the source.
std::vector<int> first_arrivals(const TimedInstance& timed, const Demand& demand,
                                const std::vector<TimedSend>& sends) {
  const std::size_t ranks = at(timed.instance.ranks);
  std::vector<int> arrival(demand.chunks.size() * ranks, kNeverTick);
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    arrival[chunk * ranks + at(demand.chunks[chunk].source)] = 0;
  }
  for (const TimedSend& send : sends) {
    int& here = arrival[at(send.chunk) * ranks + at(timed.instance.hops[at(send.hop)].target)];
    here = std::min(here, send.start + timed.duration[at(send.hop)]);
  }
  return arrival;
}

}  // namespace

TimedSchedule without_idle_sends(const TimedInstance& timed, const Demand& demand,
                                 const TimedSchedule& schedule) {
  const std::size_t ranks = at(timed.instance.ranks);
  std::vector<int> arrival = first_arrivals(timed, demand, schedule.sends);
  std::vector<char> needed(arrival.size(), 0);
  std::set<std::tuple<int, int, int>> needed_in_passing;  // chunk, switch, tick
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    for (const int target : demand.chunks[chunk].targets) needed[chunk * ranks + at(target)] = 1;
  }
  TimedSchedule result{.ticks = schedule.ticks};
  for (auto send = schedule.sends.rbegin(); send != schedule.sends.rend(); ++send) {
    const Hop& hop = timed.instance.hops[at(send->hop)];
    const int end = send->start + timed.duration[at(send->hop)];
    const std::size_t key = at(send->chunk) * ranks + at(hop.target);
    if (timed.is_switch(hop.target)) {
      if (needed_in_passing.erase({send->chunk, hop.target, end}) == 0) continue;
    } else {
      if (needed[key] == 0 || arrival[key] != end) continue;
      needed[key] = 0;  // a second send that arrives at the same tick is idle
    }
    if (timed.is_switch(hop.source)) {
      needed_in_passing.emplace(send->chunk, hop.source, send->start);
    } else {
      needed[at(send->chunk) * ranks + at(hop.source)] = 1;
    }
    result.sends.push_back(*send);
  }
  std::ranges::sort(result.sends);
  return result;
}

TimedSchedule earliest_schedule(const TimedInstance& timed, const Demand& demand,
                                const std::vector<TimedSend>& order) {
  if (std::ranges::any_of(timed.switches, [](char is) { return is != 0; })) {
    throw UserError("sends through switches that hold nothing cannot be moved one by one");
  }
  const std::size_t ranks = at(timed.instance.ranks);
  std::vector<int> held_from = first_arrivals(timed, demand, {});
  std::vector<int> free_from(timed.instance.limits.size(), 0);
  TimedSchedule result;
  for (const TimedSend& wanted : order) {
    const Hop& hop = timed.instance.hops[at(wanted.hop)];
    const int ready = held_from[at(wanted.chunk) * ranks + at(hop.source)];
    if (ready == kNeverTick) {
      throw std::logic_error(
          fmt::format("rank {} sends chunk {}, which it never gets", hop.source, wanted.chunk));
    }
    int start = ready;
    for (const int limit : hop.limits) start = std::max(start, free_from[at(limit)]);
    int& arrival = held_from[at(wanted.chunk) * ranks + at(hop.target)];
    if (arrival <= start + timed.duration[at(wanted.hop)]) continue;
    arrival = start + timed.duration[at(wanted.hop)];
    for (const int limit : hop.limits) free_from[at(limit)] = start + timed.occupancy[at(limit)];
    result.sends.push_back({start, wanted.chunk, wanted.hop});
  }
  std::ranges::sort(result.sends);
  result.ticks = finish_tick(timed, demand, result);
  if (result.ticks == kNeverTick) throw std::logic_error("the sends leave a delivery out");
  return without_idle_sends(timed, demand, result);
}

std::vector<int> finish_ticks(const TimedInstance& timed, const Demand& demand,
                              const TimedSchedule& schedule) {
  const std::size_t ranks = at(timed.instance.ranks);
  const std::vector<int> arrival = first_arrivals(timed, demand, schedule.sends);
  std::vector<int> finish(demand.chunks.size(), 0);
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    for (const int target : demand.chunks[chunk].targets) {
      finish[chunk] = std::max(finish[chunk], arrival[chunk * ranks + at(target)]);
    }
  }
  return finish;
}

int finish_tick(const TimedInstance& timed, const Demand& demand, const TimedSchedule& schedule) {
  const std::vector<int> finish = finish_ticks(timed, demand, schedule);
  return finish.empty() ? 0 : *std::ranges::max_element(finish);
}

}  // namespace cclgym::synthesis
