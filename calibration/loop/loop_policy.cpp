#include "calibration/loop/loop_policy.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "agents/export/deployed_setup.hpp"
#include "core/error.hpp"
#include "deploy/runtime/mask_tree.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kOpenMpiActions = "openmpi";

int ranks_of(const std::string& label) { return make_fabric(fabric_of_label(label))->ranks(); }

// Label of the machine on which the policy decides.
std::string machine_label(const PolicyFile& file, const LoopPolicySpec& spec, int ranks) {
  const std::vector<std::string> known = machines_of_policy(file);
  std::vector<std::string> fitting;
  for (const std::string& label : known) {
    if (ranks_of(label) == ranks) fitting.push_back(label);
  }
  if (!spec.machine.empty()) {
    const std::string* found = find_fabric_label(known, spec.machine);
    if (found == nullptr) {
      throw UserError(spec.machine_where, unknown_name_message("machine", spec.machine, known));
    }
    if (std::ranges::find(fitting, *found) != fitting.end()) return *found;
    throw UserError(spec.machine_where,
                    fmt::format("machine '{}' has {} ranks; the sweeps are of {}", *found,
                                ranks_of(*found), ranks));
  }
  if (fitting.size() == 1) return fitting.front();
  throw UserError(spec.where,
                  fmt::format("{} of the machines of '{}' have {} ranks, as the sweeps: "
                              "{}; expected one, or its name under machine",
                              fitting.empty() ? "none" : "several", spec.file, ranks,
                              fmt::join(fitting.empty() ? known : fitting, ", ")));
}

}  // namespace

LoopPolicy::LoopPolicy(const PolicyFile& file, const LoopPolicySpec& spec, int ranks)
    : file_(file), where_(spec.where) {
  const PolicyFileText* profile = file.text("action_profile");
  const std::string actions = profile == nullptr ? "" : profile->text;
  if (actions != kOpenMpiActions) {
    throw UserError(
        where_,
        fmt::format("'{}' has {}; expected a policy that was trained with 'actions: {}'", spec.file,
                    actions.empty() ? "no actions" : "actions " + quoted(actions),
                    kOpenMpiActions));
  }
  const std::string label = machine_label(file, spec, ranks);
  try {
    setup_ = setup_of_label(file, {label, label}, spec.cost_model);
  } catch (const UserError& error) {
    throw UserError(spec.cost_model_where, error.what());
  }
  parse();
  const CollectiveTuningEnv environment(setup_);
  if (cclgym_policy_observation_size(policy_.get()) != environment.observation().size() ||
      cclgym_policy_knobs(policy_.get()) != setup_->actions->knobs().size()) {
    throw UserError(where_, fmt::format("'{}' was trained for other observations or actions than "
                                        "machine '{}' has",
                                        spec.file, label));
  }
}

void LoopPolicy::parse() {
  const std::string bytes = format_policy(file_);
  cclgym_policy* policy = nullptr;
  char error[300] = "";
  if (cclgym_policy_parse(bytes.data(), bytes.size(), &policy, error, sizeof(error)) !=
      CCLGYM_POLICY_OK) {
    throw UserError(where_, error);
  }
  policy_.reset(policy);
}

std::shared_ptr<const LoopPolicy> LoopPolicy::for_classes(
    std::span<const AllowedActions> classes) const {
  const std::shared_ptr<LoopPolicy> own(new LoopPolicy);
  own->file_ = file_;
  own->where_ = where_;
  own->setup_ = setup_;
  const auto name = [](std::size_t group) { return fmt::format("class-{}", group); };
  for (std::size_t group = 0; group < classes.size(); ++group) {
    AllowedActions sorted = classes[group];
    std::ranges::sort(sorted);
    std::vector<std::int32_t> actions;
    for (const auto& one : sorted) actions.insert(actions.end(), one.begin(), one.end());
    own->file_.tables.push_back(
        {fmt::format("masks/{}/{}", setup_->fabric_label, name(group)),
         mask_tree_values(make_mask_tree(actions, setup_->actions->knobs().size()))});
  }
  own->parse();
  for (std::size_t group = 0; group < classes.size(); ++group) {
    own->rules_.push_back(
        cclgym_policy_rules(own->policy_.get(), setup_->fabric_label.c_str(), name(group).c_str()));
  }
  return own;
}

std::vector<PolicyAction> LoopPolicy::actions(CollectiveKind collective) const {
  if (cclgym_policy_rules(policy_.get(), setup_->fabric_label.c_str(),
                          std::string(to_string(collective)).c_str()) < 0) {
    throw UserError(where_, fmt::format("the policy was not trained for {} on '{}'",
                                        to_string(collective), setup_->fabric_label));
  }
  const TuningActions& actions = *setup_->actions;
  const std::span<const std::int32_t> all = actions.legal_actions(collective);
  const std::size_t knobs = actions.knobs().size();
  std::vector<PolicyAction> legal;
  for (std::size_t i = 0; i < all.size(); i += knobs) {
    const auto action = all.subspan(i, knobs);
    PolicyAction one{.action = {action.begin(), action.end()},
                     .config = {std::string(kMpiDefault), 0, 0}};
    if (!actions.tuner_of(action)) {
      const Config config = full_config(actions.algorithms(), actions.config(collective, action));
      const OpenMpiAlgorithm* algorithm =
          find_openmpi_algorithm(collective, config.algorithm, config.tile_bytes);
      if (algorithm == nullptr) throw std::logic_error("an action of OpenMPI has no algorithm");
      one.config = {std::string(algorithm->algorithm), algorithm->number, config.tile_bytes};
    }
    legal.push_back(std::move(one));
  }
  return legal;
}

void LoopPolicy::start(std::span<unsigned char> state) const {
  (void)cclgym_policy_state_init(policy_.get(), state.data(), state.size());
}

void LoopPolicy::decide(std::span<unsigned char> state, std::span<const float> observation,
                        std::size_t group, std::span<std::int32_t> action) const {
  const int status =
      cclgym_policy_decide(policy_.get(), state.data(), observation.data(), observation.size(),
                           rules_.at(group), nullptr, 0, action.data(), action.size());
  if (status != CCLGYM_POLICY_OK) {
    throw std::logic_error(fmt::format("the policy cannot decide: status {}", status));
  }
}

}  // namespace cclgym
