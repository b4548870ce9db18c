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

std::string own_row(const std::string& values, const std::string& nodes) {
  return "coverage: 0.9\nsource: a test\nintervals:\n"
         "  - {set: h100, values: \"" +
         values + "\", fabric: hgx-h100, nodes: " + nodes +
         ", low: -0.1, high: 0.3, cells: 40,\n"
         "     rows: [{system: H100-cluster, ranks: [4, 8], collectives: [alltoall]}]}\n";
}

const std::string kOthers =
    "  - {low: -1, high: 1, cells: 300, rows: [{system: Polaris}, {system: Alps}]}\n";

std::shared_ptr<const Fabric> fabric_named(const std::string& name, int nodes) {
  FabricSpec spec{.name = name};
  if (nodes > 1) spec.servers = nodes;
  return make_fabric(spec);
}

TEST_CASE("a call has the interval of its set, fabric and reach", "[cost-models][intervals]") {
  const ParameterSet set = shipped_parameter_set("h100");
  const std::string digest = values_digest(set.model);
  const TimeIntervals table = table_of(own_row(digest, "one") + kOthers);
  const FoundInterval own = find_interval(table, set, *fabric_named("hgx-h100", 1));
  REQUIRE(own.interval);
  CHECK(own.own);
  CHECK(own.interval->low == -0.1);
  CHECK(own.interval->high == 0.3);
  CHECK(own.basis == "40 held-out cells of H100-cluster, one node: alltoall");
  // Several nodes have no row of their own, so the row of other sets counts.
  const FoundInterval others = find_interval(table, set, *fabric_named("hgx-h100", 2));
  REQUIRE(others.interval);
  CHECK_FALSE(others.own);
  CHECK(others.interval->high == 1);
  CHECK(others.cells == 300);
  CHECK(others.basis.find("no held-out cells of set h100 on several nodes of fabric hgx-h100; 300 "
                          "of other sets: Alps, Polaris") != std::string::npos);
  CHECK(interval_text(table, set, *fabric_named("hgx-h100", 1)) ==
        "90 % of NCCL's measured times are expected at 0.90 to 1.35 x the simulated (40 held-out "
        "cells of h100)");
  CHECK(interval_text(table, set, *fabric_named("hgx-h100", 2)) ==
        "90 % of NCCL's measured times are expected at 0.37 to 2.72 x the simulated (300 held-out "
        "cells of other sets)");
  const TimeIntervals alone = table_of(own_row(digest, "one"));
  CHECK(interval_text(alone, set, *fabric_named("hgx-h100", 2)).empty());
  const FoundInterval none = find_interval(alone, set, *fabric_named("hgx-h100", 2));
  CHECK_FALSE(none.interval);
  CHECK(none.basis == "no held-out cells of set h100 on several nodes of fabric hgx-h100");
}

TEST_CASE("sets without measured rows, with other values or of other GPUs have no interval",
          "[cost-models][intervals]") {
  const auto fabric = fabric_named("hgx-h100", 1);
  ParameterSet set = shipped_parameter_set("h100");
  const TimeIntervals table = table_of(own_row(values_digest(set.model), "one") + kOthers);
  const std::string before = values_digest(set.model);
  set.model.kernel_launch_s *= 1.5;
  CHECK(values_digest(set.model) != before);
  const FoundInterval changed = find_interval(table, set, *fabric);
  CHECK_FALSE(changed.interval);
  CHECK(changed.basis.find("the values of set h100 are not those") == 0);
  const FoundInterval oracle = find_interval(table, shipped_parameter_set("hockney"), *fabric);
  CHECK_FALSE(oracle.interval);
  const FoundInterval other = find_interval(table, parameter_set_for("a100", *fabric), *fabric);
  CHECK_FALSE(other.interval);
  CHECK(other.basis == "set a100 is not of H100");
  ParameterSet unfitted = shipped_parameter_set("h100");
  unfitted.model.name = "mine";
  unfitted.fitted_to = std::vector<FittedRows>{};
  CHECK(find_interval(table, unfitted, *fabric).basis == "set mine was fitted to no measured rows");
  unfitted.fitted_to.reset();
  CHECK(find_interval(table, unfitted, *fabric).basis ==
        "set mine does not state the rows it was fitted to");
}

TEST_CASE("sets of other libraries have no interval of NCCL's rows", "[cost-models][intervals]") {
  const auto fabric = fabric_named("hgx-h100", 1);
  const TimeIntervals table = table_of("coverage: 0.9\nintervals:\n" + kOthers);
  CHECK(find_interval(table, shipped_parameter_set("h100"), *fabric).interval);
  const FoundInterval mscclpp =
      find_interval(table, shipped_parameter_set("h100-mscclpp"), *fabric);
  CHECK_FALSE(mscclpp.interval);
  CHECK(mscclpp.basis ==
        "set h100-mscclpp describes MSCCL++; the rows behind intervals are of NCCL and RCCL");
  // A row of the set itself counts, as with cells of other sets.
  ParameterSet mine = shipped_parameter_set("h100");
  mine.library = "mine";
  const TimeIntervals own = table_of(own_row(values_digest(mine.model), "one"));
  CHECK(find_interval(own, mine, *fabric).own);
}

TEST_CASE("sets that no measured times can test have no interval of other sets",
          "[cost-models][intervals]") {
  const TimeIntervals table = table_of("coverage: 0.9\nintervals:\n" + kOthers);
  for (const char* const name :
       {"mi50", "mi250x", "mi250x-slingshot", "a100-perlmutter", "a100-tcp", "a10g-tcp"}) {
    CAPTURE(name);
    const ParameterSet set = shipped_parameter_set(name);
    const FoundInterval found = find_interval(table, set, *fabric_named("hgx-h100", 1));
    CHECK_FALSE(found.interval);
    CHECK(found.basis.find("has no measured times: " + set.unmeasured) != std::string::npos);
  }
  CHECK(shipped_parameter_set("mi300x").unmeasured.empty());
}

TEST_CASE("a table is written as it is read", "[cost-models][intervals]") {
  const TimeIntervals table = table_of(own_row("0123456789abcdef", "several") + kOthers);
  const std::string text = to_yaml(table);
  CHECK(to_yaml(table_of(text)) == text);
  CHECK(table_of(text).rows.size() == 2);
  CHECK(table_of(text).rows[0].rows[0].ranks == std::set<int>{4, 8});
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
  CHECK(interval_refusal(head + "  - {low: 1, high: 0, cells: 1, rows: [{system: A}]}\n")
            .find("t.yaml:3:11: found 1, which is above high, 0") == 0);
  CHECK(interval_refusal(head + "  - {set: a, low: 0, high: 1, cells: 1, rows: [{system: A}]}\n")
            .find("t.yaml:3:5: expected the keys set, values, fabric and nodes together") == 0);
  CHECK(interval_refusal(head + "  - {hihg: 1, low: 0, cells: 1, rows: [{system: A}]}\n")
            .find("high") != std::string::npos);
  CHECK(interval_refusal("coverage: 90\nintervals: []\n").find("t.yaml:1:11:") == 0);
}

}  // namespace
}  // namespace cclgym::test
