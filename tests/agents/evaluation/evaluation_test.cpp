// Tests of evaluations. All policies get the same stream, the oracle's ratio is 1, and sums are
// consistent.
#include "agents/evaluation/evaluation.hpp"

#include "agents/baselines/baselines_testing.hpp"
#include "agents/baselines/registry.hpp"
#include "agents/evaluation/nccl_choices.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

EvaluatedPolicy entry(const std::string& name, std::vector<std::string> tuners = {}) {
  return {name, [name](std::uint64_t) { return make_baseline(name); }, std::move(tuners)};
}

TEST_CASE("the oracle has the oracle's time, the default the default's", "[agents][evaluation]") {
  const auto setup = test::small_setup();
  const std::vector<EvaluatedPolicy> policies{
      entry("oracle"), entry("nccl-default", {"nccl-default"}), entry("random")};
  const auto runs = evaluate_policies(setup, policies, {.calls = 0, .seeds = {1, 2}, .notice = {}});
  REQUIRE(runs.size() == 6);
  for (const PolicyRun& run : runs) {
    CHECK(run.calls == 11);
    CHECK(run.cells.size() == 11);
    if (run.policy == "oracle") CHECK(run.oracle_ratio == Approx(1).epsilon(1e-12));
    if (run.policy == "nccl-default") CHECK(run.default_ratio == Approx(1).epsilon(1e-12));
    if (run.policy == "random") CHECK(run.oracle_ratio > 1.1);
    double sum = 0;
    for (const EvaluatedCell& cell : run.cells) sum += std::log(cell.oracle_ratio);
    CHECK(std::exp(sum / 11) == Approx(run.oracle_ratio).epsilon(1e-9));
  }
  const auto summaries = summarize_runs(runs);
  REQUIRE(summaries.size() == 3);
  CHECK(summaries.front().policy == "oracle");
  CHECK(summaries.front().worst_cell == Approx(1));
  CHECK(summaries.back().policy == "random");
  CHECK(summaries.back().least_oracle_ratio < summaries.back().most_oracle_ratio);
  CHECK(summaries.back().p90_cell <= summaries.back().worst_cell);
  for (const PolicySummary& one : summaries) CHECK(one.seeds == 2);

  const std::string csv =
      evaluation_csv({.label = "a,b", .runs = runs, .cost_model = "hockney (no set for X)"}, true);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 6 * 11);
  CHECK(csv.find("\na b,oracle,1,allreduce,1024,1,") != std::string::npos);
  CHECK(csv.ends_with(",hockney (no set for X),,\n"));
  for (const PolicyRun& run : runs) {
    for (const EvaluatedCell& cell : run.cells) {
      // The cell of a tuner has the configuration that the tuner chose.
      CHECK(cell.config.channels >= 1);
      const bool by_name = cell.choice.starts_with(cell.config.algorithm + " " +
                                                   std::string(to_string(cell.config.protocol)));
      CHECK(by_name == !cell.choice.starts_with("nccl-default"));
    }
  }
}

TEST_CASE("choices that NCCL cannot make are counted, and left out of the gain",
          "[agents][evaluation]") {
  const auto setup = test::setup_of(
      "{fabric: ndv4, actions: stock-nccl, workload: {name: sweep, collectives: [allgather, "
      "alltoall], sizes: 1KiB}}");
  const auto cell = [](const char* collective, const char* choice, const char* algorithm,
                       double ratio, std::uint64_t calls = 1) {
    EvaluatedCell made;
    made.collective = collective;
    made.bytes = 1024;
    made.calls = calls;
    made.default_ratio = ratio;
    made.choice = choice;
    made.config = {.algorithm = algorithm, .protocol = Protocol::Simple};
    return made;
  };
  // PAT needs one GPU per node, and NCCL asks no tuner about AllToAll.
  const PolicyRun agent{.policy = "agent",
                        .cells = {cell("allgather", "pat Simple c1", "pat", 0.1),
                                  cell("alltoall", "naive Simple c1", "naive", 0.2),
                                  cell("alltoall", "nccl-default:2.28", "naive", 1),
                                  cell("allgather", "ring Simple c1", "ring", 0.5, 3)}};
  const PolicyRun library{.policy = "nccl-default:2.28",
                          .cells = {cell("alltoall", "nccl-default:2.28", "naive", 1)}};
  const PolicyRun never{.policy = "never", .cells = {cell("allgather", "pat LL", "pat", 0.1)}};
  const std::vector<PolicyRun> runs{agent, library, agent, never};
  const auto shares = nccl_shares(*setup, runs);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].policy == "agent");
  CHECK(shares[0].cells == 8);
  CHECK(shares[0].not_asked == 2);
  CHECK(shares[0].not_offered == 2);
  REQUIRE(shares[0].default_ratio);
  CHECK(*shares[0].default_ratio == Approx(std::pow(0.5, 0.75)));
  CHECK_FALSE(shares[1].default_ratio);
  CHECK(nccl_shares_text(shares) ==
        "agent: NCCL cannot make the choice of 4 of 8 cells of all seeds (2 of collectives about "
        "which it asks "
        "no tuner, 2 that it does not offer on this machine); the other cells take 0.595 x the "
        "default's time\n"
        "never: NCCL cannot make the choice of 1 of 1 cells of all seeds (1 that it does not offer "
        "on this "
        "machine); there are no others\n");
  std::vector<PolicyRun> marked = runs;
  mark_nccl_choices(*setup, marked);
  CHECK(marked[0].cells[0].not_nccl == "NCCL does not offer it on this machine");
  CHECK(marked[0].cells[1].not_nccl == "NCCL asks no tuner about alltoall");
  CHECK(marked[0].cells[2].not_nccl.empty());
  CHECK(marked[0].cells[3].not_nccl.empty());
  // Programs of an interpreter are not deployed as a tuner.
  const auto offline = test::setup_of(
      "{fabric: ndv4, actions: offline, workload: {name: sweep, collectives: [allgather], sizes: "
      "1KiB}}");
  CHECK(nccl_shares(*offline, runs).empty());
}

TEST_CASE("a table of an evaluation has at most 100 columns", "[agents][evaluation]") {
  for (const std::string name :
       {"svm", "dispatch:a-folder-with-a-long-name/dispatch-of-ndv4.yaml"}) {
    for (const int columns : {0, 1, 2}) {
      const std::vector<PolicySummary> all{{.policy = name,
                                            .seeds = 3,
                                            .oracle_ratio = 12.3456,
                                            .least_oracle_ratio = 1.0001,
                                            .most_oracle_ratio = 99.0001,
                                            .worst_cell = 1000.123,
                                            .p90_cell = 100.123,
                                            .default_speedup = 1.5,
                                            .step_us = columns > 0 ? 2667043.1 : 0,
                                            .iteration_us = columns > 1 ? 2667043.1 : 0}};
      const std::string text = evaluation_table(all);
      CHECK(text.find(name) != std::string::npos);
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        CHECK(end - at <= 100);
        at = end + 1;
      }
    }
  }
}

TEST_CASE("the time of an iteration has the computation that its calls do not overlap",
          "[agents][evaluation]") {
  // Two calls of equal size after 1 ms of computation each. If the job computes meanwhile, the
  // first call is hidden behind the second computation.
  const auto run_of = [](const std::string& overlaps) {
    const auto setup = read_tuning_setup(parse_yaml(
        "{fabric: ndv4, actions: stock-nccl, workload: {name: trace, calls: [{collective: "
        "allreduce, size: 64KiB, compute: 1ms, overlaps: " +
            overlaps +
            "}, {collective: allreduce, size: 64KiB, compute: 1ms, overlaps: " + overlaps + "}]}}",
        "t"));
    const std::vector<EvaluatedPolicy> policies{
        {.name = "oracle", .make = [](std::uint64_t) { return make_baseline("oracle"); }}};
    return evaluate_policies(setup, policies, {.calls = 4, .seeds = {1}}).at(0);
  };
  const PolicyRun waits = run_of("false");
  REQUIRE(waits.step_us > 0);
  CHECK(waits.step_us < 1000);
  CHECK(waits.iteration_us == Approx(2000 + waits.step_us));
  const PolicyRun overlaps = run_of("true");
  CHECK(overlaps.step_us == Approx(waits.step_us));
  CHECK(overlaps.iteration_us == Approx(2000 + waits.step_us / 2));
}

TEST_CASE("cells of a stream without a list of calls are powers of two", "[agents][evaluation]") {
  const auto setup = test::setup_of(
      "{fabric: {name: ring, gpus: 4}, actions: stock-nccl, workload: {name: curriculum, "
      "collectives: [allreduce], least: 1KiB, most: 16KiB}}");
  const std::vector<EvaluatedPolicy> policies{entry("random")};
  const auto runs = evaluate_policies(setup, policies, {.calls = 50, .seeds = {1}, .notice = {}});
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].calls == 50);
  CHECK(runs[0].cells.size() <= 5);
  std::uint64_t calls = 0;
  for (const EvaluatedCell& cell : runs[0].cells) {
    CHECK((cell.bytes & (cell.bytes - 1)) == 0);
    calls += cell.calls;
  }
  CHECK(calls == 50);
}

}  // namespace
}  // namespace cclgym
