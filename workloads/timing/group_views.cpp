#include "workloads/timing/group_views.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "core/split.hpp"
#include "sim/call/config_options.hpp"
#include "sim/call/tiles.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

namespace {

// Always the same program, protocol and channels, where they can carry out the call.
class OneConfiguration final : public Tuner {
 public:
  OneConfiguration(const CostModel& model, Config config, AlgorithmLibrary library)
      : model_(model), config_(std::move(config)), library_(std::move(library)) {}
  [[nodiscard]] Config choose(const Call& call) const override {
    return with_protocol_tiles(model_, call.collective, config_);
  }
  [[nodiscard]] bool chooses_for(CollectiveKind collective) const override {
    return supports(library_.at(config_.algorithm), collective);
  }
  [[nodiscard]] AlgorithmLibrary algorithms() const override { return library_; }
  [[nodiscard]] std::string description() const override { return "one configuration"; }

 private:
  CostModel model_;
  Config config_;
  AlgorithmLibrary library_;
};

// Reads "ring/LL128/8".
std::unique_ptr<const Tuner> one_configuration(const std::string& text, const CostModel& model) {
  const SourceLocation where{.file = "tuner " + text};
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  library.add_spelled(text.substr(0, text.find('/')), where);
  Config config = read_short_config(text, library, where);
  return std::make_unique<OneConfiguration>(model, std::move(config), std::move(library));
}

}  // namespace

std::string default_job_tuner(const Fabric& fabric) {
  const GpuModel* gpu = find_gpu_model(fabric.gpu_model());
  if (gpu == nullptr) return "ring/Simple/1";
  return gpu->vendor == GpuVendor::Amd ? "rccl-default" : "nccl-default:2.18";
}

GroupViews::GroupViews(std::shared_ptr<const Fabric> fabric, CostModel model)
    : fabric_(std::move(fabric)), model_(std::move(model)) {
  // Bursts depend on how long a link was idle before the call.
  model_.network_burst_bytes = 0;
  for (int rank = 0; rank < fabric_->ranks(); ++rank) all_.push_back(rank);
}

void GroupViews::set_tuners(const JobGraph& job, JobTuners tuners) {
  tuners_ = std::move(tuners);
  if (tuners_.job.empty()) tuners_.job = default_job_tuner(*fabric_);
  names_.clear();
  choices_.clear();
  places_.clear();
  for (const Communicator& communicator : job.communicators) {
    names_.push_back(communicator.name);
    const auto own = tuners_.communicator.find(communicator.name);
    if (own == tuners_.communicator.end() && communicator.tuner_place.line > 0) {
      places_.emplace(communicator.tuner, communicator.tuner_place);
    }
    choices_.push_back(own != tuners_.communicator.end() ? own->second
                       : communicator.tuner.empty()      ? tuners_.job
                                                         : communicator.tuner);
  }
  const auto check = [this](const std::string& name) {
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) return;
    if (names_.empty()) {
      throw UserError(fmt::format(
          "found a tuner for communicator {}, but the job has no communicators; leave it out",
          quoted(name)));
    }
    throw UserError(unknown_name_message("communicator", name, names_));
  };
  for (const auto& [name, choice] : tuners_.communicator) check(name);
  for (const auto& [call, config] : tuners_.calls) check(call.communicator);
}

void GroupViews::check_choices(const JobGraph& job) {
  const std::vector<std::int32_t>* any = nullptr;
  std::vector<const std::vector<std::int32_t>*> members(
      choices_.size());  // a group with several ranks
  for (const ProcessGroup& group : job.groups) {
    if (group.ranks.size() < 2) continue;
    if (any == nullptr) any = &group.ranks;
    if (members[at(group.communicator)] == nullptr) members[at(group.communicator)] = &group.ranks;
  }
  std::vector<std::int32_t> two(all_.begin(),
                                all_.begin() + std::min<std::ptrdiff_t>(2, std::ssize(all_)));
  if (any == nullptr) any = &two;
  const auto check = [&](const std::string& choice, const std::vector<std::int32_t>* ranks) {
    if (made_.contains(choice) || choice == default_job_tuner(*fabric_)) return;
    (void)tuner(of(ranks == nullptr ? *any : *ranks), choice);
  };
  for (std::size_t i = 0; i < choices_.size(); ++i) check(choices_[i], members[i]);
  check(tuners_.job, nullptr);
}

GroupViews::~GroupViews() = default;

std::shared_ptr<const Fabric> GroupViews::bound_fabric(NicUse use) {
  if (use == NicUse::Fabric) return fabric_;
  return of({all_.begin(), all_.end()}).simulator->fabric_for(use);
}

GroupView& GroupViews::of(const std::vector<std::int32_t>& ranks) {
  std::unique_ptr<GroupView>& view = views_[ranks];
  if (!view) {
    view = std::make_unique<GroupView>();
    const std::vector<int> members(ranks.begin(), ranks.end());
    view->ranks = ranks;
    view->fabric = members == all_ ? fabric_ : fabric_->with_ranks(members);
    view->simulator = std::make_unique<Simulator>(view->fabric, model_, "flow");
  }
  return *view;
}

std::unique_ptr<const Tuner> GroupViews::made(const std::string& choice,
                                              const TunerSite& site) const {
  if (is_tuner(choice)) return make_tuner(choice, site);
  std::unique_ptr<const Tuner> own;
  if (tuners_.make) own = tuners_.make(choice, site);
  return own ? std::move(own) : one_configuration(choice, model_);
}

const Tuner& GroupViews::tuner(GroupView& view, const std::string& choice) {
  std::unique_ptr<const Tuner>& known = view.tuners[choice];
  if (!known) {
    TunerSite site;
    site.fabric = view.fabric;
    site.cost_model = model_;
    site.where.file = "tuner";
    try {
      known = made(choice, site);
    } catch (const UserError& error) {
      const auto place = places_.find(choice);
      if (place == places_.end()) throw;
      throw UserError(place->second, error.what());
    }
    if (!is_tuner(choice) || brings_programs(choice)) {
      view.simulator->add_algorithms(known->algorithms());
    }
    made_.insert(choice);
  }
  return *known;
}

Config GroupViews::chosen(GroupView& view, std::int32_t communicator, const std::string& choice,
                          const Call& call) {
  const std::string last = default_job_tuner(*fabric_);
  std::string why;  // the named configuration cannot run here
  for (const std::string& name : {choice, tuners_.job, last}) {
    const Tuner& own = tuner(view, name);
    if (!own.chooses_for(call.collective)) continue;
    Config config = own.choose(call);
    const AlgorithmLibrary& library = view.simulator->algorithms();
    std::string reason = check_config(library, call, config, view.fabric->ranks());
    if (reason.empty() && !is_tuner(name)) {
      reason = check_resident(library, call, config, *view.fabric, model_);
      if (why.empty() && !reason.empty()) why = fmt::format(" ({})", reason);
    }
    if (reason.empty()) {
      const bool message = call.collective == CollectiveKind::AllToNext;
      const std::string sentence =
          fmt::format("{} has no configuration for {} on {} ranks{}; {} chooses", choice,
                      to_string(call.collective), view.fabric->ranks(), why, name);
      if (name != choice && !message && tuners_.say && said_.insert(sentence).second) {
        tuners_.say(sentence);
      }
      return config;
    }
    // A named configuration may not fit every size and group; the next choice serves the rest.
    if (is_tuner(name)) throw UserError(reason);
  }
  // On a fabric that names no GPUs, the last choice is one ring, which has few collectives.
  if (is_tuner(last) && call.collective != CollectiveKind::AllToNext) {
    try {
      return tuner(view, last).choose(call);
    } catch (const UserError& error) {
      throw UserError(fmt::format("{} on communicator {}: {}", to_string(call.collective),
                                  quoted(names_[at(communicator)]), error.what()));
    }
  }
  return with_protocol_tiles(model_, call.collective, {.algorithm = "naive"});
}

const ConfiguredCall& GroupViews::planned(GroupView& view, std::int32_t communicator,
                                          std::uint64_t bytes, const Call& call) {
  const auto own = tuners_.calls.find({names_[at(communicator)], call.collective, bytes});
  // The label of a configuration cannot be the name of a tuner: it has blanks.
  const std::string choice =
      own == tuners_.calls.end()
          ? choice_of(communicator)
          : fmt::format("{} {} {} {} {}", config_label(own->second), own->second.instances,
                        own->second.threads, own->second.tile_bytes, own->second.slots);
  const auto [found, fresh] =
      planned_.try_emplace({&view, choice, call.collective, call.bytes, call.root});
  if (fresh) {
    try {
      found->second = {
          &view, call,
          own == tuners_.calls.end() ? chosen(view, communicator, choice, call) : own->second};
    } catch (...) {
      planned_.erase(found);
      throw;
    }
  }
  return found->second;
}

const ConfiguredCall& GroupViews::collective(const JobOp& op, const ProcessGroup& group) {
  const int ranks = static_cast<int>(group.ranks.size());
  return planned(of(group.ranks), group.communicator, op.bytes,
                 {.collective = op.collective,
                  .bytes = fitting_bytes(op.collective, op.bytes, ranks),
                  .root = op.root});
}

const ConfiguredCall& GroupViews::message(const JobOp& op, std::int32_t communicator,
                                          std::int32_t from, std::int32_t to) {
  return planned(of({from, to}), communicator, op.bytes,
                 {.collective = CollectiveKind::AllToNext,
                  .bytes = fitting_bytes(CollectiveKind::AllToNext, op.bytes, 2)});
}

std::string config_label(const Config& config) {
  return fmt::format("{} {} {} ch", config.algorithm, to_string(config.protocol),
                     config.channels * config.instances);
}

}  // namespace cclgym
