// The detectors of changes over the recorded calls of a real loop, of which nothing was used to
// train them (docs/agents.md, "On a real run").
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agents/trigger/trigger_file.hpp"
#include "calibration/loop/loop_plan.hpp"
#include "calibration/loop/loop_run.hpp"
#include "deploy/loop/table_learner.hpp"
#include "support/catch.hpp"
#include "support/doc_page.hpp"
#include "support/places.hpp"

namespace cclgym::test {
namespace {

// The calls of a lane as the leader's learner sees them; regimes are numbered by the changes.
TriggerStream recorded_stream(const LoopRecord& record, const std::string& lane) {
  std::vector<double> changes_s;
  for (const LoopHappening& one : record.happenings) {
    if (one.what == "change") changes_s.push_back(one.at_s);
  }
  TriggerStream stream;
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> configs;
  for (const LoopRow& row : record.rows) {
    if (row.lane != lane) continue;
    const auto config =
        configs.try_emplace({row.algorithm, row.segment_bytes}, configs.size()).first->second;
    const auto group = static_cast<std::uint64_t>(row.call);
    stream.calls.push_back(
        {.kind = group * 65536 + config,
         .log_ratio = std::log(row.time_us),
         .group = group,
         .counted = row.received_bytes > 0,
         .log_bytes = row.received_bytes > 0 ? std::log(row.received_bytes) : 0});
    const auto regime = std::ranges::upper_bound(changes_s, row.at_s) - changes_s.begin();
    stream.regimes.push_back(static_cast<std::uint32_t>(regime));
  }
  return stream;
}

/// A kind of detector; one for each seed of its training.
struct ReplayedDetectors {
  std::string name;
  std::vector<ChangeDetector> detectors;
  bool times_alone = false;  ///< the interfaces' bytes are hidden
};

// The loop's CUSUMs, then the CUSUMs and LSTMs of the trainings.
std::vector<ReplayedDetectors> replayed_detectors() {
  const LearnerOptions by_hand;
  std::vector<ReplayedDetectors> all{
      {"CUSUMs, set by hand", {ChangeDetector(by_hand.times, by_hand.bytes)}, false}};
  for (const std::string training : {"ethernet", "ethernet-rough"}) {
    const std::string of = training == "ethernet" ? "of the gym" : "of the gym, rough";
    ReplayedDetectors cusums{"CUSUMs " + of, {}, false};
    ReplayedDetectors learned{"LSTM " + of, {}, false};
    for (const int seed : {1, 2, 3}) {
      const std::string file =
          fmt::format("{}/{}-seed-{}.yaml", source_path("experiments/triggers"), training, seed);
      for (const TrainedTrigger& one : load_trained_triggers(file)) {
        const TriggerOf& trigger = one.trigger;
        if (trigger.learned) {
          learned.detectors.push_back(trigger.detector());
        } else {
          cusums.detectors.emplace_back(trigger.parameters, trigger.parameters);
        }
      }
    }
    CHECK(cusums.detectors.size() == 3);
    CHECK(learned.detectors.size() == 3);
    all.push_back(std::move(cusums));
    all.push_back(std::move(learned));
  }
  all.push_back({all.back().name + ", times alone", all.back().detectors, true});
  return all;
}

}  // namespace

TEST_CASE("detectors: the recorded loop, replayed", "[docs]") {
  const LoopRecord record = read_loop_record(source_path("calibration/results/netlab/loop"));
  std::string table =
      "| lane | detector | changes found of 13 | median delay, calls | p90 | false alarms per "
      "1,000 "
      "calls |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const char* lane : {kAgentLane, kFrozenLane, kDefaultLane}) {
    const std::vector<TriggerStream> streams{recorded_stream(record, lane)};
    std::vector<TriggerStream> times = streams;
    for (TriggerInput& call : times.front().calls) call.counted = false;
    for (const ReplayedDetectors& one : replayed_detectors()) {
      std::string found;
      std::string median;
      std::string p90;
      std::string false_alarms;
      for (const ChangeDetector& detector : one.detectors) {
        const TriggerMeasure measure =
            measure_detector(detector, one.times_alone ? times : streams);
        CHECK(measure.changes == 13);
        const char* comma = found.empty() ? "" : ", ";
        found += fmt::format("{}{}", comma, measure.found);
        median += fmt::format("{}{:g}", comma, measure.median_delay);
        p90 += fmt::format("{}{:g}", comma, measure.p90_delay);
        false_alarms += fmt::format("{}{:.2f}", comma, measure.false_alarms_per_1000());
      }
      table += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", lane, one.name, found, median,
                           p90, false_alarms);
    }
  }
  INFO(table);
  DocPage page("agents.md");
  page.put("replayed-detectors", table);
  page.check();
}

}  // namespace cclgym::test
