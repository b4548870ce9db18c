// The files of `cclgym loop`: its YAML, its plan, its record and what is computed from it.
#include "calibration/loop/loop_results.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "calibration/loop/loop_config.hpp"
#include "calibration/loop/loop_plan.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/doc_page.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

const std::string kShippedLoop = source_path("experiments/loop-netlab.yaml");

LoopConfig config_of(const std::string& more) {
  const TemporaryFile file(
      "name: here\ncalls:\n  - {collective: allreduce, sizes: [1KiB, 2KiB]}\nprior: p.csv\n" + more,
      "loop.yaml");
  return load_loop_config(file.path());
}

std::string config_refusal(const std::string& more) {
  return thrown([&] { (void)config_of(more); });
}

/// A loop of two states in which the agent takes half of the default's time in the first one, and
/// as long in the second one.
LoopRecord made_up() {
  LoopRecord record;
  record.happenings = {{.at_s = 100, .what = "change", .label = "busy"},
                       {.at_s = 102.5, .what = "alarm", .label = "agent", .call = 102},
                       {.at_s = 150, .what = "alarm", .label = "agent", .call = 149}};
  record.agreement = {{.lane = "agent", .calls = 200, .changes = 7, .states = 2}};
  for (int iteration = 0; iteration < 200; ++iteration) {
    const double noise = 1 + 0.01 * (iteration % 5);
    const double agent = iteration < 100 ? 50 : 200;
    const double other = iteration < 100 ? 100 : 200;
    LoopRow row{.at_s = iteration + 0.5, .iteration = iteration, .collective = "allreduce"};
    row.size_bytes = 1024;
    row.lane = "agent";
    row.algorithm = "ring";
    row.time_us = agent * noise;
    record.rows.push_back(row);
    row.lane = "default";
    row.time_us = other * noise;
    record.rows.push_back(row);
  }
  return record;
}

}  // namespace

TEST_CASE("loop: the file is read with its defaults, and wrong values are refused at their place") {
  const LoopConfig config = config_of("");
  CHECK(config.name == "here");
  CHECK(config.seconds == 600);
  CHECK(config.compute_s == Approx(2e-3));
  REQUIRE(config.calls.size() == 2);
  CHECK(config.calls[1].bytes == 2048);
  CHECK(config.prior.ends_with("/p.csv"));
  CHECK(config.start == "idle");
  const std::string unknown = config_refusal("secnds: 1\n");
  CHECK(contains(unknown, "loop.yaml:5:1"));
  CHECK(contains(unknown, "seconds"));
  CHECK(contains(config_refusal("events: [{at: 5, label: a}, {at: 4, label: b}]\n"), "at is 4 s"));
  CHECK(contains(config_refusal("events: [{at: 5}]\n"), "label"));
  CHECK(contains(config_refusal("hindsight: [{weight: 1}]\n"), "measured"));
  CHECK(contains(config_refusal("compute: -1ms\n"), "compute"));
}

TEST_CASE("loop: a learned trigger is read from its file, and sent to the ranks") {
  CHECK(!load_loop_config(kShippedLoop).trigger);
  const std::string plain = loop_request(config_of(""), {});
  CHECK(!contains(plain, "trigger"));
  const std::string shipped = source_path("experiments/triggers/ethernet-seed-1.yaml");
  const LoopConfig config = config_of("trigger: " + shipped + "\n");
  REQUIRE(config.trigger);
  CHECK(learned_trigger_fault(*config.trigger).empty());
  const auto sent = nlohmann::json::parse(loop_request(config, {})).at("trigger");
  CHECK(sent.at("weights").get<std::vector<double>>() == config.trigger->weights);
  CHECK(sent.at("sigma").get<double>() == config.trigger->sigma);
  CHECK(sent.at("units").get<std::size_t>() == config.trigger->units);
  CHECK(sent.at("threshold").get<double>() == config.trigger->threshold);
  CHECK(sent.at("confirm").get<std::uint32_t>() == config.trigger->confirm);
  CHECK(sent.at("pause").get<std::uint32_t>() == config.trigger->pause);
  CHECK(contains(config_refusal("trigger: none.yaml\n"), "loop.yaml:5:10: there is no file"));
  const TemporaryFile cusum("- {fabric: a, noise: b, sigma: 1, drift: 1, limit: 4, threshold: 5}\n",
                            "trigger.yaml");
  CHECK(contains(config_refusal("trigger: " + cusum.path() + "\n"), "form: lstm"));
}

TEST_CASE("loop: the plan has the best of the sweeps, and all that comes near") {
  const LoopPlan plan = plan_loop(load_loop_config(kShippedLoop));
  REQUIRE(plan.calls.size() == 14);
  REQUIRE(plan.lanes.size() == 4);
  for (std::size_t i = 0; i < plan.calls.size(); ++i) {
    const LoopPlanCall& call = plan.calls[i];
    CAPTURE(i);
    CHECK(call.configs.front().algorithm == kMpiDefault);
    CHECK(call.configs.size() == call.prior_s.size());
    const double best_s = *std::ranges::min_element(call.prior_s);
    for (const LoopLane& lane : plan.lanes) {
      REQUIRE(lane.table.size() == plan.calls.size());
      REQUIRE(lane.table[i] < call.configs.size());
      if (lane.closed) CHECK(call.prior_s[lane.table[i]] == best_s);
      if (lane.name == kDefaultLane) CHECK(lane.table[i] == 0);
    }
  }
}

TEST_CASE("loop: a sweep without the calls is refused") {
  LoopConfig config = load_loop_config(kShippedLoop);
  config.calls.front().bytes = 12;
  CHECK(contains(thrown([&] { (void)plan_loop(config); }), "no row of allreduce of 12B"));
}

TEST_CASE("loop: ratios, states and delays of a made-up record") {
  const LoopRecord record = made_up();
  const LoopResults results = loop_results(record, "idle");
  REQUIRE(results.comparisons.size() == 3);
  const LoopComparison& all = results.comparisons[0];
  CHECK(all.lane == "default");
  CHECK(all.state.empty());
  CHECK(all.calls == 200);
  CHECK(all.total.mean == Approx(250.0 / 300));
  CHECK(all.mean.mean == Approx(std::sqrt(0.5)));
  CHECK((all.total.low < all.total.mean && all.total.mean < all.total.high));
  CHECK(results.comparisons[1].state == "busy");
  CHECK(results.comparisons[1].total.mean == Approx(1));
  CHECK(results.comparisons[2].state == "idle");
  CHECK(results.comparisons[2].total.mean == Approx(0.5));
  CHECK(results.comparisons[2].total.high == Approx(0.5));

  // Calls 0 to 99 ended before the change, so that call 102 is the third after it.
  REQUIRE(results.detections.size() == 1);
  CHECK(results.detections[0].changes == 1);
  CHECK(results.detections[0].soon == 1);
  CHECK(results.detections[0].delays == std::vector<double>{3});
  CHECK(results.detections[0].false_alarms == 1);
}

TEST_CASE("loop: a record survives its files, and its page has its figures") {
  const TemporaryFolder folder;
  const LoopRecord record = made_up();
  write_loop_record(record, folder.path());
  const LoopRecord again = read_loop_record(folder.path());
  CHECK(again.rows.size() == record.rows.size());
  CHECK(again.rows.back().time_us == record.rows.back().time_us);
  CHECK(again.happenings.size() == 3);
  const LoopResults results = loop_results(again, "idle");
  const std::string text = loop_text(again, results);
  CHECK(contains(text, "0.833 ("));
  CHECK(contains(text, "agent: 200 calls, 7 changes of tables"));
  const std::string page = loop_html("here", again, results);
  CHECK(page == loop_html("here", record, loop_results(record, "idle")));
  CHECK(contains(page, "0.833 ("));
  const std::string calls = read_file(folder / kLoopCallsFile);
  for (const std::string time : {"nan", "0", "-5", "inf"}) {
    const std::size_t at = calls.find(",50,");
    REQUIRE(at != std::string::npos);
    write_file(folder / kLoopCallsFile, calls.substr(0, at + 1) + time + calls.substr(at + 3));
    const std::string message = thrown([&] { (void)read_loop_record(folder.path()); });
    CHECK(contains(message, "calls.csv:2:"));
    CHECK(contains(message, "time_us is " + time));
  }
  write_file(folder / kLoopCallsFile, "at_s,iteration\n1,2\n");
  CHECK(contains(thrown([&] { (void)read_loop_record(folder.path()); }), "calls.csv:1:"));
}

TEST_CASE("the tables of closed-loop.md are those of the records", "[docs]") {
  DocPage page("closed-loop.md");
  page.put("loop", loop_options());
  page.put("loop-call", loop_call_options());
  page.put("loop-sweep", loop_sweep_options());
  page.put("loop-policy", loop_policy_options());
  page.put("loop-event", loop_event_options());
  page.check();
}

}  // namespace cclgym::test
