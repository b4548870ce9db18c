// Tests of conformal intervals against order statistics and by simulation, and of the rule that no
// cell's interval comes from cells with its own number of ranks.
#include <algorithm>
#include <cmath>

#include "calibration/compare/compare.hpp"
#include "calibration/intervals/conformal.hpp"
#include "calibration/intervals/held_out_intervals.hpp"
#include "core/random.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "support/catch.hpp"

namespace cclgym::test {
namespace {

std::vector<CellErrors> single_rows(const std::vector<double>& errors) {
  std::vector<CellErrors> cells;
  for (const double error : errors) cells.push_back({error});
  return cells;
}

TEST_CASE("a conformal interval has order statistics with the correction for n + 1 cells",
          "[calibration][intervals]") {
  CHECK(fewest_cells(0.9) == 9);
  CHECK(fewest_cells(0.8) == 4);
  std::vector<double> errors;
  for (int i = 1; i <= 8; ++i) errors.push_back(i % 2 == 0 ? i : -i);
  CHECK_FALSE(conformal_interval(single_rows(errors), 0.9));
  errors.push_back(-9);
  // 0.9 * 10 = 9: the largest of 9, on either side.
  const auto narrowest = conformal_interval(single_rows(errors), 0.9);
  REQUIRE(narrowest);
  CHECK(narrowest->low == -9);
  CHECK(narrowest->high == 9);
  for (int i = 10; i <= 19; ++i) errors.push_back(i);
  std::reverse(errors.begin(), errors.end());
  // 0.9 * 20 = 18 of 19.
  const auto of_19 = conformal_interval(single_rows(errors), 0.9);
  REQUIRE(of_19);
  CHECK(of_19->low == -18);
  CHECK(of_19->high == 18);
}

TEST_CASE("equal tails leave out as many cells on each side", "[calibration][intervals]") {
  std::vector<double> errors;
  for (int i = 1; i <= 18; ++i) errors.push_back(i);
  CHECK_FALSE(equal_tails_interval(single_rows(errors), 0.9));
  for (int i = 19; i <= 39; ++i) errors.push_back(i);
  // 0.95 * 40 = 38: the second of each end.
  const auto interval = equal_tails_interval(single_rows(errors), 0.9);
  REQUIRE(interval);
  CHECK(interval->low == 2);
  CHECK(interval->high == 38);
}

TEST_CASE("the rows of a cell share its weight", "[calibration][intervals]") {
  // 18 cells of one row without error, and one cell of ten rows, of which one is far off. Of 20
  // cells, two may lie outside.
  std::vector<CellErrors> cells(18, CellErrors{0});
  cells.push_back(CellErrors(10, 0));
  cells.back().back() = 5;
  CHECK(conformal_interval(cells, 0.9)->high == 0);
  // With a second cell that is off, less than 18 cells are inside.
  cells.front() = {5, 5};
  CHECK(conformal_interval(cells, 0.9)->high == 5);
}

TEST_CASE("intervals of exchangeable cells contain the next cell as often as they say",
          "[calibration][intervals]") {
  Random random(7);
  int inside = 0;
  int in_tails = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> errors;
    for (int i = 0; i < 40; ++i) errors.push_back(std::exp(random.normal(0, 1)) - 1);
    const double next = errors.back();
    errors.pop_back();
    const auto inside_of = [next](const std::optional<LogInterval>& interval) {
      return next >= interval->low && next <= interval->high;
    };
    inside += inside_of(conformal_interval(single_rows(errors), 0.9));
    in_tails += inside_of(equal_tails_interval(single_rows(errors), 0.9));
  }
  // The order statistic 36 of 39, or those from 2 to 38, contain the next one with probability 0.9.
  CHECK(inside / double{kTrials} == Approx(0.9).margin(0.015));
  CHECK(in_tails / double{kTrials} == Approx(0.9).margin(0.015));
}

TEST_CASE("groups weigh the same, and an interval from groups is around zero",
          "[calibration][intervals]") {
  std::vector<std::vector<CellErrors>> groups(8, {{-1.0}});
  CHECK_FALSE(grouped_interval(groups, 0.9));
  groups.push_back({{2.0}});
  // 0.9 * 10 = 9 groups: all of them.
  REQUIRE(grouped_interval(groups, 0.9));
  CHECK(grouped_interval(groups, 0.9)->low == -2);
  CHECK(grouped_interval(groups, 0.9)->high == 2);
  for (int i = 0; i < 10; ++i) groups.push_back({{0.5}});
  // 0.9 * 20 = 18 of 19 groups. A thousand cells in the outlying group change nothing.
  groups[8].assign(1000, {2.0});
  CHECK(grouped_interval(groups, 0.9)->high == 1);
}

Compared held_out(const std::string& system, int ranks, double error, std::uint64_t bytes) {
  Compared each;
  each.cell.system = system;
  each.cell.ranks = ranks;
  each.cell.nodes = ranks / 4;
  each.cell.bytes = bytes;
  each.cell.rows = 1;
  each.cell.time_s = 1e-3 * std::exp(error);
  each.cell.times_s = {each.cell.time_s};
  each.prediction.time_s = 1e-3;
  each.prediction.cost_model = "set-of-" + system;
  each.fabric = "fabric-of-" + system;
  each.values = "0123";
  each.seen = Seen::HeldOut;
  return each;
}

// Twenty cells on each of two numbers of ranks; those of the first have no errors.
std::vector<Compared> two_numbers_of_ranks(double error_of_second) {
  std::vector<Compared> cells;
  for (int i = 0; i < 20; ++i) {
    cells.push_back(held_out("A", 8, 0, 64U << i));
    cells.push_back(held_out("A", 16, error_of_second, 64U << i));
  }
  return cells;
}

TEST_CASE("a cell's interval comes from other numbers of ranks", "[calibration][intervals]") {
  std::vector<Compared> cells = two_numbers_of_ranks(0.5);
  state_intervals(cells, 0.9);
  for (const Compared& each : cells) {
    REQUIRE(each.interval.interval);
    // A number of ranks that is unlike the other one is outside of its interval.
    CHECK(each.interval.interval->high == Approx(each.cell.ranks == 8 ? 0.5 : 0).margin(1e-12));
    CHECK(each.interval.interval->low == -each.interval.interval->high);
    CHECK(each.interval.cells == 20);
    CHECK(share_inside(each) == (each.cell.ranks == 8 ? 1 : 0));
  }
  const std::vector<CoverageRow> rows = coverage_of(cells, 0.9);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].stated.cells == 40);
  CHECK(rows[0].rows == 40);
  CHECK(rows[0].stated.inside == Approx(0.5));
  CHECK(rows[0].stated.width == Approx(0.5));
  CHECK(rows[0].tails.inside == 0);
  CHECK(rows[0].one.inside == Approx(0.5));
  CHECK(rows[0].fitted.cells == 0);
  // The table is made from both.
  const TimeIntervals table = intervals_from(cells, 0.9, "a test");
  REQUIRE(table.rows.size() == 1);
  CHECK(table.rows[0].interval.low == Approx(-0.5));
  CHECK(table.rows[0].interval.high == Approx(0.5));
  CHECK(table.rows[0].cells == 40);
  CHECK_FALSE(table.rows[0].one_node);
  CHECK(made_from(table, cells[0]));
  CHECK_FALSE(made_from(table, held_out("A", 32, 0, 64)));
  CHECK_FALSE(made_from(table, held_out("B", 8, 0, 64)));
}

TEST_CASE("the comparison of intervals is left out if there is nothing in it",
          "[calibration][intervals]") {
  CoverageRow row{.group = "A, one node"};
  row.stated.cells = 4;
  row.rows = 4;
  CHECK(coverage_text({&row, 1}).find("A, one node") != std::string::npos);
  CHECK(coverage_text({&row, 1}).find("for comparison") == std::string::npos);
  row.fitted.cells = 1;
  CHECK(coverage_text({&row, 1}).find("for comparison") != std::string::npos);
}

TEST_CASE("fitted cells make no intervals and get none", "[calibration][intervals]") {
  std::vector<Compared> cells = two_numbers_of_ranks(0);
  for (Compared& each : cells) {
    if (each.cell.ranks == 8) each.seen = Seen::Fitted;
  }
  state_intervals(cells, 0.9);
  for (const Compared& each : cells) CHECK_FALSE(each.interval.interval);
  const std::vector<CoverageRow> rows = coverage_of(cells, 0.9);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].stated.cells == 0);
  CHECK(rows[0].without == 20);
  CHECK(rows[0].fitted.cells == 20);
  CHECK(rows[0].fitted.inside == 1);
  CHECK(intervals_from(cells, 0.9, "").rows.size() == 1);
}

TEST_CASE("a class without other numbers of ranks has no interval", "[calibration][intervals]") {
  std::vector<Compared> cells;
  for (int group = 0; group < 20; ++group)
    cells.push_back(held_out("B", 8 << (group % 8), -0.25, 64U << group));
  cells.push_back(held_out("A", 8, 0.1, 64));
  state_intervals(cells, 0.9);
  CHECK_FALSE(cells.back().interval.interval);
  CHECK(cells.back().interval.basis == "too few held-out cells");
  CHECK(cells.front().interval.interval);
}

TEST_CASE("calls of another collective or a named algorithm are classes of their own",
          "[calibration][intervals]") {
  std::vector<Compared> cells = two_numbers_of_ranks(0.1);
  for (std::vector<Compared> others : {two_numbers_of_ranks(0.7), two_numbers_of_ranks(2)}) {
    const bool named = others.back().cell.time_s > 3e-3;
    for (Compared& each : others) {
      if (named) {
        each.cell.named = Config{.algorithm = "tree"};
      } else {
        each.cell.collective = CollectiveKind::AllGather;
      }
      cells.push_back(each);
    }
  }
  const TimeIntervals table = intervals_from(cells, 0.9, "a test");
  REQUIRE(table.rows.size() == 3);
  const auto high_of = [&](const CallKind& kind) {
    for (const IntervalRow& row : table.rows) {
      if (row.kind == kind) return row.interval.high;
    }
    return 0.0;
  };
  CHECK(high_of({"allreduce", ""}) == Approx(0.1));
  CHECK(high_of({"allgather", ""}) == Approx(0.7));
  CHECK(high_of({"allreduce", "tree"}) == Approx(2));
  state_intervals(cells, 0.9);
  CHECK(cells.front().interval.interval->high == Approx(0.1));
  CHECK(cells.front().interval.cells == 20);
  CHECK(coverage_of(cells, 0.9).size() == 4);
}

TEST_CASE("a class with one number of ranks has the wider of its own interval and that of all",
          "[calibration][intervals]") {
  const auto cells_with = [](double error_elsewhere, std::initializer_list<int> ranks) {
    std::vector<Compared> cells;
    for (int i = 0; i < 20; ++i) {
      for (const int of : ranks) cells.push_back(held_out("A", of, 0.2, 64U << i));
    }
    for (int group = 0; group < 20; ++group) {
      cells.push_back(held_out("B", 8 + 4 * group, error_elsewhere, 64));
    }
    return cells;
  };
  const auto width_of_first = [](std::vector<Compared> cells) {
    state_intervals(cells, 0.9);
    return cells.front().interval.interval->high;
  };
  // On two numbers of ranks, each is judged by the other one alone.
  CHECK(width_of_first(cells_with(1, {8, 16})) == Approx(1));
  CHECK(width_of_first(cells_with(0.1, {8, 16})) == Approx(0.2));
  CHECK(width_of_first(cells_with(1, {8, 16, 32})) == Approx(0.2));
  // Groups of several nodes tell nothing about one node.
  std::vector<Compared> one_node = cells_with(1, {4});
  CHECK(intervals_from(one_node, 0.9, "test").rows.front().interval.high == Approx(0.2));
  // The stated table, in which the class of A has its own row.
  CHECK(intervals_from(cells_with(1, {8}), 0.9, "test").rows.front().interval.high == Approx(1));
  CHECK(intervals_from(cells_with(1, {8, 16}), 0.9, "test").rows.front().interval.high ==
        Approx(0.2));
}

TEST_CASE("the table of the shipped sets is of their present values", "[calibration][intervals]") {
  const TimeIntervals& table = shipped_time_intervals();
  CHECK(table.coverage == 0.9);
  for (const IntervalRow& row : table.rows) {
    INFO(row.set << ": make cost_models/intervals/shipped.yaml again (docs/intervals.md)");
    CHECK(row.values == values_digest(shipped_cost_model(row.set)));
    CHECK(row.cells >= fewest_cells(table.coverage));
  }
  CHECK(to_yaml(read_time_intervals(parse_yaml(to_yaml(table), "t.yaml"))) == to_yaml(table));
}

}  // namespace
}  // namespace cclgym::test
