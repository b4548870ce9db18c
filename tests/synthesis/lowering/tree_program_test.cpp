// Tests of programs of trees.
#include "synthesis/lowering/tree_program.hpp"

#include <map>

#include "collectives/msccl/msccl_xml.hpp"
#include "collectives/verifier/verify.hpp"
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

std::vector<std::int64_t> plan_of(const FlowGraph& graph, const Fabric& fabric,
                                  const TreePacking& packing, CollectiveKind kind) {
  std::vector<std::int64_t> plan(fabric.links().size(), 0);
  for (const bool inward : {false, true}) {
    if (kind != CollectiveKind::AllReduce && inward != is_reduction(kind)) continue;
    const auto loads = planned_link_loads(graph, fabric, packing, inward);
    for (std::size_t k = 0; k < plan.size(); ++k) plan[k] += loads[k];
  }
  return plan;
}

TEST_CASE("orbit trees of a cluster carry every collective of trees", "[synthesis][lowering]") {
  const auto fabric = fabric_of("ndv4", 2);
  const FlowGraph graph = make_flow_graph(*fabric);
  const TreePacking all = orbit_trees(graph, *fabric);
  const TreePacking rooted{.trees = {all.trees[5]}};
  for (const CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllReduce,
        CollectiveKind::Broadcast, CollectiveKind::Reduce}) {
    const TreePacking& packing = is_rooted(kind) ? rooted : all;
    for (const bool in_place : {true, false}) {
      CAPTURE(to_string(kind), in_place);
      const ProgramForm form{.collective = kind, .root = 5, .in_place = in_place};
      const Program program = lower_trees(graph, fabric.get(), form, packing);
      const auto compiled = require_right(program);
      const auto plan = plan_of(graph, *fabric, packing, kind);
      CHECK(audit_loads(link_loads(program, *fabric), plan, *fabric).empty());
      CHECK(audit_loads(link_loads(*compiled, *fabric), plan, *fabric).empty());
      CHECK(compiled->channels <= 32);
    }
  }
}

TEST_CASE("an audit finds a message on the wrong NIC", "[synthesis][lowering]") {
  const auto fabric = fabric_of("ndv4", 2);
  const FlowGraph graph = make_flow_graph(*fabric);
  const TreePacking packing = orbit_trees(graph, *fabric);
  Program program = lower_trees(graph, fabric.get(), {}, packing);
  const auto plan = planned_link_loads(graph, *fabric, packing);
  for (Operation& operation : program.operations) {
    if (fabric->server_of(operation.source.rank) == fabric->server_of(operation.target.rank)) {
      continue;
    }
    ++operation.channel;
    break;
  }
  CHECK(contains(audit_loads(link_loads(program, *fabric), plan, *fabric), "in the plan"));
}

TEST_CASE("loads of the trees give the bound", "[synthesis][lowering]") {
  const auto fabric = fabric_of("ndv4", 4);
  const FlowGraph graph = make_flow_graph(*fabric);
  const Program program = lower_trees(graph, fabric.get(), {}, orbit_trees(graph, *fabric));
  // A NIC of 24 GB/s sends its GPU's chunk to the 3 other servers, or passes on as many.
  CHECK(bottleneck_s(link_loads(program, *fabric), *fabric, 1e9) == Approx(3 / 24.0));
}

TEST_CASE("weighted trees send several chunks in one message", "[synthesis][lowering]") {
  const auto fabric = fabric_of("ndv4");
  const FlowGraph graph = make_flow_graph(*fabric);
  TreePacking packing = orbit_trees(graph, *fabric);
  for (Tree& tree : packing.trees) tree.count = 3;
  for (const CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::AllReduce}) {
    const ProgramForm form{.collective = kind};
    const Program heavy = lower_trees(graph, fabric.get(), form, packing, {.unit_trees = false});
    const Program light = lower_trees(graph, fabric.get(), form, packing);
    CHECK(heavy.operations.size() * 3 == light.operations.size());
    CHECK(link_loads(heavy, *fabric) == link_loads(light, *fabric));
    (void)require_right(heavy);
    (void)require_right(light);
  }
}

TEST_CASE("AllReduce takes different numbers of trees per root", "[synthesis][lowering]") {
  const auto fabric = fabric_of("dgx1");
  const FlowGraph graph = make_flow_graph(*fabric);
  TreePacking packing = ring_trees(graph, *fabric);
  packing.trees.resize(9);  // 6 of rank 0, 3 of rank 1
  packing.trees[7].count = 3;
  const Program program =
      lower_trees(graph, fabric.get(), {.collective = CollectiveKind::AllReduce}, packing);
  CHECK(program.contract.chunks() == 11);
  (void)require_right(program);
  CHECK(contains(thrown([&] { return lower_trees(graph, fabric.get(), {}, packing); }),
                 "rank 0 has 6 trees; allgather needs 5"));
  TreePacking fewer = packing;
  fewer.trees.pop_back();
  CHECK(contains(thrown([&] {
                   return lower_trees(graph, fabric.get(),
                                      {.collective = CollectiveKind::AllReduce}, packing, fewer);
                 }),
                 "different counts"));
}

TEST_CASE("trees of a group pass through other ranks", "[synthesis][lowering]") {
  const auto fabric = fabric_of("ring");
  const FlowGraph graph = make_flow_graph(*fabric);
  TreePacking packing;  // ranks 0, 2 and 3 along the ring
  for (const int root : {0, 2, 3}) {
    Tree tree{.root = root};
    for (int k = root + 1; k < 4; ++k) tree.edges.push_back({k - 1, k, {}});
    for (int k = root; k > 0; --k) tree.edges.push_back({k, k - 1, {}});
    packing.trees.push_back(std::move(tree));
  }
  for (const CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllReduce}) {
    CAPTURE(to_string(kind));
    ProgramForm form{.collective = kind, .group = {0, 2, 3}};
    const Program program = lower_trees(graph, fabric.get(), form, packing);
    CHECK(program.contract.kind() == CollectiveKind::Custom);
    CHECK(program.contract.input_chunks(1) == 0);
    (void)require_right(program);
    form.members_only = true;
    CHECK(contains(thrown([&] { return lower_trees(graph, fabric.get(), form, packing); }),
                   "not in the group"));
  }
}

TEST_CASE("switches that compute copy and add for trees", "[synthesis][lowering]") {
  FabricSpec spec;
  spec.name = "hgx-h100";
  spec.servers = 2;
  spec.nvls = true;
  const auto fabric = make_fabric(spec);
  const FlowGraph graph = make_flow_graph(*fabric);
  const TreePacking packing = orbit_trees(graph, *fabric);
  for (const CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllReduce}) {
    CAPTURE(to_string(kind));
    const Program program =
        lower_trees(graph, fabric.get(), {.collective = kind}, packing, {.multicast = true});
    const auto compiled = require_right(program);
    CHECK(compiled->uses_switches());
    std::vector<std::int64_t> plan(fabric->links().size(), 0);
    for (const bool inward : {false, true}) {
      if (kind != CollectiveKind::AllReduce && inward != is_reduction(kind)) continue;
      const auto loads = planned_link_loads(graph, *fabric, packing, inward, true);
      for (std::size_t k = 0; k < plan.size(); ++k) plan[k] += loads[k];
    }
    CHECK(audit_loads(link_loads(program, *fabric), plan, *fabric).empty());
    CHECK(contains(thrown([&] { return to_msccl_xml(*compiled); }), "switches that copy or add"));
  }
  const auto plain = fabric_of("ndv4");
  const FlowGraph without = make_flow_graph(*plain);
  CHECK(contains(thrown([&] {
                   return lower_trees(without, plain.get(), {}, orbit_trees(without, *plain),
                                      {.multicast = true});
                 }),
                 "copies and adds"));
}

TEST_CASE("programs of trees are written as MSCCL XML and read back", "[synthesis][lowering]") {
  const auto fabric = fabric_of("ndv4", 2);
  const FlowGraph graph = make_flow_graph(*fabric);
  const TreePacking packing = orbit_trees(graph, *fabric);
  for (const CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllReduce}) {
    for (const XmlDialect dialect : {XmlDialect::Microsoft, XmlDialect::Azure}) {
      CAPTURE(to_string(kind), to_string(dialect));
      const ThreadBlockProgram program =
          compile(lower_trees(graph, fabric.get(), {.collective = kind}, packing),
                  lowered_compile_options());
      const std::string text = to_msccl_xml(program, {.dialect = dialect, .end_bytes = 1U << 30U});
      const XmlProgram read = parse_msccl_xml(text, "trees.xml");
      CHECK(read.program.contract.kind() == kind);
      CHECK(verify(read.program, {.slots = 2}).ok);
      CHECK(link_loads(read.program, *fabric) == link_loads(program, *fabric));
    }
  }
}

TEST_CASE("few channels are divided between the directions", "[synthesis][lowering]") {
  const auto fabric = fabric_of("ndv4", 4);
  const FlowGraph graph = make_flow_graph(*fabric);
  const TreePacking packing = orbit_trees(graph, *fabric);
  for (const int channels : {1, 2, 5, 8, 32}) {
    CAPTURE(channels);
    const Program program =
        lower_trees(graph, fabric.get(), {.collective = CollectiveKind::AllReduce}, packing,
                    {.channels = channels});
    CHECK(program.channels <= channels);
    CHECK(audit_loads(link_loads(program, *fabric),
                      plan_of(graph, *fabric, packing, CollectiveKind::AllReduce), *fabric)
              .empty());
    (void)require_right(program);
    if (channels < 8) continue;  // two channels per NIC
    std::map<std::tuple<int, int, int>, int> directions;
    for (const Operation& operation : program.operations) {
      directions[{operation.source.rank, operation.target.rank, operation.channel}] |=
          operation.kind == OperationKind::Reduce ? 1 : 2;
    }
    for (const auto& [connection, mask] : directions) CHECK(mask != 3);
  }
}

TEST_CASE("wrong trees are refused", "[synthesis][lowering]") {
  const auto fabric = fabric_of("ndv4", 2);
  const FlowGraph graph = make_flow_graph(*fabric);
  const TreePacking good = orbit_trees(graph, *fabric);
  const auto message = [&](const TreePacking& packing, const ProgramForm& form = {},
                           const TreeOptions& options = {}) {
    return thrown([&] { return lower_trees(graph, fabric.get(), form, packing, options); });
  };
  TreePacking bad = good;
  bad.trees[3].edges.pop_back();
  CHECK(contains(message(bad), "the tree of rank 3 does not reach rank"));
  bad = good;
  std::swap(bad.trees[3].edges.front(), bad.trees[3].edges.back());
  CHECK(contains(message(bad), "no tree"));
  bad = good;
  bad.trees[0].edges[0].through.clear();  // there is no link
  CHECK(
      contains(message(bad), "no message between these ranks takes that path on channels 0 to 31"));
  CHECK(message(bad, {}, {.reroute = true}) == "(nothing thrown)");
  CHECK(contains(message({}), "no trees"));
  CHECK(contains(message(good, {.collective = CollectiveKind::Broadcast}), "a tree of rank 1"));
  CHECK(contains(message(good, {.collective = CollectiveKind::AllToAll}), "no alltoall"));
  CHECK(contains(message(good, {}, {.channels = 65}), "65 channels"));
}

}  // namespace
}  // namespace cclgym::test
