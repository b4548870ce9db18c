#include "agents/tuner_csv.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "deploy/policy_runtime.h"
#include "sim/noise_random.hpp"

namespace cclgym {

namespace {

constexpr std::array kCollectives{CollectiveKind::Broadcast, CollectiveKind::Reduce,
                                  CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                                  CollectiveKind::AllReduce};
// Our name, and that of NCCL's example tuner.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kAlgorithms{
    {{"tree", "tree"},
     {"ring", "ring"},
     {"pat", "pat"},
     {"nvls", "nvls"},
     {"nvls-tree", "nvls_tree"}}};
constexpr std::uint64_t kLeast = 256;
constexpr int kSteps = 100;  // of 2^(1/4): up to 8 GiB

struct FreePolicy {
  void operator()(cclgym_policy* policy) const { cclgym_policy_free(policy); }
};

// The policy at work on one machine without noise.
class Distiller {
 public:
  Distiller(const PolicyFile& file, const TuningSetup& setup)
      : setup_(setup),
        timer_(setup.site, setup.cache),
        oracle_(setup.actions, timer_),
        observation_(*setup.site, setup.fabric, setup.actions->knobs(),
                     static_cast<std::size_t>(setup.window)) {
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
      throw UserError("the policy is for other observations or actions than this machine has");
    }
    state_.resize(cclgym_policy_state_bytes(policy));
    seen_.resize(observation_.size());
    action_.resize(setup.actions->knobs().size());
  }

  // The action for a call that was made some times; empty: no rules for it.
  std::span<const std::int32_t> choose(const Call& call) {
    const int rules = cclgym_policy_rules(policy_.get(), setup_.fabric_label.c_str(),
                                          std::string(to_string(call.collective)).c_str());
    if (rules < 0) return {};
    (void)cclgym_policy_state_init(policy_.get(), state_.data(), state_.size());
    observation_.start();
    WorkloadCall next{.call = call, .context = {}};
    next.context.ends_step = true;
    for (int again = 0; again <= setup_.window; ++again) {
      observation_.write(next, seen_);
      if (cclgym_policy_decide(policy_.get(), state_.data(), seen_.data(), seen_.size(), rules,
                               nullptr, 0, action_.data(), action_.size()) != CCLGYM_POLICY_OK) {
        return {};
      }
      ObservedCall done{.call = call, .config = oracle_.config(call, action_)};
      done.time_s = done.expected_s = timer_.time(call, done.config).time_s;
      for (std::size_t i = 0; i < action_.size(); ++i) {
        const Knob knob = setup_.actions->knobs()[i];
        const std::size_t last = setup_.actions->levels(knob).size() - 1;
        done.knobs[static_cast<std::size_t>(knob)] =
            last > 0 ? static_cast<float>(action_[i]) / static_cast<float>(last) : 0.0F;
      }
      observation_.observe(done);
    }
    return action_;
  }

 private:
  const TuningSetup& setup_;
  CallTimer timer_;
  TuningOracle oracle_;
  TuningObservation observation_;
  std::unique_ptr<cclgym_policy, FreePolicy> policy_;
  std::vector<unsigned char> state_;
  std::vector<float> seen_;
  std::vector<std::int32_t> action_;
};

// "ring,ll128,8"; nothing: a line cannot say it.
std::optional<std::string> sayable(const TuningActions& actions,
                                   std::span<const std::int32_t> action) {
  std::string algorithm;
  std::string protocol;
  std::string channels;
  for (std::size_t i = 0; i < action.size(); ++i) {
    const Knob knob = actions.knobs()[i];
    const std::string& level = actions.levels(knob)[static_cast<std::size_t>(action[i])];
    if (knob == Knob::Algorithm) {
      const auto found =
          std::ranges::find(kAlgorithms, level, [](const auto& a) { return a.first; });
      if (found == kAlgorithms.end()) return std::nullopt;
      algorithm = found->second;
    } else if (knob == Knob::Protocol) {
      protocol = level;
      std::ranges::transform(protocol, protocol.begin(), [](char c) {
        return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      });
    } else if (knob == Knob::Channels) {
      channels = level;
    } else if (action[i] != 0) {
      return std::nullopt;
    }
  }
  return algorithm + "," + protocol + "," + channels;
}

}  // namespace

TunerCsv tuner_csv(const PolicyFile& policy, const TuningSetup& setup) {
  Distiller distiller(policy, setup);
  const Fabric& fabric = *setup.site->fabrics.front();
  TunerCsv csv;
  csv.text = fmt::format(
      "# {}: distilled by cclgym export; for NCCL's example tuner plugin (NCCL_TUNER_CONFIG_FILE)\n"
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n",
      setup.fabric_label);
  bool any = false;
  for (const CollectiveKind collective : kCollectives) {
    if (setup.actions->legal_count(collective) == 0) continue;
    struct Range {
      std::uint64_t from;
      std::optional<std::string> choice;
      std::string wish;
    };
    std::vector<Range> ranges;
    for (int step = 0; step <= kSteps; ++step) {
      const double size =
          static_cast<double>(kLeast) * portable_exp(0.25 * step * 0.69314718055994530942);
      const std::uint64_t bytes =
          fitting_bytes(collective, static_cast<std::uint64_t>(size + 0.5), fabric.ranks());
      const auto action = distiller.choose({.collective = collective, .bytes = bytes});
      if (action.empty()) break;
      any = true;
      Range next{step == 0 ? 0 : bytes, sayable(*setup.actions, action),
                 setup.actions->describe(action)};
      const bool same = !ranges.empty() && ranges.back().choice == next.choice &&
                        (next.choice || ranges.back().wish == next.wish);
      if (!same) ranges.push_back(std::move(next));
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const std::uint64_t to =
          i + 1 < ranges.size() ? ranges[i + 1].from - 1 : std::uint64_t{1} << 40U;
      if (ranges[i].choice) {
        csv.text += fmt::format("{},{},{},{},{},{}\n", to_string(collective), ranges[i].from, to,
                                *ranges[i].choice, fabric.servers(), fabric.ranks());
        ++csv.lines;
      } else {
        csv.text += fmt::format("# {} {}..{}: left to NCCL; the policy chooses {}\n",
                                to_string(collective), ranges[i].from, to, ranges[i].wish);
        ++csv.left_out;
      }
    }
  }
  if (!any) {
    throw UserError("the policy has no rules for NCCL's collectives on '" + setup.fabric_label +
                    "'");
  }
  return csv;
}

}  // namespace cclgym
