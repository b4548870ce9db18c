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

struct ReplayedDetector {
  std::string name;
  ChangeDetector detector;
};

std::string trigger_file_of(int seed) {
  return fmt::format("{}/experiments/triggers/ethernet-seed-{}.yaml", CCLGYM_SOURCE_DIR, seed);
}

// The loop's CUSUMs, then those of each seed's training, then the learned ones.
std::vector<ReplayedDetector> replayed_detectors() {
  const LearnerOptions by_hand;
  std::vector<ReplayedDetector> detectors{
      {"CUSUMs, set by hand", ChangeDetector(by_hand.times, by_hand.bytes)}};
  std::vector<ReplayedDetector> learned;
  for (const int seed : {1, 2, 3}) {
    for (const TrainedTrigger& one : load_trained_triggers(trigger_file_of(seed))) {
      const TriggerOf& trigger = one.trigger;
      if (trigger.learned) {
        learned.push_back({fmt::format("LSTM, seed {}", seed), trigger.detector()});
      } else {
        detectors.push_back({fmt::format("CUSUMs of the gym, seed {}", seed),
                             ChangeDetector(trigger.parameters, trigger.parameters)});
      }
    }
  }
  std::ranges::move(learned, std::back_inserter(detectors));
  return detectors;
}

}  // namespace

TEST_CASE("detectors: the recorded loop, replayed", "[docs]") {
  const LoopRecord record = read_loop_record(CCLGYM_SOURCE_DIR "/calibration/results/netlab/loop");
  const std::vector<ReplayedDetector> detectors = replayed_detectors();
  REQUIRE(detectors.size() == 7);
  std::string table =
      "| lane | detector | changes found | median delay, calls | p90 | false alarms per 1,000 "
      "calls "
      "|\n| --- | --- | --- | --- | --- | --- |\n";
  for (const char* lane : {kAgentLane, kFrozenLane, kDefaultLane}) {
    const std::vector<TriggerStream> streams{recorded_stream(record, lane)};
    for (const ReplayedDetector& one : detectors) {
      const TriggerMeasure measure = measure_detector(one.detector, streams);
      CHECK(measure.changes == 13);
      table += fmt::format("| `{}` | {} | {} of {} | {:g} | {:g} | {:.2f} |\n", lane, one.name,
                           measure.found, measure.changes, measure.median_delay, measure.p90_delay,
                           measure.false_alarms_per_1000());
    }
  }
  INFO(table);
  DocPage page("agents.md");
  page.put("replayed-detectors", table);
  page.check();
}

}  // namespace cclgym::test
