#include "synthesis/teccl/timed_encoding.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/teccl/chunk_classes.hpp"
#include "synthesis/teccl/schedule_tools.hpp"
#include "synthesis/teccl/tick_bounds.hpp"

namespace cclgym::synthesis {

namespace {

// Smallest member of each set of things that a union joins.
class Orbits {
 public:
  explicit Orbits(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t first_of(std::size_t item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  void join(std::size_t one, std::size_t other) {
    one = first_of(one);
    other = first_of(other);
    parent_[std::max(one, other)] = std::min(one, other);
  }

 private:
  std::vector<std::size_t> parent_;
};

// Literals of consecutive ticks.
struct TickRange {
  int first = 0;
  std::vector<Literal> literals{};

  [[nodiscard]] int end() const { return first + static_cast<int>(literals.size()); }
  // Literal of a tick; 0 outside the range.
  [[nodiscard]] Literal of(int tick) const {
    return tick < first || tick >= end() ? 0 : literals[at(tick - first)];
  }
};

void add_at_most_one(SatSolver& solver, const std::vector<Literal>& literals) {
  constexpr std::size_t kPairwise = 5;
  if (literals.size() <= kPairwise) {
    for (std::size_t one = 0; one < literals.size(); ++one) {
      for (std::size_t other = 0; other < one; ++other) {
        solver.add_clause({-literals[one], -literals[other]});
      }
    }
    return;
  }
  add_at_most(solver, literals, 1);
}

class TimedEncoding {
 public:
  TimedEncoding(const TimedInstance& timed, const Demand& demand, int ticks,
                const InstanceGroup& group, SatSolver& solver)
      : timed_(timed),
        instance_(timed.instance),
        demand_(demand),
        ticks_(ticks),
        solver_(solver),
        distance_(tick_distances(timed)),
        hops_in_(instance_.hops_in()),
        rank_orbits_(demand.chunks.size() * at(instance_.ranks)),
        hop_orbits_(demand.chunks.size() * instance_.hops.size()),
        limit_orbits_(instance_.limits.size()),
        have_(demand.chunks.size() * at(instance_.ranks)),
        send_(demand.chunks.size() * instance_.hops.size()) {
    for (const InstanceSymmetry& symmetry : group) join(symmetry);
    make_variables();
    add_possession();
    for (std::size_t limit = 0; limit < instance_.limits.size(); ++limit) {
      if (limit_orbits_.first_of(limit) == limit) add_capacity(limit);
    }
    add_order();
  }

  TimedSchedule schedule() {
    TimedSchedule result{.ticks = ticks_};
    for (std::size_t chunk = 0; chunk < demand_.chunks.size(); ++chunk) {
      for (std::size_t hop = 0; hop < instance_.hops.size(); ++hop) {
        const TickRange& range = sends(chunk, hop);
        for (int tick = range.first; tick < range.end(); ++tick) {
          if (!solver_.value(range.of(tick))) continue;
          result.sends.push_back({tick, static_cast<int>(chunk), static_cast<int>(hop)});
        }
      }
    }
    std::ranges::sort(result.sends);
    return result;
  }

 private:
  const TimedInstance& timed_;
  const Instance& instance_;
  const Demand& demand_;
  int ticks_;
  SatSolver& solver_;
  std::vector<std::vector<int>> distance_;
  std::vector<std::vector<int>> hops_in_;
  Orbits rank_orbits_;  // (chunk, rank)
  Orbits hop_orbits_;   // (chunk, hop)
  Orbits limit_orbits_;
  std::vector<TickRange> have_;  // by (chunk, rank): the rank holds the chunk at a tick
  std::vector<TickRange> send_;  // by (chunk, hop): a send starts at a tick

  std::size_t at_rank(std::size_t chunk, int rank) {
    return rank_orbits_.first_of(chunk * at(instance_.ranks) + at(rank));
  }
  std::size_t at_hop(std::size_t chunk, std::size_t hop) {
    return hop_orbits_.first_of(chunk * instance_.hops.size() + hop);
  }
  const TickRange& held(std::size_t chunk, int rank) { return have_[at_rank(chunk, rank)]; }
  const TickRange& sends(std::size_t chunk, std::size_t hop) { return send_[at_hop(chunk, hop)]; }

  void join(const InstanceSymmetry& symmetry) {
    const std::vector<int> images = chunk_images(demand_, symmetry.ranks);
    const std::size_t hops = instance_.hops.size();
    const std::size_t ranks = at(instance_.ranks);
    for (std::size_t chunk = 0; chunk < images.size(); ++chunk) {
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        rank_orbits_.join(chunk * ranks + rank,
                          at(images[chunk]) * ranks + at(symmetry.ranks[rank]));
      }
      for (std::size_t hop = 0; hop < hops; ++hop) {
        hop_orbits_.join(chunk * hops + hop, at(images[chunk]) * hops + at(symmetry.hops[hop]));
      }
    }
    for (std::size_t limit = 0; limit < instance_.limits.size(); ++limit) {
      limit_orbits_.join(limit, at(symmetry.limits[limit]));
    }
  }

  // Last tick at which a rank can still make use of a chunk; negative if it never can.
  int last_use(const ChunkDemand& chunk, int rank) const {
    int nearest = kNeverTick;
    for (const int target : chunk.targets) {
      nearest = std::min(nearest, distance_[at(rank)][at(target)]);
    }
    return ticks_ - nearest;
  }

  TickRange new_range(int first, int last) {
    TickRange range{.first = first};
    for (int tick = first; tick <= last; ++tick) range.literals.push_back(solver_.new_variable());
    return range;
  }

  void make_variables() {
    for (std::size_t chunk = 0; chunk < demand_.chunks.size(); ++chunk) {
      const ChunkDemand& needs = demand_.chunks[chunk];
      const std::vector<int>& from_source = distance_[at(needs.source)];
      for (int rank = 0; rank < instance_.ranks; ++rank) {
        const std::size_t key = chunk * at(instance_.ranks) + at(rank);
        if (rank == needs.source || timed_.is_switch(rank) || rank_orbits_.first_of(key) != key) {
          continue;
        }
        have_[key] = new_range(from_source[at(rank)], last_use(needs, rank));
      }
      for (std::size_t id = 0; id < instance_.hops.size(); ++id) {
        const std::size_t key = chunk * instance_.hops.size() + id;
        const Hop& hop = instance_.hops[id];
        if (hop.target == needs.source || hop_orbits_.first_of(key) != key) continue;
        send_[key] = new_range(from_source[at(hop.source)],
                               last_use(needs, hop.target) - timed_.duration[id]);
      }
    }
  }

  // Sends of a chunk that reach a rank at a tick.
  std::vector<Literal> arrivals(std::size_t chunk, int rank, int tick) {
    std::vector<Literal> found;
    for (const int hop : hops_in_[at(rank)]) {
      const Literal send = sends(chunk, at(hop)).of(tick - timed_.duration[at(hop)]);
      if (send != 0) found.push_back(send);
    }
    return found;
  }

  void add_possession() {
    for (std::size_t chunk = 0; chunk < demand_.chunks.size(); ++chunk) {
      const ChunkDemand& needs = demand_.chunks[chunk];
      for (int rank = 0; rank < instance_.ranks; ++rank) {
        const std::size_t key = chunk * at(instance_.ranks) + at(rank);
        if (rank == needs.source || timed_.is_switch(rank) || rank_orbits_.first_of(key) != key) {
          continue;
        }
        add_arrivals(chunk, rank);
      }
      for (const int target : needs.targets) {
        const Literal at_end = held(chunk, target).of(ticks_);
        if (at_end == 0) {
          solver_.add_clause(std::span<const Literal>{});
        } else if (at_rank(chunk, target) == chunk * at(instance_.ranks) + at(target)) {
          solver_.add_clause({at_end});
        }
      }
      for (std::size_t hop = 0; hop < instance_.hops.size(); ++hop) {
        if (at_hop(chunk, hop) == chunk * instance_.hops.size() + hop) add_sources(chunk, hop);
      }
    }
  }

  // A rank holds a chunk if it held it before or the chunk arrives, which happens once.
  void add_arrivals(std::size_t chunk, int rank) {
    const TickRange& range = held(chunk, rank);
    for (int tick = range.first; tick < range.end(); ++tick) {
      const Literal now = range.of(tick);
      const Literal before = range.of(tick - 1);
      const std::vector<Literal> arriving = arrivals(chunk, rank, tick);
      std::vector<Literal> reasons{-now};
      if (before != 0) {
        reasons.push_back(before);
        solver_.add_clause({-before, now});
      }
      for (const Literal arrival : arriving) {
        reasons.push_back(arrival);
        solver_.add_clause({-arrival, now});
        if (before != 0) solver_.add_clause({-arrival, -before});
      }
      solver_.add_clause(reasons);
      add_at_most_one(solver_, arriving);
    }
  }

  // A rank sends what it holds; a switch sends what arrives at this tick.
  void add_sources(std::size_t chunk, std::size_t hop) {
    const int source = instance_.hops[hop].source;
    if (source == demand_.chunks[chunk].source) return;
    const TickRange& range = sends(chunk, hop);
    for (int tick = range.first; tick < range.end(); ++tick) {
      std::vector<Literal> reasons{-range.of(tick)};
      if (timed_.is_switch(source)) {
        for (const Literal arrival : arrivals(chunk, source, tick)) reasons.push_back(arrival);
      } else if (const Literal holds = held(chunk, source).of(tick); holds != 0) {
        reasons.push_back(holds);
      }
      solver_.add_clause(reasons);
    }
  }

  // At most one send over the limit starts within its occupancy.
  void add_capacity(std::size_t limit) {
    const int occupancy = timed_.occupancy[limit];
    std::vector<Literal> used;
    for (int tick = 0; tick <= ticks_; ++tick) {
      std::vector<Literal> starting;
      for (std::size_t chunk = 0; chunk < demand_.chunks.size(); ++chunk) {
        for (const int hop : instance_.limits[limit].hops) {
          const Literal send = sends(chunk, at(hop)).of(tick);
          if (send != 0) starting.push_back(send);
        }
      }
      Literal any = 0;
      if (!starting.empty()) {
        add_at_most_one(solver_, starting);
        any = solver_.new_variable();
        for (const Literal send : starting) solver_.add_clause({-send, any});
        for (int before = std::max(0, tick - occupancy + 1); before < tick; ++before) {
          if (used[at(before)] != 0) solver_.add_clause({-any, -used[at(before)]});
        }
      }
      used.push_back(any);
    }
  }

  void add_order() {
    for (const std::vector<int>& chunks : interchangeable_chunks(demand_)) {
      const std::vector<int>& targets = demand_.chunks[at(chunks.front())].targets;
      if (targets.empty()) continue;
      for (std::size_t k = 1; k < chunks.size(); ++k) {
        const std::size_t key = at(chunks[k]) * at(instance_.ranks) + at(targets.front());
        if (rank_orbits_.first_of(key) != key) continue;
        const TickRange& earlier = held(at(chunks[k - 1]), targets.front());
        const TickRange& later = held(at(chunks[k]), targets.front());
        for (int tick = later.first; tick < later.end(); ++tick) {
          solver_.add_clause({-later.of(tick), earlier.of(tick)});
        }
      }
    }
  }
};

}  // namespace

TimedResult solve_ticks(const TimedInstance& timed, const Demand& demand, int ticks,
                        const TimedOptions& options) {
  if (demand.ranks != timed.instance.ranks) {
    throw UserError(fmt::format("the demand has {} ranks, the instance {}", demand.ranks,
                                timed.instance.ranks));
  }
  if (ticks < 0) throw UserError(fmt::format("{} ticks; expected at least 0", ticks));
  SatSolver solver;
  solver.set_seed(options.seed);
  if (!options.proof_path.empty()) solver.trace_proof(options.proof_path);
  TimedEncoding encoding(timed, demand, ticks, options.group, solver);
  TimedResult result;
  result.variables = solver.variables();
  result.clauses = solver.clauses();
  if (options.conflicts > 0) solver.limit_conflicts(options.conflicts);
  result.status = solver.solve({}, options.deadline);
  if (result.status == SatResult::Satisfiable) {
    result.schedule = without_idle_sends(timed, demand, encoding.schedule());
  }
  if (!options.proof_path.empty()) {
    solver.close_proof();
    result.formula = solver.dimacs();
  }
  return result;
}

}  // namespace cclgym::synthesis
