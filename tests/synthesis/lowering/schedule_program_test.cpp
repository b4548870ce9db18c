// Tests of programs of schedules.
#include "synthesis/lowering/schedule_program.hpp"

#include <map>
#include <random>
#include <tuple>

#include "core/error.hpp"
#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/shipped_fabric.hpp"
#include "support/thrown.hpp"
#include "synthesis/lowering/load_audit.hpp"
#include "synthesis/lowering/lowering_testing.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

/// A schedule that floods: in every step, every hop sends chunks that its target lacks, as many as
/// fit. Some sends are superfluous on purpose.
StepSchedule flood(const Instance& instance, const Demand& demand, std::mt19937& random) {
  StepSchedule schedule;
  const auto ranks = at(instance.ranks);
  std::vector<char> held(demand.chunks.size() * ranks, 0);
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    held[chunk * ranks + at(demand.chunks[chunk].source)] = 1;
  }
  for (int step = 0;; ++step) {
    REQUIRE(step < 200);
    bool missing = false;
    for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
      for (const int target : demand.chunks[chunk].targets) {
        missing = missing || !held[chunk * ranks + at(target)];
      }
    }
    if (!missing) break;
    const int rounds = 1 + static_cast<int>(random() % 3);
    schedule.rounds.push_back(rounds);
    std::vector<std::int64_t> left;
    for (const Limit& limit : instance.limits) left.push_back(limit.units * rounds);
    std::vector<char> next = held;
    const auto first = random() % demand.chunks.size();
    for (std::size_t k = 0; k < demand.chunks.size(); ++k) {
      const std::size_t chunk = (first + k) % demand.chunks.size();
      for (std::size_t id = 0; id < instance.hops.size(); ++id) {
        const Hop& hop = instance.hops[id];
        if (!held[chunk * ranks + at(hop.source)] || held[chunk * ranks + at(hop.target)]) continue;
        if (next[chunk * ranks + at(hop.target)] && random() % 4 != 0) continue;
        bool fits = true;
        for (const int limit : hop.limits) fits = fits && left[at(limit)] > 0;
        if (!fits) continue;
        for (const int limit : hop.limits) --left[at(limit)];
        next[chunk * ranks + at(hop.target)] = 1;
        schedule.sends.push_back({step, static_cast<int>(chunk), static_cast<int>(id)});
      }
    }
    held = std::move(next);
  }
  std::sort(schedule.sends.begin(), schedule.sends.end());
  REQUIRE(check_schedule(instance, demand, schedule).empty());
  return schedule;
}

Instance random_circle(std::mt19937& random) {
  const int ranks = 3 + static_cast<int>(random() % 4);
  std::vector<std::vector<std::int64_t>> units(at(ranks), std::vector<std::int64_t>(at(ranks), 0));
  for (int rank = 0; rank < ranks; ++rank) {  // a cycle, so that all ranks are connected
    units[at(rank)][at((rank + 1) % ranks)] = 1 + static_cast<int>(random() % 2);
    units[at(rank)][random() % at(ranks)] += static_cast<int>(random() % 3);
  }
  return link_instance("random", units);
}

TEST_CASE("random schedules of all collectives become right programs", "[synthesis][lowering]") {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const Instance instance = random_circle(random);
    const int chunks = 1 + static_cast<int>(random() % 3);
    const int root = static_cast<int>(random() % at(instance.ranks));
    for (const CollectiveKind kind :
         {CollectiveKind::AllGather, CollectiveKind::Broadcast, CollectiveKind::Gather,
          CollectiveKind::Scatter, CollectiveKind::AllToAll, CollectiveKind::ReduceScatter,
          CollectiveKind::Reduce, CollectiveKind::AllReduce}) {
      const bool in_place = random() % 2 == 0;
      CAPTURE(round, to_string(kind), in_place, chunks, root);
      const ProgramForm form{.collective = kind, .root = root, .in_place = in_place};
      if (kind == CollectiveKind::AllReduce) {
        const Demand demand = make_demand(CollectiveKind::AllGather, instance.ranks, chunks);
        (void)require_right(lower_all_reduce(instance, form, chunks,
                                             flood(instance.reversed(), demand, random),
                                             flood(instance, demand, random)));
        continue;
      }
      const CollectiveKind copying = inverse_collective(kind);
      const Demand demand = make_demand(copying, instance.ranks, chunks, root);
      const Instance used = copying == kind ? instance : instance.reversed();
      (void)require_right(lower_schedule(instance, form, chunks, flood(used, demand, random)));
    }
  }
}

TEST_CASE("random schedules of a group become right programs", "[synthesis][lowering]") {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    const Instance instance = random_circle(random);
    std::vector<int> group;
    for (int rank = 0; rank < instance.ranks; ++rank) {
      if (random() % 3 != 0) group.push_back(rank);
    }
    if (group.size() < 2) continue;
    const int root = group[random() % group.size()];
    for (const CollectiveKind kind :
         {CollectiveKind::AllGather, CollectiveKind::Broadcast, CollectiveKind::Gather,
          CollectiveKind::Scatter, CollectiveKind::AllToAll, CollectiveKind::ReduceScatter,
          CollectiveKind::Reduce, CollectiveKind::AllReduce}) {
      CAPTURE(round, to_string(kind), group, root);
      const ProgramForm form{.collective = kind, .root = root, .group = group};
      if (kind == CollectiveKind::AllReduce) {
        const Demand demand = make_demand(CollectiveKind::AllGather, instance.ranks, 2, 0, group);
        (void)require_right(lower_all_reduce(instance, form, 2,
                                             flood(instance.reversed(), demand, random),
                                             flood(instance, demand, random)));
        continue;
      }
      const CollectiveKind copying = inverse_collective(kind);
      const Demand demand = make_demand(copying, instance.ranks, 2, root, group);
      const Instance used = copying == kind ? instance : instance.reversed();
      (void)require_right(lower_schedule(instance, form, 2, flood(used, demand, random)));
    }
  }
}

TEST_CASE("a program of a group's ranks has no relays", "[synthesis][lowering]") {
  const Instance line = link_instance("line", {{0, 1, 0}, {1, 0, 1}, {0, 1, 0}});
  std::mt19937 random(1);
  ProgramForm form{.group = {0, 1}, .members_only = true};
  const Demand near = make_demand(CollectiveKind::AllGather, 3, 1, 0, {0, 1});
  const Program program = lower_schedule(line, form, 1, flood(line, near, random));
  CHECK(program.contract.ranks() == 2);
  CHECK(program.contract.kind() == CollectiveKind::AllGather);
  (void)require_right(program);

  form.group = {0, 2};
  const Demand far = make_demand(CollectiveKind::AllGather, 3, 1, 0, {0, 2});
  const StepSchedule through = flood(line, far, random);
  CHECK(contains(thrown([&] { return lower_schedule(line, form, 1, through); }),
                 "rank 1 passes data on"));
  form.members_only = false;
  (void)require_right(lower_schedule(line, form, 1, through));
}

/// Order of the chunks on each connection, by (source, target, channel).
std::map<std::tuple<int, int, int>, std::vector<int>> order_of(const ThreadBlockProgram& program) {
  std::map<std::tuple<int, int, int>, std::vector<int>> order;
  for (std::size_t rank = 0; rank < program.gpus.size(); ++rank) {
    for (const ThreadBlock& block : program.gpus[rank].thread_blocks) {
      for (const Instruction& step : block.steps) {
        if (!sends(step.opcode)) continue;
        const int index = reads_source(step.opcode) ? step.source.index : step.target.index;
        order[{static_cast<int>(rank), block.send_peer, block.channel}].push_back(index);
      }
    }
  }
  return order;
}

TEST_CASE("compiled programs keep the order of the schedule", "[synthesis][lowering]") {
  // Rank 0 sends chunk 0 first, which ends at rank 1, and then chunk 1, which goes on to rank 2.
  const Instance line = link_instance("line", {{0, 1, 0}, {1, 0, 1}, {0, 1, 0}});
  StepSchedule schedule{.rounds = {1, 1, 1}, .sends = {}};
  const auto hop = [&](int source, int target) {
    for (std::size_t k = 0; k < line.hops.size(); ++k) {
      if (line.hops[k].source == source && line.hops[k].target == target) {
        return static_cast<int>(k);
      }
    }
    return -1;
  };
  // Scatter from 0: chunk 0 is for rank 1, chunk 1 for rank 2.
  schedule.sends = {{0, 0, hop(0, 1)}, {1, 1, hop(0, 1)}, {2, 1, hop(1, 2)}};
  const Program program =
      lower_schedule(line, {.collective = CollectiveKind::Scatter}, 1, schedule);
  const std::vector<int> planned = {1, 2};  // places in the input of rank 0
  for (const bool fuse : {false, true}) {
    CompileOptions options = lowered_compile_options(fuse);
    CHECK(order_of(compile(program, options))[{0, 1, 0}] == planned);
    options.keep_order = false;  // the longer path goes first
    CHECK(order_of(compile(program, options))[{0, 1, 0}] == std::vector<int>{2, 1});
  }
}

TEST_CASE("neighbouring chunks are sent as one message", "[synthesis][lowering]") {
  const Instance pair = link_instance("pair", {{0, 100}, {100, 0}});
  const Demand demand = make_demand(CollectiveKind::AllGather, 2, 100);
  StepSchedule schedule{.rounds = {1}, .sends = {}};
  for (int chunk = 0; chunk < 200; ++chunk) schedule.sends.push_back({0, chunk, chunk / 100});
  REQUIRE(check_schedule(pair, demand, schedule).empty());
  const Program program = lower_schedule(pair, {}, 100, schedule);
  REQUIRE(program.operations.size() == 4);  // 71 and 29 chunks each way
  CHECK(program.operations[0].count == 71);
  CHECK(program.operations[1].count == 29);
  (void)require_right(program);
}

TEST_CASE("chunks of a hop are spread over the units of its link", "[synthesis][lowering]") {
  const auto fabric = fabric_of("dgx1");
  const Instance instance = make_instance(*fabric);
  const Demand demand = make_demand(CollectiveKind::AllGather, 8, 4);
  std::mt19937 random(3);
  const StepSchedule schedule = flood(instance, demand, random);
  const Program one = lower_schedule(instance, {}, 4, schedule);
  const Program two =
      lower_schedule(instance, {}, 4, schedule, HopChannels{.per_hop = 4, .fabric = fabric.get()});
  CHECK(one.channels == 1);
  CHECK(two.channels == 2);  // a link of DGX-1 has up to two units
  CHECK(link_loads(one, *fabric) == link_loads(two, *fabric));
  CHECK(audit_limits(link_loads(one, *fabric), instance, schedule.total_rounds()).empty());
  CHECK(contains(audit_limits(link_loads(one, *fabric), instance, 1), "chunks through"));
  (void)require_right(two);
}

TEST_CASE("timed schedules are lowered in the order of starts", "[synthesis][lowering]") {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    TimedInstance timed{.instance = random_circle(random)};
    for (std::size_t k = 0; k < timed.instance.limits.size(); ++k) {
      timed.occupancy.push_back(1 + static_cast<int>(random() % 3));
    }
    for (const Hop& hop : timed.instance.hops) {
      int longest = 0;
      for (const int limit : hop.limits) longest = std::max(longest, timed.occupancy[at(limit)]);
      timed.duration.push_back(longest + static_cast<int>(random() % 4));
    }
    for (const CollectiveKind kind :
         {CollectiveKind::AllGather, CollectiveKind::AllToAll, CollectiveKind::ReduceScatter}) {
      const CollectiveKind copying = inverse_collective(kind);
      TimedInstance used = timed;
      if (copying != kind) used.instance = timed.instance.reversed();
      const Demand demand = make_demand(copying, timed.instance.ranks, 1);
      // Every rank sends what it has as soon as the hop is free.
      TimedSchedule schedule;
      std::vector<std::vector<int>> arrival(demand.chunks.size(),
                                            std::vector<int>(at(timed.instance.ranks), -1));
      for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
        arrival[chunk][at(demand.chunks[chunk].source)] = 0;
      }
      std::vector<int> free(used.instance.limits.size(), 0);
      for (int now = 0; now < 400; ++now) {
        for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
          for (std::size_t id = 0; id < used.instance.hops.size(); ++id) {
            const Hop& hop = used.instance.hops[id];
            const int here = arrival[chunk][at(hop.source)];
            int& there = arrival[chunk][at(hop.target)];
            const int end = now + used.duration[id];
            if (here < 0 || here > now || (there >= 0 && there <= end)) continue;
            if (free[at(hop.limits.front())] > now) continue;
            free[at(hop.limits.front())] = now + used.occupancy[at(hop.limits.front())];
            there = end;
            schedule.sends.push_back({now, static_cast<int>(chunk), static_cast<int>(id)});
            schedule.ticks = std::max(schedule.ticks, end);
          }
        }
      }
      std::sort(schedule.sends.begin(), schedule.sends.end());
      REQUIRE(check_schedule(used, demand, schedule).empty());
      CAPTURE(round, to_string(kind));
      (void)require_right(lower_schedule(timed, {.collective = kind}, 1, schedule));
    }
  }
}

TEST_CASE("bad schedules are refused", "[synthesis][lowering]") {
  const Instance pair = link_instance("pair", {{0, 1}, {1, 0}});
  const auto message = [&](const ProgramForm& form, const StepSchedule& schedule) {
    return thrown([&] { return lower_schedule(pair, form, 1, schedule); });
  };
  const StepSchedule empty{.rounds = {1}, .sends = {}};
  CHECK(contains(message({}, empty), "does not hold chunk"));
  CHECK(contains(message({.collective = CollectiveKind::AllReduce}, empty), "no inverse"));
  CHECK(contains(message({.collective = CollectiveKind::Broadcast, .root = 2}, empty), "root 2"));
  CHECK(contains(thrown([&] { return lower_all_reduce(pair, {}, 1, empty, empty); }),
                 "not allgather"));
}

}  // namespace
}  // namespace cclgym::test
