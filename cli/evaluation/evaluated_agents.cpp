#include "cli/evaluation/evaluated_agents.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "agents/training/checkpoint.hpp"
#include "agents/training/learned_policy.hpp"
#include "agents/trigger/retuning_policy.hpp"
#include "agents/trigger/trigger_file.hpp"
#include "core/files/text_file.hpp"
#include "core/hash.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kMaxTriggerFile = std::size_t{64} << 20;

}  // namespace

std::vector<SeedTrigger> triggers_of(const AgentRun& run) {
  std::vector<SeedTrigger> triggers;
  for (const std::uint64_t seed : run.seeds) {
    const std::string path = trigger_path(run.folder, seed);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    for (TrainedTrigger& one : load_trained_triggers(path)) {
      triggers.push_back({.seed = seed, .trained = std::move(one)});
    }
  }
  return triggers;
}

std::vector<EvaluatedPolicy> agents_of(const std::shared_ptr<const AgentRun>& run) {
  const auto trained = [run](std::uint64_t seed) {
    const bool own = std::ranges::find(run->seeds, seed) != run->seeds.end();
    return own ? seed : run->seeds[seed % run->seeds.size()];
  };
  const std::string agent = run->config.agent_name();
  std::vector<EvaluatedPolicy> policies{
      {.name = agent, .make = [=](std::uint64_t seed) -> std::unique_ptr<Policy> {
         return std::make_unique<LearnedPolicy>(load_agent(*run, trained(seed)).weights, agent);
       }}};
  using SeedTriggers = std::map<std::uint64_t, std::vector<TriggerOf>>;
  SeedTriggers cusums;
  SeedTriggers learned;
  for (const std::uint64_t seed : run->seeds) cusums[seed] = learned[seed] = {};
  for (const SeedTrigger& one : triggers_of(*run)) {
    (one.trained.trigger.learned ? learned : cusums)[one.seed].push_back(one.trained.trigger);
  }
  const auto all_have = [](const SeedTriggers& triggers) {
    return std::ranges::none_of(triggers, [](const auto& one) { return one.second.empty(); });
  };
  const auto retuning = [&](const std::string& name, const SeedTriggers& triggers) {
    policies.push_back({.name = name, .make = [=](std::uint64_t seed) -> std::unique_ptr<Policy> {
                          const std::uint64_t which = trained(seed);
                          const auto own = triggers.find(which);
                          return std::make_unique<RetuningPolicy>(
                              load_agent(*run, which).weights,
                              own != triggers.end() ? own->second : std::vector<TriggerOf>{}, name);
                        }});
  };
  if (all_have(cusums)) retuning(agent + "+trigger", cusums);
  if (all_have(learned)) retuning(agent + "+lstm-trigger", learned);
  if (policies.size() > 1) retuning(agent + " frozen", {});
  return policies;
}

std::string hash_of(const AgentRun& run) {
  TextHash hash;
  hash.add(run.config.hash());
  for (const std::uint64_t seed : run.seeds) {
    hash.add(load_checkpoint_bytes(checkpoint_path(run.folder, seed)));
    const std::string triggers = trigger_path(run.folder, seed);
    std::error_code error;
    if (std::filesystem::exists(triggers, error))
      hash.add(read_text_file(triggers, kMaxTriggerFile));
  }
  return hash.hex();
}

}  // namespace cclgym
