#include "cli/descriptions/loop_json.hpp"

#include <nlohmann/json.hpp>

namespace cclgym {

namespace {

nlohmann::ordered_json ratio_json(const PairedRatio& ratio) {
  return {{"mean", ratio.mean}, {"low", ratio.low}, {"high", ratio.high}};
}

}  // namespace

std::vector<const LoopLane*> lanes_with_tables(const LoopPlan& plan) {
  std::vector<const LoopLane*> lanes;
  for (const LoopLane& lane : plan.lanes) {
    if (lane.name == kDefaultLane || lane.name == kAgentLane || lane.asks) continue;
    lanes.push_back(&lane);
  }
  return lanes;
}

nlohmann::ordered_json loop_plan_json(const LoopPlan& plan) {
  nlohmann::ordered_json calls = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < plan.calls.size(); ++i) {
    const LoopPlanCall& planned = plan.calls[i];
    nlohmann::ordered_json tables = nlohmann::ordered_json::object();
    for (const LoopLane* lane : lanes_with_tables(plan)) {
      const MpiConfig& config = planned.configs[lane->table[i]];
      tables[lane->name] = {{"algorithm", config.algorithm},
                            {"segment_bytes", config.segment_bytes}};
    }
    calls.push_back({{"collective", to_string(planned.call.collective)},
                     {"size_bytes", planned.call.bytes},
                     {"candidates", planned.configs.size()},
                     {"first_choices", tables}});
  }
  return calls;
}

nlohmann::ordered_json loop_results_json(const LoopRecord& record, const LoopResults& results) {
  nlohmann::ordered_json comparisons = nlohmann::ordered_json::array();
  for (const LoopComparison& one : results.comparisons) {
    nlohmann::ordered_json line{{"subject", one.subject},
                                {"lane", one.lane},
                                {"state", nullptr},
                                {"calls", one.calls},
                                {"total", ratio_json(one.total)},
                                {"mean", ratio_json(one.mean)}};
    if (!one.state.empty()) line["state"] = one.state;
    comparisons.push_back(std::move(line));
  }
  nlohmann::ordered_json detections = nlohmann::ordered_json::array();
  for (const LoopDetection& one : results.detections) {
    detections.push_back({{"lane", one.lane},
                          {"changes", one.changes},
                          {"soon", one.soon},
                          {"delays_calls", one.delays},
                          {"false_alarms", one.false_alarms},
                          {"calls", one.calls}});
  }
  nlohmann::ordered_json agreement = nlohmann::ordered_json::array();
  for (const LoopAgreement& one : record.agreement) {
    agreement.push_back({{"lane", one.lane},
                         {"calls", one.calls},
                         {"changes", one.changes},
                         {"dropped", one.dropped},
                         {"waits", one.waits},
                         {"longest_wait_s", one.longest_wait_s},
                         {"states", one.states},
                         {"off", one.off}});
  }
  return {{"seconds", results.seconds}, {"calls", record.rows.size()}, {"late", results.late},
          {"comparisons", comparisons}, {"detections", detections},    {"agreement", agreement}};
}

}  // namespace cclgym
