#include "synthesis/timed_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym::synthesis {

std::string check_schedule(const TimedInstance& timed, const Demand& demand,
                           const TimedSchedule& schedule) {
  const Instance& instance = timed.instance;
  if (demand.ranks != instance.ranks) {
    return fmt::format("the demand has {} ranks, the instance {}", demand.ranks, instance.ranks);
  }
  constexpr int kNever = std::numeric_limits<int>::max();
  const std::size_t ranks = at(instance.ranks);
  std::vector<int> held_from(demand.chunks.size() * ranks, kNever);
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    held_from[chunk * ranks + at(demand.chunks[chunk].source)] = 0;
  }
  // Chunk, switch and tick of arrivals at switches.
  std::set<std::tuple<int, int, int>> passing;
  std::vector<int> free_from(instance.limits.size(), 0);
  int last_start = 0;
  for (const TimedSend& send : schedule.sends) {
    if (send.start < last_start || send.chunk < 0 || at(send.chunk) >= demand.chunks.size() ||
        send.hop < 0 || at(send.hop) >= instance.hops.size()) {
      return fmt::format("chunk {} over hop {} at tick {}: out of order or range", send.chunk,
                         send.hop, send.start);
    }
    last_start = send.start;
    const Hop& hop = instance.hops[at(send.hop)];
    if (timed.is_switch(hop.source)) {
      if (!passing.contains({send.chunk, hop.source, send.start})) {
        return fmt::format("tick {}: switch {} sends chunk {}, which does not arrive at this tick",
                           send.start, hop.source, send.chunk);
      }
    } else if (held_from[at(send.chunk) * ranks + at(hop.source)] > send.start) {
      return fmt::format("tick {}: rank {} sends chunk {}, which it does not hold", send.start,
                         hop.source, send.chunk);
    }
    for (const int limit : hop.limits) {
      if (free_from[at(limit)] > send.start) {
        return fmt::format("tick {}: two chunks at once over {}", send.start,
                           instance.limits[at(limit)].name);
      }
      free_from[at(limit)] = send.start + timed.occupancy[at(limit)];
    }
    if (timed.is_switch(hop.target)) {
      passing.emplace(send.chunk, hop.target, send.start + timed.duration[at(send.hop)]);
    }
    int& arrival = held_from[at(send.chunk) * ranks + at(hop.target)];
    arrival = std::min(arrival, send.start + timed.duration[at(send.hop)]);
  }
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    for (const int target : demand.chunks[chunk].targets) {
      if (held_from[chunk * ranks + at(target)] > schedule.ticks) {
        return fmt::format("rank {} does not hold chunk {} at tick {}", target, chunk,
                           schedule.ticks);
      }
    }
  }
  return {};
}

TimedInstance make_timed_instance(const Instance& instance, double chunk_bytes, double grid_s) {
  const auto on_grid = [&](double time_s, const std::string& what) {
    const double steps = std::round(time_s / grid_s);
    if (!(std::abs(time_s / grid_s - steps) <= 1e-6) || steps > 1e15) {
      throw UserError(
          fmt::format("{} takes {} s, which is no multiple of {} s", what, time_s, grid_s));
    }
    return static_cast<std::int64_t>(steps);
  };
  std::vector<std::int64_t> occupancy;
  std::vector<std::int64_t> latency;
  std::int64_t tick = 0;
  for (const Limit& limit : instance.limits) {
    occupancy.push_back(
        on_grid(chunk_bytes / (static_cast<double>(limit.units) * instance.unit_Bps),
                fmt::format("a chunk over {}", limit.name)));
    if (occupancy.back() < 1) {
      throw UserError(fmt::format("a chunk takes no time over {}", limit.name));
    }
    tick = std::gcd(tick, occupancy.back());
  }
  for (const Hop& hop : instance.hops) {
    latency.push_back(on_grid(
        hop.latency_s, fmt::format("the latency from rank {} to rank {}", hop.source, hop.target)));
    tick = std::gcd(tick, latency.back());
  }
  TimedInstance timed{.instance = instance, .tick_s = static_cast<double>(tick) * grid_s};
  for (const std::int64_t time : occupancy) {
    timed.occupancy.push_back(static_cast<int>(time / tick));
  }
  for (std::size_t k = 0; k < instance.hops.size(); ++k) {
    int busy = 0;
    for (const int limit : instance.hops[k].limits) {
      busy = std::max(busy, timed.occupancy[at(limit)]);
    }
    timed.duration.push_back(busy + static_cast<int>(latency[k] / tick));
  }
  return timed;
}

}  // namespace cclgym::synthesis
