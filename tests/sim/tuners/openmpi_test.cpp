// Tests of OpenMPI's algorithms and its default choice.
#include <set>
#include <string>

#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"
#include "sim/tuners/openmpi_default_tuner.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"
#include "topology_models/machines/registry.hpp"

using namespace cclgym;

namespace {

TunerSite site_of(int servers) {
  FabricSpec spec;
  spec.name = "ethernet";
  spec.servers = servers;
  return {.fabric = make_fabric(spec), .where = {"experiment.yaml", 3, 7}};
}

std::string chosen(CollectiveKind collective, int ranks, std::uint64_t bytes) {
  const auto tuner = make_tuner("openmpi-default", site_of(ranks));
  const Config config = tuner->choose({.collective = collective, .bytes = bytes});
  CHECK(config == Config{.algorithm = config.algorithm});  // Simple, without segments
  return config.algorithm;
}

std::string refusal(const char* name) {
  try {
    (void)make_tuner(name, site_of(4));
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("openmpi: the library has every program of the table, and numbers find their rows",
          "[sim][openmpi]") {
  std::set<std::pair<CollectiveKind, int>> numbers;
  for (const OpenMpiAlgorithm& row : openmpi_algorithms()) {
    CAPTURE(to_string(row.collective), row.number, row.name);
    CHECK(find_openmpi_collective(row.collective) != nullptr);
    CHECK(supports(shipped_algorithm(row.algorithm), row.collective));
    CHECK(numbers.insert({row.collective, row.number}).second);
    CHECK(find_openmpi_algorithm(row.collective, row.number) == &row);
    const std::uint64_t segment = row.takes_segments(0) ? 0 : 1024;
    const auto* found = find_openmpi_algorithm(row.collective, row.algorithm, segment);
    REQUIRE(found != nullptr);
    CHECK(found->algorithm == row.algorithm);
    CHECK(found->number <= row.number);
  }
  CHECK(openmpi_collectives().size() == 6);
  CHECK(find_openmpi_collective(CollectiveKind::AllToNext) == nullptr);
  CHECK(find_openmpi_collective(CollectiveKind::Broadcast)->name == "bcast");
}

TEST_CASE("openmpi: segments are part of an algorithm's identity", "[sim][openmpi]") {
  const auto number = [](CollectiveKind collective, const char* algorithm, std::uint64_t segment) {
    const auto* found = find_openmpi_algorithm(collective, algorithm, segment);
    return found == nullptr ? 0 : found->number;
  };
  CHECK(number(CollectiveKind::AllReduce, "ring", 0) == 4);
  CHECK(number(CollectiveKind::AllReduce, "ring", 1024) == 5);
  CHECK(number(CollectiveKind::AllGather, "ring", 0) == 4);
  CHECK(number(CollectiveKind::AllGather, "ring", 1024) == 0);
  CHECK(number(CollectiveKind::Broadcast, "pipeline", 0) == 3);
  CHECK(number(CollectiveKind::Broadcast, "pipeline", 1024) == 3);
  CHECK(number(CollectiveKind::AllToAll, "naive", 0) == 1);  // also number 4
  CHECK(number(CollectiveKind::AllReduce, "tree", 0) == 0);
  CHECK(find_openmpi_algorithm(CollectiveKind::AllReduce, 2) == nullptr);
}

TEST_CASE("openmpi-default: the thresholds of coll_tuned_decision_fixed.c", "[sim][openmpi]") {
  struct Case {
    CollectiveKind collective;
    int ranks;
    std::uint64_t bytes;
    int number;
  };
  // Taken from OpenMPI's source, on both sides of each threshold.
  constexpr Case kCases[] = {
      {CollectiveKind::AllReduce, 4, 8191, 3},
      {CollectiveKind::AllReduce, 4, 8192, 6},
      {CollectiveKind::AllReduce, 2, 4096, 4},
      {CollectiveKind::AllReduce, 2, 65536, 5},
      {CollectiveKind::AllReduce, 2, 262144, 6},
      {CollectiveKind::AllReduce, 8, 8191, 3},
      {CollectiveKind::AllReduce, 8, 8192, 6},
      {CollectiveKind::AllReduce, 128, 131071, 2},
      {CollectiveKind::AllReduce, 4096, 16384, 3},
      {CollectiveKind::AllReduce, 4, 8, 3},  // two elements are too few for the ring
      {CollectiveKind::AllGather, 2, 1024, 6},
      {CollectiveKind::AllGather, 31, 1 << 20, 3},
      {CollectiveKind::AllGather, 32, 32 * 1023, 3},
      {CollectiveKind::AllGather, 32, 32 * 1024, 5},
      {CollectiveKind::AllGather, 32, 32 * 65536, 4},
      {CollectiveKind::ReduceScatter, 4, 7, 1},
      {CollectiveKind::ReduceScatter, 4, 262143, 2},
      {CollectiveKind::ReduceScatter, 4, 262144, 3},
      {CollectiveKind::ReduceScatter, 3, 65536, 4},
      {CollectiveKind::Broadcast, 4, 63, 5},
      {CollectiveKind::Broadcast, 4, 64, 6},
      {CollectiveKind::Broadcast, 4, 2047, 5},
      {CollectiveKind::Broadcast, 4, 8191, 6},
      {CollectiveKind::Broadcast, 4, 8192, 1},
      {CollectiveKind::Broadcast, 4, 1 << 20, 2},
      {CollectiveKind::Broadcast, 8, 4095, 7},
      {CollectiveKind::Broadcast, 8, 32768, 1},
      {CollectiveKind::Broadcast, 16, 1 << 20, 8},
      {CollectiveKind::Broadcast, 512, 16384, 4},
      {CollectiveKind::Reduce, 4, 4095, 4},
      {CollectiveKind::Reduce, 4, 4096, 2},
      {CollectiveKind::Reduce, 4, 65536, 5},
      {CollectiveKind::Reduce, 4, 1 << 20, 1},
      {CollectiveKind::Reduce, 2, 4, 7},
      {CollectiveKind::Reduce, 300, 8192, 6},
      {CollectiveKind::AllToAll, 2, 2 * 2, 5},
      {CollectiveKind::AllToAll, 4, 4 * 8191, 4},
      {CollectiveKind::AllToAll, 4, 4 * 8192, 1},
      {CollectiveKind::AllToAll, 4, 4 * 524288, 2},
      {CollectiveKind::AllToAll, 8, 8 * 262144, 1},
      {CollectiveKind::AllToAll, 16, 16 * 511, 3},
      {CollectiveKind::Gather, 4, 1024, 0},
  };
  for (const Case& each : kCases) {
    CAPTURE(to_string(each.collective), each.ranks, each.bytes);
    CHECK(openmpi_default_algorithm(each.collective, each.ranks, each.bytes) == each.number);
  }
}

TEST_CASE("openmpi-default: the program for each choice", "[sim][openmpi]") {
  CHECK(chosen(CollectiveKind::AllReduce, 4, 1024) == "recursive-doubling");
  CHECK(chosen(CollectiveKind::AllReduce, 4, 1 << 20) == "rabenseifner");
  CHECK(chosen(CollectiveKind::AllReduce, 2, 65536) ==
        "ring");  // the segmented ring, without segments
  CHECK(chosen(CollectiveKind::Broadcast, 4, 1 << 20) == "pipeline");
  CHECK(chosen(CollectiveKind::Broadcast, 4, 65536) == "naive");
  CHECK(chosen(CollectiveKind::AllToAll, 4, 1024) == "naive");
  CHECK(chosen(CollectiveKind::AllToAll, 2, 4) == "naive");
  CHECK(chosen(CollectiveKind::AllGather, 2, 1024) == "ring");
  // If the library lacks the choice, for these ranks or for any, the nearest program is used.
  CHECK(chosen(CollectiveKind::AllReduce, 6, 1024) == "tree");
  CHECK(chosen(CollectiveKind::AllReduce, 6, 1 << 20) == "ring");
  CHECK(chosen(CollectiveKind::AllGather, 6, 1024) == "bruck");
  CHECK(chosen(CollectiveKind::AllGather, 33, 33 * 2048) == "ring");
  CHECK(chosen(CollectiveKind::Broadcast, 17, 1 << 20) == "scatter-allgather-ring");
  CHECK(chosen(CollectiveKind::Reduce, 3, 4) == "binomial-tree");
  CHECK(chosen(CollectiveKind::AllReduce, 128, 1024) == "tree");
}

TEST_CASE("openmpi-default: every choice can be simulated", "[sim][openmpi]") {
  for (const int ranks : {2, 3, 4, 6, 8}) {
    const TunerSite site = site_of(ranks);
    const auto tuner = make_tuner("openmpi-default:4.1.4", site);
    Simulator simulator(site.fabric, shipped_cost_model("hockney"), "flow");
    for (const OpenMpiCollective& collective : openmpi_collectives()) {
      REQUIRE(tuner->chooses_for(collective.collective));
      for (std::uint64_t bytes = 8; bytes <= 8 << 20; bytes *= 8) {
        const Call call{.collective = collective.collective, .bytes = bytes};
        CAPTURE(ranks, collective.function, bytes);
        REQUIRE(simulator.simulate(call, tuner->choose(call)).time_s > 0);
      }
    }
  }
}

TEST_CASE("openmpi-default: releases, and collectives without a choice", "[sim][openmpi]") {
  for (const char* name : {"openmpi-default", "openmpi-default:5.0", "openmpi-default:5.0.7"}) {
    CHECK(is_tuner(name));
    CHECK(refusal(name).empty());
  }
  CHECK(refusal("openmpi-default:4.0.2") ==
        "experiment.yaml:3:7: OpenMPI release '4.0.2'; expected 4.1, 5.0 or one of their releases, "
        "such as 4.1.4");
  CHECK_FALSE(refusal("openmpi-default:4.1x").empty());
  const auto tuner = make_tuner("openmpi-default", site_of(4));
  CHECK_FALSE(tuner->chooses_for(CollectiveKind::Gather));
  CHECK_THROWS_AS(tuner->choose({.collective = CollectiveKind::Gather, .bytes = 8}), UserError);
}
