// Times of collectives over levels whose groups across nodes take turns.
#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectives/library/algorithm_library.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {

namespace {

Simulator gated_simulator(const FabricSpec& spec, const std::string& name,
                          const std::string& engine = "flow") {
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  library.add_spelled(name);
  const auto fabric = make_fabric(spec);
  return {fabric, cost_model_for("hockney", *fabric), engine, library};
}

double seconds(const FabricSpec& spec, CollectiveKind collective, std::uint64_t bytes,
               const std::string& name) {
  return gated_simulator(spec, name)
      .simulate({.collective = collective, .bytes = bytes}, {.algorithm = name})
      .time_s;
}

}  // namespace

TEST_CASE("subcomms: K of M groups at once take M / K times a single group's time across nodes",
          "[sim][lowering][subcomms]") {
  // Every GPU has a NIC of its own, so that groups do not share any.
  const FabricSpec fabric{.name = "ndv4", .servers = 4};
  FabricSpec single = fabric;
  single.gpus_per_server = 1;
  for (const std::uint64_t bytes : {std::uint64_t{1} << 20, std::uint64_t{1} << 28}) {
    for (const std::string across : {"ring", "recursive"}) {
      for (const auto kind : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
        const std::string name = "hierarchical:8x4:ring+" + across;
        CAPTURE(name, to_string(kind), bytes);
        // A copy of the own slice to or from scratch is part of a group's turn.
        const double slice = static_cast<double>(bytes) / 32;
        const double group_s = seconds(single, kind, bytes / 8, "hierarchical:4:" + across) +
                               device_copy_cost_s(*make_fabric(fabric), {}, slice);
        const double all_s = seconds(fabric, kind, bytes, name);
        for (const int subcomms : {1, 2, 4, 8}) {
          const double time_s =
              seconds(fabric, kind, bytes, fmt::format("{}:subcomms={}", name, subcomms));
          const int more = 8 / subcomms - 1;
          CHECK(time_s == Approx(all_s + more * group_s).epsilon(1e-6));
        }
      }
    }
  }
}

TEST_CASE("subcomms: no more than K ranks of a node are in a kernel across nodes",
          "[sim][lowering][subcomms]") {
  for (const int subcomms : {1, 2, 3, 5}) {
    const std::string name = fmt::format("hierarchical:8x2x2:ring:subcomms={}", subcomms);
    Simulator simulator = gated_simulator({.name = "frontier", .servers = 4}, name);
    for (const auto kind :
         {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllReduce}) {
      CAPTURE(name, to_string(kind));
      const SimulationRecord record =
          simulator.record({.collective = kind, .bytes = 1 << 22}, {.algorithm = name});
      REQUIRE(record.dated());
      // Span of every rank's messages to other nodes, by kernel.
      std::map<std::pair<int, int>, std::pair<double, double>> span;
      const ProgramOutline& outline = *record.lowered.outline;
      for (TransferId id = 0; id < record.graph->size(); ++id) {
        const NodeOrigin& origin = record.lowered.origins[static_cast<std::size_t>(id)];
        if (origin.peer_rank < 0 || origin.peer_rank / 8 == origin.rank / 8) continue;
        const int kernel = outline.block(origin.rank, origin.thread_block).kernel;
        const std::size_t firing = record.firing(id, 0);
        auto& [begin_s, end_s] =
            span.try_emplace({kernel, origin.rank}, record.start_s[firing], 0.0).first->second;
        begin_s = std::min(begin_s, record.start_s[firing]);
        end_s = std::max(end_s, record.end_s[firing]);
      }
      REQUIRE(!span.empty());
      int most = 0;
      for (const auto& [key, own] : span) {
        int at_once = 0;
        for (const auto& [other, theirs] : span) {
          const bool beside = other.first == key.first && other.second / 8 == key.second / 8;
          if (beside && theirs.first <= own.first && own.first < theirs.second) ++at_once;
        }
        most = std::max(most, at_once);
      }
      CHECK(most <= subcomms);
      if (kind == CollectiveKind::AllGather) CHECK(most == subcomms);
    }
  }
}

TEST_CASE("subcomms: engines and folded programs agree", "[sim][lowering][subcomms]") {
  const std::string name = "hierarchical:8x32:ring:subcomms=3";
  const Call call{.collective = CollectiveKind::AllGather, .bytes = 256 << 14};
  const FabricSpec spec{.name = "frontier", .servers = 32};
  Simulator simulator = gated_simulator(spec, name);
  const auto time_s = [&](Folding folding) {
    const SimulationRecord record = simulator.record(call, {.algorithm = name});
    const LoweredProgram lowered =
        lower(record.lowered.outline, simulator.fabric(), simulator.cost_model(), call,
              {.algorithm = name}, {}, folding);
    auto engine = make_engine("flow");
    engine->load(lowered.graph);
    return std::pair(lowered.folded, engine->run().makespan_s);
  };
  const auto [folded, folded_s] = time_s(Folding::Always);
  const auto [unfolded, each_s] = time_s(Folding::Never);
  CHECK(folded);
  CHECK_FALSE(unfolded);
  CHECK(folded_s == Approx(each_s).epsilon(1e-9));
}

}  // namespace cclgym::test
