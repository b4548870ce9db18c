#include "agents/export/deployed_machine.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "deploy/runtime/policy_runtime.h"

namespace cclgym {

namespace {

static_assert(kDeployedCollectives.size() == kNcclCollectiveNames.size());

struct FreePolicy {
  void operator()(cclgym_policy* policy) const { cclgym_policy_free(policy); }
};

// Runs the policy on one machine without noise.
class Distiller {
 public:
  Distiller(const PolicyFile& file, const TuningSetup& setup, const RecordedTimes& times)
      : setup_(setup),
        times_(times),
        timer_(setup.site, setup.cache),
        oracle_(setup.actions, timer_),
        observation_(*setup.site, setup.fabric, setup.actions,
                     {.window = static_cast<std::size_t>(setup.window),
                      .action_features = setup.action_features,
                      .prior = setup.estimate_features ? setup.prior : nullptr,
                      .counters = setup.nic_counters != nullptr,
                      .groups = setup.feature_groups}) {
    const std::string bytes = format_policy(file);
    cclgym_policy* policy = nullptr;
    char error[300] = "";
    if (cclgym_policy_parse(bytes.data(), bytes.size(), &policy, error, sizeof(error)) !=
        CCLGYM_POLICY_OK) {
      throw UserError(error);
    }
    policy_.reset(policy);
    if (cclgym_policy_observation_size(policy) != observation_.size() ||
        cclgym_policy_knobs(policy) != setup.actions->knobs().size()) {
      throw UserError(
          "the policy was trained for other observations or actions than this machine has");
    }
    state_.resize(cclgym_policy_state_bytes(policy));
    action_.resize(setup.actions->knobs().size());
  }

  [[nodiscard]] int rules_of(std::size_t collective) const {
    return cclgym_policy_rules(policy_.get(), setup_.fabric_label.c_str(),
                               std::string(kNcclCollectiveNames[collective]).c_str());
  }
  [[nodiscard]] std::size_t features() const { return observation_.size(); }
  [[nodiscard]] int calls() const { return setup_.window + 1; }
  [[nodiscard]] int recorded_calls() const { return recorded_calls_; }

  // Repeats a call calls() times, appends the observation before each call to `seen`, and returns
  // the last action; empty if the policy cannot decide.
  std::span<const std::int32_t> choose(std::size_t collective, std::uint64_t bytes, int rules,
                                       std::vector<float>& seen) {
    (void)cclgym_policy_state_init(policy_.get(), state_.data(), state_.size());
    observation_.start();
    WorkloadCall next{.call = {.collective = kDeployedCollectives[collective], .bytes = bytes},
                      .context = {}};
    next.context.ends_step = true;
    for (int again = 0; again < calls(); ++again) {
      const std::size_t at = seen.size();
      seen.resize(at + features());
      const std::span now(seen.data() + at, features());
      observation_.write(next, now);
      if (cclgym_policy_decide(policy_.get(), state_.data(), now.data(), now.size(), rules, nullptr,
                               0, action_.data(), action_.size()) != CCLGYM_POLICY_OK) {
        return {};
      }
      observe(collective, next.call, again);
    }
    return action_;
  }

 private:
  void observe(std::size_t collective, const Call& call, int again) {
    ObservedCall done{.call = call, .config = oracle_.config(call, action_)};
    done.time_s = done.expected_s = timer_.time(call, done.config).time_s;
    if (const auto time_s = recorded(collective, call, again)) {
      done.time_s = *time_s;
      ++recorded_calls_;
    }
    done.set_knobs(*setup_.actions, action_);
    observation_.observe(done);
  }

  // Recorded time of the call in a job: number `again` among its last times.
  [[nodiscard]] std::optional<double> recorded(std::size_t collective, const Call& call,
                                               int again) const {
    const TuningActions& actions = *setup_.actions;
    std::optional<int> algorithm;
    std::optional<int> protocol;
    for (std::size_t i = 0; i < action_.size(); ++i) {
      const Knob knob = actions.knobs()[i];
      const std::string& level = actions.levels(knob)[static_cast<std::size_t>(action_[i])];
      if (knob == Knob::Algorithm) algorithm = nccl_algorithm_of_ours(level);
      if (knob == Knob::Protocol) protocol = nccl_protocol_of(level);
    }
    if (!algorithm || !protocol) return std::nullopt;
    const std::span<const double> all =
        times_.of(static_cast<int>(collective), call.bytes, *algorithm, *protocol);
    if (all.empty()) return std::nullopt;
    const auto wanted = static_cast<std::size_t>(calls() - again);
    return all[all.size() - std::min(wanted, all.size())];
  }

  const TuningSetup& setup_;
  const RecordedTimes& times_;
  CallTimer timer_;
  TuningOracle oracle_;
  TuningObservation observation_;
  std::unique_ptr<cclgym_policy, FreePolicy> policy_;
  std::vector<unsigned char> state_;
  std::vector<std::int32_t> action_;
  int recorded_calls_ = 0;
};

}  // namespace

DeployedChoices deployed_choices(const PolicyFile& policy, const TuningSetup& setup,
                                 const RecordedTimes& times) {
  Distiller distiller(policy, setup, times);
  const Fabric& fabric = *setup.site->fabrics.front();
  DeployedChoices deployed;
  deployed.machine.label = setup.fabric_label;
  deployed.machine.ranks = static_cast<std::uint32_t>(fabric.ranks());
  deployed.machine.nodes = static_cast<std::uint32_t>(fabric.servers());
  bool any = false;
  for (std::size_t i = 0; i < kDeployedCollectives.size(); ++i) {
    const int rules = distiller.rules_of(i);
    if (setup.actions->legal_count(kDeployedCollectives[i]) == 0 || rules < 0) continue;
    DeployedGrid grid{.sizes = {},
                      .calls = static_cast<std::uint32_t>(distiller.calls()),
                      .features = static_cast<std::uint32_t>(distiller.features()),
                      .seen = {}};
    for (const std::uint64_t size : deployed_sizes()) {
      const std::uint64_t bytes = fitting_bytes(kDeployedCollectives[i], size, fabric.ranks());
      // Small calls of many ranks are rounded up to a common size.
      if (!grid.sizes.empty() && bytes <= grid.sizes.back()) continue;
      const auto action = distiller.choose(i, bytes, rules, grid.seen);
      if (action.empty()) break;
      grid.sizes.push_back(bytes);
      deployed.actions[i].emplace_back(action.begin(), action.end());
    }
    grid.seen.resize(grid.sizes.size() * grid.calls * grid.features);
    if (grid.sizes.empty()) continue;
    deployed.machine.grids[i] = std::move(grid);
    any = true;
  }
  if (!any) {
    throw UserError("the policy has no rules for NCCL's collectives on '" + setup.fabric_label +
                    "'");
  }
  deployed.recorded_calls = distiller.recorded_calls();
  return deployed;
}

}  // namespace cclgym
