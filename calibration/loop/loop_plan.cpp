#include "calibration/loop/loop_plan.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/core.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"
#include "deploy/loop/table_learner.hpp"
#include "env/tuning/workload/workload.hpp"
#include "experiments/measured/measured_file.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"

namespace cclgym {

namespace {

constexpr double kUnmeasured = std::numeric_limits<double>::infinity();

// A sweep's times of one call.
using SweptTimes = std::vector<std::pair<MpiConfig, double>>;

std::optional<MpiConfig> config_of(const Measurement& row) {
  if (row.tuner == kMpiDefault) return MpiConfig{std::string(kMpiDefault), 0, 0};
  if (!row.named) return std::nullopt;
  const OpenMpiAlgorithm* algorithm =
      find_openmpi_algorithm(row.collective, row.named->algorithm, row.named->tile_bytes);
  if (algorithm == nullptr) return std::nullopt;
  return MpiConfig{std::string(algorithm->algorithm), algorithm->number, row.named->tile_bytes};
}

/// A sweep's rows, with its place in the loop's file.
struct Sweep {
  std::string path;
  SourceLocation where;
  std::vector<Measurement> rows{};
};

Sweep read_sweep(const std::string& path, const SourceLocation& where) {
  if (!std::filesystem::is_regular_file(path)) {
    throw UserError(where, fmt::format("there is no file '{}'; expected a CSV of calibrate", path));
  }
  try {
    return {.path = path, .where = where, .rows = read_measured_file(path)};
  } catch (const UserError& fault) {
    throw UserError(where, fault.what());
  }
}

SweptTimes times_of(const Sweep& sweep, const LoopCallSpec& call, int& ranks) {
  SweptTimes times;
  for (const Measurement& row : sweep.rows) {
    if (row.collective != call.collective || row.bytes != call.bytes) continue;
    if (ranks == 0) ranks = row.ranks;
    if (row.ranks != ranks) {
      throw UserError(sweep.where, fmt::format("'{}' has rows of {} and of {} ranks; expected "
                                               "sweeps of the ranks of the loop",
                                               sweep.path, ranks, row.ranks));
    }
    if (const auto config = config_of(row)) {
      times.emplace_back(*config, row.samples_s.empty() ? row.time_s : usual_time(row.samples_s));
    }
  }
  if (times.empty()) {
    throw UserError(sweep.where,
                    fmt::format("'{}' has no row of {} of {}; measure it with cclgym calibrate mpi",
                                sweep.path, to_string(call.collective), format_bytes(call.bytes)));
  }
  return times;
}

double time_in(const SweptTimes& times, const MpiConfig& config) {
  const auto found = std::ranges::find(times, config, &SweptTimes::value_type::first);
  return found == times.end() ? kUnmeasured : found->second;
}

double least_time(const SweptTimes& times) {
  double least = kUnmeasured;
  for (const auto& [config, time_s] : times) least = std::min(least, time_s);
  return least;
}

std::uint16_t least_place(const std::vector<double>& values) {
  return static_cast<std::uint16_t>(std::ranges::min_element(values) - values.begin());
}

// Expected time of a configuration, s: that of the prior; 0 if it has none. A segment as large as
// the call does not divide it.
double expected_time(const SweptTimes& known, const MpiConfig& config, std::uint64_t bytes) {
  MpiConfig swept = config;
  if (swept.segment_bytes >= bytes) swept.segment_bytes = 0;
  const auto found = std::ranges::find_if(known, [&](const SweptTimes::value_type& one) {
    return one.first.algorithm == swept.algorithm && one.first.segment_bytes == swept.segment_bytes;
  });
  return found == known.end() ? 0 : found->second;
}

// Adds the lanes of the policy. Its configurations are appended to those of the calls, with an
// unknown prior, so that they are no candidates of the agent.
void add_policy(const LoopConfig& config, const PolicyFile& file, const Sweep& prior,
                LoopPlan& plan) {
  const auto policy = std::make_shared<const LoopPolicy>(file, *config.policy, plan.ranks);
  const double within = config.policy->within;
  std::vector<ChooserClass> classes;
  for (LoopPlanCall& planned : plan.calls) {
    const SweptTimes known = times_of(prior, planned.call, plan.ranks);
    const std::vector<PolicyAction> actions = policy->actions(planned.call.collective);
    for (const PolicyAction& one : actions) {
      if (std::ranges::find(planned.configs, one.config) != planned.configs.end()) continue;
      planned.configs.push_back(one.config);
      planned.prior_s.push_back(kUnmeasured);
    }
    // The policy may lack the fastest configuration.
    double best_s = kUnmeasured;
    for (const PolicyAction& one : actions) best_s = std::min(best_s, time_in(known, one.config));
    ChooserClass& added = classes.emplace_back();
    added.call = {.collective = planned.call.collective,
                  .bytes = fitting_bytes(planned.call.collective, planned.call.bytes, plan.ranks),
                  .root = planned.call.root};
    for (const MpiConfig& one : planned.configs) {
      ChooserConfig& own = added.configs.emplace_back();
      own.expected_s = expected_time(known, one, planned.call.bytes);
      const auto action = std::ranges::find(actions, one, &PolicyAction::config);
      if (action != actions.end()) own.action = action->action;
      own.allowed = within <= 0 || time_in(known, one) <= within * best_s;
    }
  }
  plan.chooser = std::make_shared<PolicyChooser>(policy, std::move(classes));
  plan.lanes.push_back({.name = kPolicyFrozenLane, .table = plan.chooser->table()});
  plan.lanes.push_back(
      {.name = kPolicyLane, .closed = true, .asks = true, .table = plan.chooser->table()});
}

}  // namespace

LoopPlan plan_loop(const LoopConfig& config, const PolicyFile* policy) {
  const Sweep prior = read_sweep(config.prior, config.prior_where);
  std::vector<Sweep> sweeps;
  for (const LoopSweep& sweep : config.hindsight) {
    sweeps.push_back(read_sweep(sweep.measured, sweep.where));
  }
  LoopPlan plan;
  LoopLane by_default{.name = kDefaultLane};
  LoopLane frozen{.name = kFrozenLane, .closed = true, .frozen = true};
  LoopLane agent{.name = kAgentLane, .closed = true};
  LoopLane hindsight{.name = kHindsightLane};
  for (const LoopCallSpec& call : config.calls) {
    LoopPlanCall planned{.call = call, .configs = {{std::string(kMpiDefault), 0, 0}}};
    const SweptTimes known = times_of(prior, call, plan.ranks);
    std::vector<SweptTimes> swept;
    for (const Sweep& sweep : sweeps) swept.push_back(times_of(sweep, call, plan.ranks));
    if (call.root >= plan.ranks) {
      throw UserError(call.where, fmt::format("root is {}; expected a rank, 0 to {}", call.root,
                                              plan.ranks - 1));
    }
    const auto add_candidates = [&](const SweptTimes& times) {
      const double most_s = kCandidateFactor * least_time(times);
      for (const auto& [one, time_s] : times) {
        const bool listed = std::ranges::find(planned.configs, one) != planned.configs.end();
        if (time_s <= most_s && !listed) planned.configs.push_back(one);
      }
    };
    add_candidates(known);
    // Hindsight may choose what the prior would not consider.
    for (const SweptTimes& times : swept) add_candidates(times);
    std::vector<double> mean_s;
    for (const MpiConfig& one : planned.configs) {
      // Keeps what only hindsight knows from the agent.
      const double prior_s = time_in(known, one);
      const bool near = prior_s <= kCandidateFactor * least_time(known);
      planned.prior_s.push_back(near ? prior_s : kUnmeasured);
      mean_s.push_back(0);
      for (std::size_t i = 0; i < swept.size(); ++i) {
        mean_s.back() += config.hindsight[i].weight * time_in(swept[i], one);
      }
    }
    by_default.table.push_back(0);
    frozen.table.push_back(least_place(planned.prior_s));
    hindsight.table.push_back(least_place(mean_s));
    plan.calls.push_back(std::move(planned));
  }
  agent.table = frozen.table;
  plan.lanes = {by_default, frozen, agent};
  if (!sweeps.empty()) plan.lanes.push_back(hindsight);
  if (config.policy && policy != nullptr) add_policy(config, *policy, prior, plan);
  return plan;
}

std::string loop_request(const LoopConfig& config, const LoopPlan& plan) {
  using Json = nlohmann::ordered_json;
  Json calls = Json::array();
  for (const LoopPlanCall& planned : plan.calls) {
    Json configs = Json::array();
    for (const MpiConfig& one : planned.configs) {
      configs.push_back({one.number, one.segment_bytes});
    }
    Json prior = Json::array();
    for (const double time_s : planned.prior_s) {
      prior.push_back(std::isfinite(time_s) ? Json(time_s) : Json(nullptr));
    }
    calls.push_back({{"collective", to_string(planned.call.collective)},
                     {"bytes", planned.call.bytes},
                     {"root", planned.call.root},
                     {"configs", configs},
                     {"prior_s", prior}});
  }
  Json lanes = Json::array();
  for (const LoopLane& lane : plan.lanes) {
    lanes.push_back({{"name", lane.name},
                     {"closed", lane.closed},
                     {"frozen", lane.frozen},
                     {"asks", lane.asks},
                     {"table", lane.table}});
  }
  Json request{{"seconds", config.seconds},
               {"compute_us", std::lround(config.compute_s * 1e6)},
               {"seed", config.seed},
               {"interface", config.interface},
               {"calls", calls},
               {"lanes", lanes}};
  if (config.trigger) {
    request["trigger"] = {
        {"sigma", config.trigger->sigma},         {"units", config.trigger->units},
        {"threshold", config.trigger->threshold}, {"confirm", config.trigger->confirm},
        {"pause", config.trigger->pause},         {"weights", config.trigger->weights}};
  }
  return request.dump();
}

}  // namespace cclgym
