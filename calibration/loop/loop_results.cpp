#include "calibration/loop/loop_results.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/error.hpp"
#include "core/random.hpp"

namespace cclgym {

namespace {

constexpr int kLoopResamples = 2000;

// Times of a policy and another one, summed over some iterations.
struct Block {
  double own_us = 0;
  double other_us = 0;
  double log_ratio = 0;
  double calls = 0;
};

using BlockKey = std::pair<std::size_t, std::int64_t>;  // period between changes, block

PairedRatio interval(double mean, std::vector<double>& resampled) {
  std::ranges::sort(resampled);
  const auto at = [&](double share) {
    return resampled[static_cast<std::size_t>(share * static_cast<double>(resampled.size() - 1))];
  };
  return {.mean = mean, .low = at(0.025), .high = at(0.975)};
}

LoopComparison comparison_of(const std::vector<Block>& blocks, Random& random) {
  Block all;
  const auto add = [](Block& sum, const Block& one) {
    sum.own_us += one.own_us;
    sum.other_us += one.other_us;
    sum.log_ratio += one.log_ratio;
    sum.calls += one.calls;
  };
  for (const Block& one : blocks) add(all, one);
  std::vector<double> totals;
  std::vector<double> means;
  for (int i = 0; i < kLoopResamples; ++i) {
    Block sum;
    for (std::size_t j = 0; j < blocks.size(); ++j) {
      add(sum, blocks[static_cast<std::size_t>(
                   random.integer(0, static_cast<std::int64_t>(blocks.size()) - 1))]);
    }
    totals.push_back(sum.own_us / sum.other_us);
    means.push_back(std::exp(sum.log_ratio / sum.calls));
  }
  return {.calls = static_cast<std::size_t>(all.calls),
          .total = interval(all.own_us / all.other_us, totals),
          .mean = interval(std::exp(all.log_ratio / all.calls), means)};
}

std::vector<LoopHappening> changes_of(const LoopRecord& record) {
  std::vector<LoopHappening> changes;
  for (const LoopHappening& one : record.happenings) {
    if (one.what == "change") changes.push_back(one);
  }
  return changes;
}

LoopDetection detection_of(const LoopRecord& record, const std::vector<LoopHappening>& changes,
                           const std::string& lane) {
  LoopDetection found{.lane = lane, .changes = changes.size()};
  // Number of the lane's first call that ended after each change.
  std::vector<std::int64_t> firsts(changes.size(), 0);
  for (const LoopRow& row : record.rows) {
    if (row.lane != lane) continue;
    ++found.calls;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (row.at_s <= changes[i].at_s) ++firsts[i];
    }
  }
  std::vector<bool> noticed(changes.size(), false);
  for (const LoopHappening& one : record.happenings) {
    if (one.what != "alarm" || one.label != lane) continue;
    const auto after = std::ranges::upper_bound(firsts, one.call);
    const auto period = static_cast<std::size_t>(after - firsts.begin());
    if (period == 0 || noticed[period - 1]) {
      ++found.false_alarms;
      continue;
    }
    noticed[period - 1] = true;
    const std::int64_t delay = one.call - firsts[period - 1] + 1;
    found.delays.push_back(static_cast<double>(delay));
    if (delay <= kSoonCalls) ++found.soon;
  }
  return found;
}

}  // namespace

LoopResults loop_results(const LoopRecord& record, const std::string& start, std::uint64_t seed) {
  LoopResults results;
  const std::vector<LoopHappening> changes = changes_of(record);
  std::vector<std::string> lanes;
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<std::string, const LoopRow*>> pairs;
  for (const LoopRow& row : record.rows) {
    if (std::ranges::find(lanes, row.lane) == lanes.end()) lanes.push_back(row.lane);
    pairs[{row.iteration, row.call}][row.lane] = &row;
    results.seconds = std::max(results.seconds, row.at_s);
    results.late += static_cast<std::size_t>(row.late);
  }
  std::ranges::sort(lanes);
  Random random = Random::stream(seed, {});
  for (const char* subject : {kAgentLane, kPolicyLane}) {
    for (const std::string& lane : lanes) {
      if (lane == subject) continue;
      std::map<BlockKey, Block> blocks;
      for (const auto& [place, rows] : pairs) {
        const auto own = rows.find(subject);
        const auto other = rows.find(lane);
        if (own == rows.end() || other == rows.end()) continue;
        const auto period = static_cast<std::size_t>(
            std::ranges::upper_bound(changes, own->second->at_s, {}, &LoopHappening::at_s) -
            changes.begin());
        Block& block = blocks[{period, place.first / kBlockIterations}];
        block.own_us += own->second->time_us;
        block.other_us += other->second->time_us;
        block.log_ratio += std::log(own->second->time_us / other->second->time_us);
        ++block.calls;
      }
      if (blocks.empty()) continue;
      std::map<std::string, std::vector<Block>> by_state;
      std::vector<Block> all;
      for (const auto& [key, block] : blocks) {
        all.push_back(block);
        by_state[key.first == 0 ? start : changes[key.first - 1].label].push_back(block);
      }
      const auto add = [&](const std::string& state, const std::vector<Block>& of) {
        results.comparisons.push_back(comparison_of(of, random));
        results.comparisons.back().subject = subject;
        results.comparisons.back().lane = lane;
        results.comparisons.back().state = state;
      };
      add("", all);
      for (const auto& [state, own] : by_state) add(state, own);
    }
  }
  if (results.comparisons.empty()) {
    throw UserError("the record has no call that the agent and another policy made");
  }
  for (const LoopAgreement& one : record.agreement) {
    results.detections.push_back(detection_of(record, changes, one.lane));
  }
  return results;
}

}  // namespace cclgym
