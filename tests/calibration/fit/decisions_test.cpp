// Choices of the simulator judged by measured times.
#include "calibration/compare/decisions.hpp"

#include <cmath>
#include <fmt/format.h>

#include "calibration/compare/compare.hpp"
#include "support/catch.hpp"
#include "support/doc_page.hpp"
#include "support/places.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

Compared run(const char* algorithm, Protocol protocol, double measured_s, double simulated_s,
             std::uint64_t bytes = 1024) {
  Compared each;
  each.cell.system = "lab";
  each.cell.ranks = 8;
  each.cell.nodes = 2;
  each.cell.bytes = bytes;
  each.cell.time_s = measured_s;
  each.cell.forced = true;
  each.cell.tuner = "nccl-default";
  each.prediction.config = {.algorithm = algorithm, .protocol = protocol};
  each.prediction.time_s = simulated_s;
  each.seen = Seen::HeldOut;
  return each;
}

Compared own_choice(double measured_s, std::uint64_t bytes = 1024) {
  Compared each = run("ring", Protocol::Simple, measured_s, 1, bytes);
  each.cell.forced = false;
  each.cell.tuner.clear();
  return each;
}

std::vector<DecisionGroup> shipped_groups() {
  const std::string file = source_path("experiments/measured/nccl-forced.csv");
  const Comparison comparison =
      compare(file, make_cells(read_measured_file(file), {}, file), std::nullopt, {.jobs = 2});
  CHECK(comparison.refused.empty());
  return decision_groups(comparison.cells);
}

}  // namespace

TEST_CASE("regret is the measured time of the simulator's choice", "[calibration][decisions]") {
  const std::vector<Compared> cells{run("ring", Protocol::Simple, 4, 2),
                                    run("ring", Protocol::LL, 3, 1),
                                    run("tree", Protocol::Simple, 2, 5),
                                    run("tree", Protocol::LL128, 6, 6),
                                    own_choice(3.5),
                                    run("tree", Protocol::LL, 1, 1, 64)};  // alone in its group
  const std::vector<DecisionGroup> groups = decision_groups(cells);
  REQUIRE(groups.size() == 1);
  const DecisionGroup& group = groups.front();
  CHECK(group.runs.front().name == "tree Simple");
  CHECK(group.chosen().name == "ring LL");
  CHECK(group.regret() == 1.5);
  CHECK(group.own_regret() == 1.75);
  CHECK(group.ring_simple_regret() == 2);
  CHECK(std::abs(group.chance_regret() - std::pow(2 * 1.5 * 1 * 3, 0.25)) < 1e-12);
  // Measured ranks 3, 2, 1, 4 and simulated ranks 2, 1, 3, 4: 1 - 6 (1 + 1 + 4) / (4 * 15).
  CHECK(std::abs(group.rank_correlation() - 0.4) < 1e-12);
  const DecisionGroup* const only = &group;
  const DecisionSummary summary = summarise_decisions("all", {&only, 1});
  CHECK(summary.best_chosen == 0);
  CHECK(std::abs(summary.regret - 1.5) < 1e-12);
  CHECK(std::abs(*summary.own - 1.75) < 1e-12);
}

TEST_CASE("equal times share their mean rank, and the first by name is chosen",
          "[calibration][decisions]") {
  const std::vector<Compared> cells{run("tree", Protocol::Simple, 1, 2),
                                    run("ring", Protocol::Simple, 2, 2),
                                    run("ring", Protocol::LL, 3, 3)};
  const DecisionGroup group = decision_groups(cells).front();
  CHECK(group.chosen().name == "ring Simple");
  // Ranks 1, 2, 3 against 1.5, 1.5, 3.
  CHECK(std::abs(group.rank_correlation() - std::sqrt(0.75)) < 1e-12);
  CHECK_FALSE(group.own_regret());
}

TEST_CASE("groups of fitted rows are not held out", "[calibration][decisions]") {
  std::vector<Compared> cells{run("tree", Protocol::Simple, 1, 2),
                              run("ring", Protocol::Simple, 2, 3)};
  cells.back().seen = Seen::Fitted;
  CHECK(decision_groups(cells).front().seen == Seen::Fitted);
  CHECK(decisions_text(decision_groups(cells), 5).find("lab, fitted") != std::string::npos);
  CHECK(decisions_csv(decision_groups(cells)).find("lab,8,2,allreduce,1024,fitted,tree Simple,") !=
        std::string::npos);
  CHECK(decisions_text({}, 5).find("no call was measured") != std::string::npos);
}

TEST_CASE("the headings of the table of decisions are on one line", "[calibration][decisions]") {
  const std::vector<Compared> cells{run("tree", Protocol::Simple, 1, 2),
                                    run("ring", Protocol::Simple, 2, 3)};
  const std::string text = decisions_text(decision_groups(cells), 5);
  CHECK(text.find("  groups  simulator  worst  best chosen, %  NCCL's own  ring Simple  by chance  "
                  "rank correlation\n\n") != std::string::npos);
}

TEST_CASE("rows with algorithm and protocol, but without channels, have NCCL's own",
          "[calibration][decisions]") {
  const std::vector<DecisionGroup> groups = shipped_groups();
  CHECK(groups.size() == 54);
  for (const DecisionGroup& group : groups) {
    CAPTURE(group.system, group.ranks, group.bytes);
    CHECK(group.runs.size() >= 4);
    CHECK(group.own_regret());
    CHECK(group.ring_simple_regret());
    for (std::size_t i = 1; i < group.runs.size(); ++i) {
      CHECK(group.runs[i - 1].name != group.runs[i].name);
    }
  }
}

TEST_CASE("docs/fidelity.md prints how good the simulator's choices are",
          "[calibration][decisions][fidelity-docs]") {
  std::string table =
      "| system | groups | simulator | worst | best chosen | NCCL's own | ring Simple | by chance "
      "| "
      "rank correlation |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  const std::vector<DecisionGroup> groups = shipped_groups();
  for (const DecisionSummary& row : decision_summaries(groups)) {
    table += fmt::format(
        "| {} | {} | {:.3f} | {:.3f} | {:.0f} % | {:.3f} | {:.3f} | {:.3f} | {:.2f} |\n", row.name,
        row.groups, row.regret, row.worst, 100 * row.best_chosen, row.own.value(),
        row.ring_simple.value(), row.chance, row.rank_correlation);
  }
  DocPage page("fidelity.md");
  page.put("decisions", table);
  page.check();
}
