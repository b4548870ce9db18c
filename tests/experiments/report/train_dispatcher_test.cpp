// Tests of dispatchers trained on made-up results.
#include "experiments/summary/train_dispatcher.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "experiments/report/report.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"

namespace cclgym::test {
namespace {

std::string sweep_text(const std::string& algorithms, const std::string& fabrics) {
  return "name: sweep\nfabrics: [" + fabrics +
         "]\ncollectives: [allgather]\nalgorithms: " + algorithms +
         "\nsizes: 1MiB..1GiB x2\ncost_model: hockney\nengine: flow\n";
}

std::string nodes(const char* fabric, int from, int to) {
  std::string text;
  for (int count = from; count <= to; count *= 2) {
    text += (text.empty() ? "" : ", ") + std::string("{name: ") + fabric +
            ", nodes: " + std::to_string(count) + "}";
  }
  return text;
}

Experiment dispatcher_sweep(const std::string& algorithms = "[\"pccl:ring\", \"pccl:rec\"]",
                            const std::string& fabrics = nodes("frontier", 2, 64)) {
  return parse_experiment(sweep_text(algorithms, fabrics), "sweep.yaml");
}

// Results in which the ring is better from about 256 KiB a GPU on, by up to a factor of two.
std::vector<ResultRow> results(const Experiment& experiment) {
  std::vector<ResultRow> rows;
  for (const Cell& cell : experiment.cells) {
    ResultRow row;
    const ExperimentFabric& fabric = experiment.fabrics[cell.fabric];
    row.fabric = fabric.label;
    row.servers = fabric.fabric->servers();
    row.ranks = fabric.fabric->ranks();
    row.collective = "allgather";
    row.algorithm = cell.named();
    row.program = cell.config.algorithm;
    row.protocol = "Simple";
    row.size_bytes = cell.call.bytes;
    const double a_gpu = 1.4 * static_cast<double>(cell.call.bytes) / row.ranks / (1 << 18);
    row.time_us = 100 * (row.program == "pccl-ring" ? 1 : std::min(2.0, std::max(.5, a_gpu)));
    rows.push_back(row);
  }
  return rows;
}

std::string dispatcher_refusal(const Experiment& experiment, const std::vector<ResultRow>& rows) {
  try {
    (void)train_dispatcher(experiment, rows, {}, {"results/sweep"});
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a dispatcher learns a border in size and GPUs, the same from the same seed",
          "[experiments][dispatcher]") {
  const Experiment experiment = dispatcher_sweep();
  const std::vector<ResultRow> rows = results(experiment);
  const SourceLocation where{"results/sweep"};
  const Dispatcher dispatcher = train_dispatcher(experiment, rows, {}, where);
  CHECK(dispatcher.fabric == "frontier");
  CHECK(dispatcher.gpus_per_node == 8);
  CHECK(dispatcher.backends == std::vector<std::string>{"pccl:ring", "pccl:rec"});
  REQUIRE(dispatcher.collectives.size() == 1);
  const CollectiveDispatcher& part = dispatcher.collectives.front();
  CHECK(part.cells.size() == 66);
  CHECK(std::ranges::count_if(part.cells, &DispatcherCell::held_out) == 13);
  const auto scores = dispatcher_scores(dispatcher, part);
  CHECK(scores[0].accuracy > .8);
  CHECK(scores[0].accuracy > scores[1].accuracy);  // than the most frequent backend
  CHECK(part.cross_validation > .9);
  CHECK(part.choose(std::uint64_t{1} << 30, 16) == 0);
  CHECK(part.choose(std::uint64_t{1} << 20, 512) == 1);
  // Times of trials are means around the simulated ones.
  const DispatcherCell& cell = part.cells.front();
  CHECK(cell.time_us[0] == Approx(100).epsilon(.03));
  CHECK(cell.time_us[0] != 100);

  const std::string text = to_yaml(dispatcher);
  CHECK(to_yaml(train_dispatcher(experiment, rows, {}, where)) == text);
  CHECK(to_yaml(parse_dispatcher(text, "d.yaml")) == text);
  CHECK(to_yaml(train_dispatcher(experiment, rows, {.seed = 2}, where)) != text);
  CHECK(contains(dispatcher_text(dispatcher), "0.850"));  // PCCL's accuracy for this machine
}

TEST_CASE("sweeps of which no dispatcher can be made are refused", "[experiments][dispatcher]") {
  const Experiment experiment = dispatcher_sweep();
  std::vector<ResultRow> rows = results(experiment);
  rows.erase(std::ranges::find_if(rows, [](const ResultRow& row) {
    return row.algorithm == "pccl:rec" && row.ranks == 64 && row.size_bytes == 4 << 20;
  }));
  CHECK(contains(dispatcher_refusal(experiment, rows),
                 "results/sweep: allgather of 4MiB on 64 GPUs has no time of pccl:rec"));
  const Experiment plain = dispatcher_sweep("[ring, \"pccl:rec\"]");
  CHECK(contains(dispatcher_refusal(plain, results(plain)),
                 "algorithm 'ring' of the sweep is no tuner"));
  const Experiment one = dispatcher_sweep("[\"pccl:rec\"]");
  CHECK(contains(dispatcher_refusal(one, results(one)), "chooses among two or more"));
  const Experiment two = dispatcher_sweep(
      "[\"pccl:ring\", \"pccl:rec\"]", nodes("frontier", 2, 8) + ", " + nodes("perlmutter", 2, 8));
  CHECK(contains(dispatcher_refusal(two, results(two)), "machines 'frontier' and 'perlmutter'"));
}

TEST_CASE("the report has the machines and the dispatchers", "[experiments][dispatcher]") {
  const Experiment experiment = dispatcher_sweep();
  const std::vector<ResultRow> rows = results(experiment);
  const Dispatcher dispatcher = train_dispatcher(experiment, rows, {}, {"results/sweep"});
  const std::string json =
      report_json(experiment, {.rows = rows, .dispatchers = {{"pccl:d.yaml", dispatcher}}});
  CHECK(contains(json, R"("frontier nodes=2":"frontier")"));
  CHECK(contains(json, R"("name":"pccl:d.yaml","fabric":"frontier")"));
  CHECK(contains(json, R"("published":0.85)"));
}

}  // namespace cclgym::test
