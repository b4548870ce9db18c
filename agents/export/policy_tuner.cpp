#include "agents/export/policy_tuner.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

#include "agents/export/deployed_setup.hpp"
#include "core/files/text_file.hpp"
#include "deploy/runtime/policy_runtime.h"

namespace cclgym {

namespace {

constexpr std::string_view kPolicyPrefix = "policy:";

struct FreeTunedPolicy {
  void operator()(cclgym_policy* policy) const { cclgym_policy_free(policy); }
};

// Number of a word "ranks=4" of a label; nullopt if it has none.
std::optional<int> number_in(std::string_view label, std::string_view key) {
  const std::string word = fmt::format(" {}=", key);
  const std::size_t at = label.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  int number = 0;
  for (const char c : label.substr(at + word.size())) {
    if (c < '0' || c > '9' || number > 100'000'000) break;
    number = 10 * number + (c - '0');
  }
  return number;
}

// True if a machine of a policy is like the fabric. A policy that was trained on a communicator of
// a job states its ranks and nodes in the label (TuningSetup::fabric_label).
bool is_machine(const std::string& label, const Fabric& fabric) {
  const std::size_t communicator = label.find(" communicator=");
  if (communicator != std::string::npos) {
    return label.substr(0, label.find(' ')) == fabric.name() &&
           number_in(label, "ranks") == fabric.ranks() &&
           number_in(label, "nodes") == fabric.servers();
  }
  try {
    const auto machine = make_fabric(fabric_of_label(label));
    return machine->name() == fabric.name() && machine->ranks() == fabric.ranks() &&
           machine->servers() == fabric.servers();
  } catch (const UserError&) {
    return false;  // a fabric file that is not here
  }
}

// Chooses by a policy. With no machine, it has no choice.
class PolicyTuner final : public Tuner {
 public:
  using Say = std::function<void(const std::string&)>;

  PolicyTuner(std::string name, const PolicyFile& file, const TunerSite& site, Say say)
      : name_(std::move(name)), say_(std::move(say)) {
    std::string machine;
    for (const std::string& label : machines_of_policy(file)) {
      if (machine.empty() && is_machine(label, *site.fabric)) machine = label;
    }
    if (machine.empty()) {
      report(
          fmt::format("{} was not trained on {} with {} ranks on {} nodes; it leaves the calls "
                      "there to the default. It has {}",
                      quoted(name_), site.fabric->name(), site.fabric->ranks(),
                      site.fabric->servers(), fmt::join(machines_of_policy(file), ", ")));
      return;
    }
    const std::string bytes = format_policy(file);
    cclgym_policy* policy = nullptr;
    char error[300] = "";
    if (cclgym_policy_parse(bytes.data(), bytes.size(), &policy, error, sizeof(error)) !=
        CCLGYM_POLICY_OK) {
      throw UserError(site.where, fmt::format("{}: {}", name_, error));
    }
    policy_.reset(policy);
    const std::vector<std::string> collectives = collectives_of_policy(file, machine);
    const GivenMachine given{site.fabric, machine, site.cost_model};
    setup_ = read_tuning_setup(
        parse_yaml("{" + options_of_policy(file, collectives) + "}", "policy " + quoted(name_)),
        AlgorithmLibrary::shipped(), nullptr, &given);
    for (const CollectiveKind kind : all_collectives()) {
      rules_.push_back(
          cclgym_policy_rules(policy, machine.c_str(), std::string(to_string(kind)).c_str()));
    }
    timer_ = std::make_unique<CallTimer>(setup_->site, setup_->cache, setup_->timers);
    oracle_ = std::make_unique<TuningOracle>(setup_->actions, *timer_, setup_->oracle_table);
    observer_ = std::make_unique<CallObserver>(*setup_, *timer_, *oracle_);
    if (cclgym_policy_observation_size(policy) != observer_->observation().size() ||
        cclgym_policy_knobs(policy) != setup_->actions->knobs().size()) {
      throw UserError(site.where, fmt::format("{} was trained with options that its file does not "
                                              "state, so that its observations cannot be made",
                                              quoted(name_)));
    }
    state_.resize(cclgym_policy_state_bytes(policy));
  }

  [[nodiscard]] bool chooses_for(CollectiveKind collective) const override {
    if (!setup_) return false;
    if (rules_[static_cast<std::size_t>(collective)] >= 0 &&
        setup_->actions->legal_count(collective) > 0) {
      return true;
    }
    const std::size_t i = static_cast<std::size_t>(collective);
    if (reported_.size() <= i) reported_.resize(all_collectives().size(), false);
    if (!reported_[i]) {
      report(fmt::format("{} was not trained for {}; it leaves such calls to the default",
                         quoted(name_), to_string(collective)));
    }
    reported_[i] = true;
    return false;
  }

  [[nodiscard]] Config choose(const Call& call) const override {
    (void)cclgym_policy_state_init(policy_.get(), state_.data(), state_.size());
    observer_->start();
    WorkloadCall next{.call = call, .context = {}};
    next.context.ends_step = true;
    std::vector<float> seen(observer_->observation().size());
    std::vector<std::int32_t> action(setup_->actions->knobs().size());
    for (int again = 0; again <= setup_->window; ++again) {
      observer_->write(next, seen);
      const int status =
          cclgym_policy_decide(policy_.get(), state_.data(), seen.data(), seen.size(),
                               rules_[static_cast<std::size_t>(call.collective)], nullptr, 0,
                               action.data(), action.size());
      if (status != CCLGYM_POLICY_OK || !setup_->actions->legal(call, action)) {
        report(fmt::format("{} has no legal action for {} of {} B; the default carries it out",
                           quoted(name_), to_string(call.collective), call.bytes));
        return full_config(setup_->site->algorithms, oracle_->reference(call));
      }
      observer_->finish(observer_->begin(call, action).time_s);
    }
    return full_config(setup_->site->algorithms, observer_->done().config);
  }

  [[nodiscard]] AlgorithmLibrary algorithms() const override {
    return setup_ ? setup_->site->algorithms : AlgorithmLibrary::shipped();
  }
  [[nodiscard]] std::string description() const override { return "a trained policy: " + name_; }

 private:
  void report(const std::string& sentence) const {
    if (say_) say_(sentence);
  }

  std::string name_;
  Say say_;
  std::unique_ptr<cclgym_policy, FreeTunedPolicy> policy_;
  std::shared_ptr<const TuningSetup> setup_;
  std::vector<int> rules_;  // by collective
  std::unique_ptr<CallTimer> timer_;
  std::unique_ptr<TuningOracle> oracle_;
  // Decisions need scratch memory; they start from the same state, so choices are constant.
  std::unique_ptr<CallObserver> observer_;
  mutable std::vector<unsigned char> state_;
  mutable std::vector<bool> reported_;
};

}  // namespace

bool is_policy_tuner(std::string_view name) { return name.starts_with(kPolicyPrefix); }

std::unique_ptr<const Tuner> make_policy_tuner(std::string_view name, const TunerSite& site,
                                               const std::function<void(const std::string&)>& say) {
  const std::string path(name.substr(std::min(name.size(), kPolicyPrefix.size())));
  try {
    return std::make_unique<PolicyTuner>(
        std::string(name), parse_policy(read_text_file(path, kMostPolicyBytes), path), site, say);
  } catch (const UserError& error) {
    const std::string place = site.where.to_string();
    if (std::string_view(error.what()).starts_with(place) || place.empty()) throw;
    throw UserError(site.where, error.what());
  }
}

std::function<std::unique_ptr<const Tuner>(const std::string&, const TunerSite&)>
policy_tuner_maker(std::function<void(const std::string&)> say) {
  return [say = std::move(say)](const std::string& name,
                                const TunerSite& site) -> std::unique_ptr<const Tuner> {
    if (!is_policy_tuner(name)) return nullptr;
    return make_policy_tuner(name, site, say);
  };
}

}  // namespace cclgym
