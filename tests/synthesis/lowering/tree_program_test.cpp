// Tests of programs of trees.
#include "synthesis/lowering/tree_program.hpp"

#include <cstdio>
#include <ctime>

#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"
#include "synthesis/lowering/load_audit.hpp"
#include "synthesis/lowering/lowering_testing.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

TEST_CASE("orbit trees of a cluster carry every collective of trees", "[synthesis][lowering]") {
  const auto fabric = lowering_fabric("ndv4", 2);
  const FlowGraph graph = make_flow_graph(*fabric);
  const TreePacking packing = orbit_trees(graph, *fabric);
  for (const CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllReduce}) {
    for (const bool in_place : {true, false}) {
      const ProgramForm form{.collective = kind, .in_place = in_place};
      const Program program = lower_trees(graph, fabric.get(), form, packing);
      CAPTURE(to_string(kind), in_place);
      const auto compiled = require_right(program);
      std::vector<std::int64_t> plan =
          planned_link_loads(graph, *fabric, packing, kind == CollectiveKind::ReduceScatter);
      if (kind == CollectiveKind::AllReduce) {
        const auto back = planned_link_loads(graph, *fabric, packing, true);
        for (std::size_t k = 0; k < plan.size(); ++k) plan[k] += back[k];
      }
      CHECK(audit_loads(link_loads(program, *fabric), plan, *fabric).empty());
      CHECK(audit_loads(link_loads(*compiled, *fabric), plan, *fabric).empty());
      CHECK(compiled->channels <= 32);
    }
  }
}

}  // namespace
}  // namespace cclgym::test
