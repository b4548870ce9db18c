#include "synthesis/teccl/exhaustive_ticks.hpp"

#include <algorithm>
#include <compare>
#include <set>
#include <vector>

#include "core/index.hpp"

namespace cclgym::test {

namespace {

using namespace synthesis;

struct Flight {
  int chunk = 0;
  int target = 0;
  int ticks_left = 0;
  auto operator<=>(const Flight&) const = default;
};

struct State {
  std::vector<unsigned> held{};   // by chunk: ranks as bits; switches: in this tick only
  std::vector<int> busy{};        // by limit: ticks until it is free
  std::vector<Flight> flights{};  // ascending
  auto operator<=>(const State&) const = default;
};

class Exhaustive {
 public:
  Exhaustive(const TimedInstance& timed, const Demand& demand, int max_ticks)
      : timed_(timed), demand_(demand), max_ticks_(max_ticks) {
    const std::size_t ranks = at(timed.instance.ranks);
    distance_.assign(ranks, std::vector<int>(ranks, max_ticks + 1));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      distance_[rank][rank] = 0;
      for (std::size_t round = 0; round < ranks; ++round) {
        for (std::size_t k = 0; k < timed.instance.hops.size(); ++k) {
          const Hop& hop = timed.instance.hops[k];
          int& distance = distance_[rank][at(hop.target)];
          distance = std::min(distance, distance_[rank][at(hop.source)] + timed.duration[k]);
        }
      }
    }
  }

  int ticks() {
    State start;
    for (const ChunkDemand& chunk : demand_.chunks) start.held.push_back(1U << at(chunk.source));
    start.busy.assign(timed_.instance.limits.size(), 0);
    std::set<State> layer{start};
    for (int tick = 0; tick <= max_ticks_; ++tick) {
      if (std::ranges::any_of(layer, [&](const State& state) { return is_met(state); })) {
        return tick;
      }
      next_.clear();
      ticks_left_ = max_ticks_ - tick - 1;
      for (const State& state : layer) send_from(state, 0, 0);
      layer = std::move(next_);
    }
    return -1;
  }

 private:
  const TimedInstance& timed_;
  const Demand& demand_;
  int max_ticks_;
  std::vector<std::vector<int>> distance_{};
  int ticks_left_ = 0;
  std::set<State> next_{};

  // False if a target is too far from all ranks that hold its chunk or soon will.
  bool can_finish(const State& state) const {
    for (std::size_t chunk = 0; chunk < demand_.chunks.size(); ++chunk) {
      for (const int target : demand_.chunks[chunk].targets) {
        int nearest = max_ticks_ + 1;
        for (int rank = 0; rank < timed_.instance.ranks; ++rank) {
          if ((state.held[chunk] >> at(rank) & 1U) == 0) continue;
          nearest = std::min(nearest, distance_[at(rank)][at(target)]);
        }
        for (const Flight& flight : state.flights) {
          if (flight.chunk != static_cast<int>(chunk)) continue;
          nearest = std::min(nearest, flight.ticks_left + distance_[at(flight.target)][at(target)]);
        }
        if (nearest > ticks_left_) return false;
      }
    }
    return true;
  }

  bool is_met(const State& state) const {
    for (std::size_t chunk = 0; chunk < demand_.chunks.size(); ++chunk) {
      for (const int target : demand_.chunks[chunk].targets) {
        if ((state.held[chunk] >> at(target) & 1U) == 0) return false;
      }
    }
    return true;
  }

  bool may_send(const State& state, std::size_t hop_id, std::size_t chunk) const {
    const Hop& hop = timed_.instance.hops[hop_id];
    if ((state.held[chunk] >> at(hop.source) & 1U) == 0) return false;
    for (const int limit : hop.limits) {
      if (state.busy[at(limit)] > 0) return false;
    }
    if (timed_.is_switch(hop.target)) return true;
    if ((state.held[chunk] >> at(hop.target) & 1U) != 0) return false;
    return std::ranges::none_of(state.flights, [&](const Flight& flight) {
      return flight.chunk == static_cast<int>(chunk) && flight.target == hop.target;
    });
  }

  // All sets of sends that start now over hops from `hop` on, and then the next tick. Of the sends
  // over one hop, only one can start, since its limit is then busy.
  void send_from(const State& state, std::size_t hop, std::size_t chunk) {
    if (hop == timed_.instance.hops.size()) {
      pass_tick(state);
      return;
    }
    if (chunk == demand_.chunks.size()) {
      send_from(state, hop + 1, 0);
      return;
    }
    send_from(state, hop, chunk + 1);
    if (!may_send(state, hop, chunk)) return;
    State sent = state;
    for (const int limit : timed_.instance.hops[hop].limits) {
      sent.busy[at(limit)] = timed_.occupancy[at(limit)];
    }
    sent.flights.push_back(
        {static_cast<int>(chunk), timed_.instance.hops[hop].target, timed_.duration[hop]});
    send_from(sent, hop + 1, 0);
  }

  void pass_tick(State state) {
    for (int& busy : state.busy) busy = std::max(0, busy - 1);
    for (unsigned& held : state.held) {
      for (int rank = 0; rank < timed_.instance.ranks; ++rank) {
        if (timed_.is_switch(rank)) held &= ~(1U << at(rank));
      }
    }
    for (Flight& flight : state.flights) {
      if (--flight.ticks_left == 0) state.held[at(flight.chunk)] |= 1U << at(flight.target);
    }
    std::erase_if(state.flights, [](const Flight& flight) { return flight.ticks_left == 0; });
    std::ranges::sort(state.flights);
    if (can_finish(state)) next_.insert(std::move(state));
  }
};

}  // namespace

int exhaustive_ticks(const TimedInstance& timed, const Demand& demand, int max_ticks) {
  return Exhaustive(timed, demand, max_ticks).ticks();
}

}  // namespace cclgym::test
