// Scores of break-points against closed forms.
#include "experiments/training/break_points.hpp"

#include <array>
#include <cmath>

#include "experiments/training/choice_ranges.hpp"
#include "support/catch.hpp"

using namespace cclgym;

namespace {

PolicyRun run_of(const std::string& policy, const std::vector<std::string>& algorithms) {
  PolicyRun run;
  run.policy = policy;
  run.seed = 1;
  std::uint64_t bytes = 1024;
  for (const std::string& algorithm : algorithms) {
    EvaluatedCell cell;
    cell.collective = "allreduce";
    cell.bytes = bytes;
    cell.config.algorithm = algorithm;
    run.cells.insert(run.cells.begin(), cell);  // their order does not matter
    bytes *= 2;
  }
  return run;
}

}  // namespace

TEST_CASE("break-points lie between neighbouring sizes with different programs",
          "[experiments][break-points]") {
  PolicyRun run = run_of("a", {"x", "x", "y", "y", "y", "x"});
  const std::vector<double> points = break_points(run, "allreduce");
  REQUIRE(points.size() == 2);
  CHECK(points[0] == Approx(2048 * std::sqrt(2.0)));
  CHECK(points[1] == Approx(16384 * std::sqrt(2.0)));
  CHECK(break_points(run, "allgather").empty());
  // Another number of channels is no other program; another protocol is.
  run.cells.back().config.channels = 7;
  CHECK(break_points(run, "allreduce") == points);
  run.cells.back().config.protocol = Protocol::LL;
  run.cells.back().config.channels = 1;
  CHECK(break_points(run, "allreduce").size() == 3);
}

TEST_CASE("distances are doublings to the nearest break-point, both ways",
          "[experiments][break-points]") {
  const std::array<double, 2> reference{1024, 65536};
  const BreakPointScore score =
      score_break_points(std::array<double, 3>{2048, 65536, 1 << 20}, reference);
  CHECK(score.own == 3);
  CHECK(score.reference == 2);
  CHECK(score.mean == Approx(0.5));
  CHECK(score.missed == Approx(1));
  CHECK(score.extra == Approx(4));
  const BreakPointScore none = score_break_points({}, reference);
  CHECK(std::isinf(none.missed));
  CHECK(none.extra == 0);
}

TEST_CASE("policies are compared with the oracle and with publications",
          "[experiments][break-points]") {
  EvaluatedPart part{.label = "p",
                     .runs = {run_of("agent", {"x", "x", "y"}), run_of("oracle", {"x", "y", "y"})},
                     .fabric = "ndv4"};
  const std::string text = break_points_text(part, {});
  CHECK(text.find("agent") != std::string::npos);
  CHECK(text.find("  1 / 1      1.00    1.00    1.00\n") != std::string::npos);
  const std::string published = break_points_text(part, published_regimes());
  CHECK(published.size() > text.size());
  CHECK(published.find("\noracle") != std::string::npos);
  part.runs.pop_back();
  CHECK(break_points_text(part, {}).empty());
}

TEST_CASE("a publication's break-points are where its variant changes",
          "[experiments][break-points]") {
  const auto row = [](std::uint64_t from, const char* algorithm, int instances) {
    PublishedRow one;
    one.fabric = "ndv4";
    one.collective = "allreduce";
    one.source = "P";
    one.size_from = from;
    one.algorithms = {algorithm};
    one.instances = {instances};
    return one;
  };
  const std::vector<PublishedRow> rows{row(4096, "ring", 1), row(1024, "all-pairs", 1),
                                       row(2048, "all-pairs", 2)};
  CHECK(published_break_points(rows, "P", "ndv4", "allreduce") == std::vector<double>{4096});
  CHECK(published_break_points(rows, "P", "dgx1", "allreduce").empty());
  CHECK(published_break_points(rows, "Q", "ndv4", "allreduce").empty());
}
