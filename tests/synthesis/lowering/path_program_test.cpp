// Tests of programs of flows: parts per path, and AllToAll on fabrics with and without relays.
#include "synthesis/lowering/path_program.hpp"

#include <tuple>
#include <utility>
#include <vector>

#include "collectives/compiler/compile.hpp"
#include "collectives/verifier/verify.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"
#include "synthesis/lowering/load_audit.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

std::shared_ptr<const Fabric> server(const std::string& name, int servers = 1) {
  FabricSpec spec;
  spec.name = name;
  if (servers > 1) spec.servers = servers;
  return make_fabric(spec);
}

TEST_CASE("shares are rounded to parts, the largest remainders up", "[synthesis][lowering]") {
  FlowGraph graph{.name = "two ways", .ranks = 3, .nodes = 3};
  graph.computes.assign(3, 0);
  for (const auto& [one, other] : {std::pair(0, 1), std::pair(1, 2), std::pair(0, 2)}) {
    graph.add_duplex(one, other, 1);
  }
  const std::vector<FlowPath> paths{{0, 2, Rational(7, 10), {0, 2}},
                                    {0, 2, Rational(3, 10), {0, 1, 2}}};
  const auto counts = [&](int parts) {
    std::vector<std::int64_t> result;
    for (const Tree& tree : rounded_paths(graph, paths, parts).trees) result.push_back(tree.count);
    return result;
  };
  CHECK(counts(1) == std::vector<std::int64_t>{1});
  CHECK(counts(2) == std::vector<std::int64_t>{1, 1});
  CHECK(counts(4) == std::vector<std::int64_t>{3, 1});
  CHECK(counts(10) == std::vector<std::int64_t>{7, 3});
  CHECK(rounds_of_paths(graph, rounded_paths(graph, paths, 10)) == Rational(7));
  CHECK(rounded_paths(graph, paths, 10).depth() == 2);
  CHECK(contains(thrown([&] { return rounded_paths(graph, paths, 0); }), "at least 1"));
}

TEST_CASE("AllToAll along the paths of the flow is right, with the planned loads",
          "[synthesis][lowering]") {
  const auto [name, servers, parts] =
      GENERATE(std::tuple("dgx1", 1, 3), std::tuple("ndv2", 2, 1), std::tuple("ndv4", 2, 1));
  CAPTURE(name, servers);
  const auto fabric = server(name, servers);
  const FlowGraph graph = make_flow_graph(*fabric);
  const AllToAllFlow flow = alltoall_flow(graph);
  const TreePacking paths = rounded_paths(graph, flow.paths, parts);
  const Program program =
      lower_paths(graph, fabric.get(), {.collective = CollectiveKind::AllToAll}, paths, parts);
  const std::vector<std::int64_t> loads = link_loads(program, *fabric);
  CHECK(audit_loads(loads, planned_link_loads(graph, *fabric, paths), *fabric) == "");
  for (const bool fuse : {false, true}) {
    const ThreadBlockProgram compiled = compile(program, lowered_compile_options(fuse));
    CHECK(verify(compiled).ok);
    CHECK(compiled.channels <= 32);
  }
}

TEST_CASE("paths of a flow that cannot be lowered", "[synthesis][lowering]") {
  const auto dgx1 = server("dgx1");
  const FlowGraph graph = make_flow_graph(*dgx1);
  TreePacking paths = rounded_paths(graph, alltoall_flow(graph).paths, 1);
  const auto problem = [&](CollectiveKind kind) {
    return thrown([&] { return lower_paths(graph, dgx1.get(), {.collective = kind}, paths, 1); });
  };
  CHECK(contains(problem(CollectiveKind::AllGather), "not allgather"));
  paths.trees.pop_back();
  CHECK(contains(problem(CollectiveKind::AllToAll), "0 parts go from rank 7 to rank 6"));
}

}  // namespace
}  // namespace cclgym::test
