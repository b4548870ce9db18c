// Tests of tables of intervals: reading, writing, and the choice of a row.
#include "cost_models/intervals/time_intervals.hpp"

#include "cost_models/parameters/shipped_sets.hpp"
#include "support/catch.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

TimeIntervals table_of(const std::string& text) {
  return read_time_intervals(parse_yaml(text, "t.yaml"));
}

// A row of set h100 for AllToAll by NCCL's own choice.
std::string own_row(const std::string& values, const std::string& nodes) {
  return "coverage: 0.9\nsource: a test\nintervals:\n"
         "  - {set: h100, values: \"" +
         values + "\", fabric: hgx-h100, nodes: " + nodes +
         ", collective: alltoall,\n     low: -0.1, high: 0.3, cells: 40,\n"
         "     rows: [{system: H100-cluster, ranks: [4, 8], collectives: [alltoall]}]}\n";
}

// A row for a named algorithm.
const std::string kTree =
    "  - {set: h100, values: v, fabric: hgx-h100, nodes: one, collective: allreduce, algorithm: "
    "tree,"
    " low: -1, high: 1, cells: 300, rows: [{system: Alps}]}\n";

std::shared_ptr<const Fabric> fabric_named(const std::string& name, int nodes) {
  FabricSpec spec{.name = name};
  if (nodes > 1) spec.servers = nodes;
  return make_fabric(spec);
}

TEST_CASE("a call has the interval of its set, fabric, reach and kind",
          "[cost-models][intervals]") {
  const ParameterSet set = shipped_parameter_set("h100");
  const TimeIntervals table = table_of(own_row(values_digest(set.model), "one"));
  const auto one = fabric_named("hgx-h100", 1);
  const FoundInterval own = find_interval(table, set, *one, {"alltoall", ""});
  REQUIRE(own.interval);
  CHECK(own.interval->low == -0.1);
  CHECK(own.interval->high == 0.3);
  CHECK(own.basis == "40 held-out cells of H100-cluster, one node: alltoall");
  CHECK(interval_text(table, set, *one, "alltoall") ==
        "90 % of NCCL's measured times are expected at 0.90 to 1.35 x the simulated (40 held-out "
        "cells of H100-cluster, one node: alltoall)");
  // Rows of another collective, algorithm, reach or fabric vouch for nothing.
  CHECK(interval_text(table, set, *one, "allreduce").empty());
  const FoundInterval tree = find_interval(table, set, *one, {"alltoall", "tree"});
  CHECK_FALSE(tree.interval);
  CHECK(tree.basis ==
        "no held-out cells of alltoall by tree under set h100 on one node of fabric hgx-h100");
  const FoundInterval several =
      find_interval(table, set, *fabric_named("hgx-h100", 2), {"alltoall", ""});
  CHECK_FALSE(several.interval);
  CHECK(several.basis ==
        "no held-out cells of alltoall under set h100 on several nodes of fabric hgx-h100");
  CHECK_FALSE(find_interval(table, set, *fabric_named("h200", 1), {"alltoall", ""}).interval);
}

TEST_CASE("a named algorithm has an interval of its own", "[cost-models][intervals]") {
  const ParameterSet set = shipped_parameter_set("h100");
  std::string row = kTree;
  row.replace(row.find("values: v"), 9, "values: \"" + values_digest(set.model) + '"');
  const TimeIntervals table = table_of("coverage: 0.9\nintervals:\n" + row);
  const auto one = fabric_named("hgx-h100", 1);
  const FoundInterval tree = find_interval(table, set, *one, {"allreduce", "tree"});
  REQUIRE(tree.interval);
  CHECK(tree.basis == "300 held-out cells of Alps, one node: allreduce by tree");
  CHECK_FALSE(find_interval(table, set, *one, {"allreduce", ""}).interval);
  CHECK_FALSE(find_interval(table, set, *one, {"allreduce", "ring"}).interval);
}

TEST_CASE("sets with other values or of other GPUs have no interval", "[cost-models][intervals]") {
  const auto fabric = fabric_named("hgx-h100", 1);
  ParameterSet set = shipped_parameter_set("h100");
  const TimeIntervals table = table_of(own_row(values_digest(set.model), "one"));
  const CallKind kind{"alltoall", ""};
  const std::string before = values_digest(set.model);
  set.model.kernel_launch_s *= 1.5;
  CHECK(values_digest(set.model) != before);
  const FoundInterval changed = find_interval(table, set, *fabric, kind);
  CHECK_FALSE(changed.interval);
  CHECK(changed.basis.find("the values of set h100 are not those") == 0);
  CHECK_FALSE(find_interval(table, shipped_parameter_set("hockney"), *fabric, kind).interval);
  const FoundInterval other =
      find_interval(table, parameter_set_for("a100", *fabric), *fabric, kind);
  CHECK_FALSE(other.interval);
  CHECK(other.basis == "set a100 is not of H100");
}

TEST_CASE("a table is written as it is read", "[cost-models][intervals]") {
  const TimeIntervals table = table_of(own_row("0123456789abcdef", "several") + kTree);
  const std::string text = to_yaml(table);
  CHECK(to_yaml(table_of(text)) == text);
  CHECK(table_of(text).rows.size() == 2);
  CHECK(table_of(text).rows[0].rows[0].ranks == std::set<int>{4, 8});
  CHECK(table_of(text).rows[0].kind == CallKind{"alltoall", ""});
  CHECK(table_of(text).rows[1].kind == CallKind{"allreduce", "tree"});
  CHECK(to_yaml(table_of("coverage: 0.8\nintervals: []\n")).find("intervals: []") !=
        std::string::npos);
}

std::string interval_refusal(const std::string& text) {
  try {
    (void)table_of(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("faults in a table are refused at their place", "[cost-models][intervals]") {
  const std::string head = "coverage: 0.9\nintervals:\n";
  const std::string row =
      "  - {set: a, values: v, fabric: f, nodes: one, collective: c, cells: 1, ";
  CHECK(interval_refusal(head + row + "rows: [{system: A}], low: 1, high: 0}\n")
            .find("t.yaml:3:99: found 1, which is above high, 0") == 0);
  CHECK(interval_refusal(head + "  - {set: a, low: 0, high: 1, cells: 1, rows: [{system: A}]}\n")
            .find("values") != std::string::npos);
  CHECK(interval_refusal(head + row + "hihg: 1, low: 0, rows: [{system: A}]}\n").find("high") !=
        std::string::npos);
  CHECK(interval_refusal("coverage: 90\nintervals: []\n").find("t.yaml:1:11:") == 0);
}

}  // namespace
}  // namespace cclgym::test
