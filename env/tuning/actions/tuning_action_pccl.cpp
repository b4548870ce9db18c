// The actions of profile Pccl: backends, and the plans of PCCL's engine.
#include <algorithm>
#include <map>
#include <tuple>

#include "collectives/library/algorithm_library.hpp"
#include "collectives/library/logical_rings.hpp"
#include "core/error.hpp"
#include "core/index.hpp"
#include "env/tuning/actions/knob_levels.hpp"
#include "env/tuning/actions/tuning_action.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

namespace {

constexpr std::uint64_t kLargeCall = 1 << 30;

}  // namespace

std::vector<std::string> default_tuners(ActionProfile profile, const Fabric& fabric) {
  std::vector<std::string> tuners = default_tuners(profile);
  if (profile != ActionProfile::Pccl) return tuners;
  const std::string& gpu = fabric.gpu_model();
  // On other GPUs of AMD no library is modelled, and the first backend is masked out.
  if (gpu == "MI250X" || gpu == "MI300X") tuners.front() = "rccl-default";
  tuners.emplace_back("cray-mpich");
  return tuners;
}

std::vector<std::string> pccl_programs(const Fabric& fabric, const std::vector<KnobLimit>& limits) {
  const auto allowed = [&](Knob knob, std::int32_t level) {
    const std::string& name = pccl_levels(knob)[at(level)];
    return std::ranges::all_of(limits, [&](const KnobLimit& limit) {
      return limit.knob != to_string(knob) ||
             std::ranges::find(limit.levels, name, &KnobLimit::Level::name) != limit.levels.end();
    });
  };
  std::vector<std::string> names;
  for (PcclPlan& plan : pccl_plans(fabric, allowed)) names.push_back(std::move(plan.program));
  return names;
}

PlainConfig TuningActions::engine_choice(const Call& call) const {
  if (!in_node_ || !in_node_->chooses_for(call.collective)) return engine_;
  return plain_config(site_->algorithms, in_node_->choose(call));
}

// Finds the plans whose programs are in the library. If no library is modelled, they have a channel
// for each ring of a node.
void TuningActions::list_pccl_plans() {
  try {
    in_node_ = make_tuner("pccl:ring", {.fabric = site_->fabrics.front(),
                                        .cost_model = site_->cost_model,
                                        .algorithms = site_->algorithms});
    engine_ = engine_choice({.collective = CollectiveKind::AllGather, .bytes = kLargeCall});
  } catch (const UserError&) {
    const int rings = static_cast<int>(logical_rings(*site_->fabrics.front()).size());
    engine_ = plain_config(site_->algorithms, {.algorithm = "pccl-ring",
                                               .protocol = Protocol::Simple,
                                               .channels = std::clamp(rings, 1, kMostChannels),
                                               .threads = 512});
  }
  std::size_t places = 1;
  for (const Knob knob : kPcclKnobs) places *= levels(knob).size();
  plan_program_.assign(places, -1);
  std::map<std::string_view, std::uint16_t> programs;
  const std::vector<AlgorithmEntry>& entries = site_->algorithms.entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    programs.emplace(entries[i].name, static_cast<std::uint16_t>(i));
  }
  const auto may = [&](Knob knob, std::int32_t level) { return allowed(knob, level); };
  for (const PcclPlan& plan : pccl_plans(*site_->fabrics.front(), may)) {
    const auto found = programs.find(plan.program);
    if (found == programs.end()) continue;
    plans_.push_back({.levels = plan.levels, .program = found->second, .host = plan.host()});
    Levels levels{};
    for (std::size_t i = 0; i < kPcclKnobs.size(); ++i) levels[at(kPcclKnobs[i])] = plan.levels[i];
    plan_program_[plan_at(levels)] = found->second;
  }
}

std::size_t TuningActions::plan_at(const Levels& levels) const {
  std::size_t place = 0;
  for (const Knob knob : kPcclKnobs) {
    place = place * this->levels(knob).size() + at(levels[at(knob)]);
  }
  return place;
}

void TuningActions::add_pccl_plans(CollectiveKind collective, bool large, Legal& legal) const {
  const Fabric& fabric = *site_->fabrics.front();
  Levels levels{};
  levels[at(Knob::Algorithm)] = level_index(this->levels(Knob::Algorithm), kPcclEngine);
  if (!allowed(Knob::Algorithm, levels[at(Knob::Algorithm)])) return;
  const AlgorithmRequest request{.collective = collective,
                                 .ranks = fabric.ranks(),
                                 .ranks_per_server = fabric.ranks_per_server().value_or(0)};
  // Plans that differ only in the groups at once and in the reducer have the same thread blocks.
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>, bool> resident;
  for (const EnginePlan& plan : plans_) {
    const AlgorithmEntry& entry = site_->algorithms.entries()[plan.program];
    if (plan.host && (large || !is_reduction(collective))) continue;
    if (!supports(entry, collective) || check_ranks(entry, request.ranks) ||
        check_request(entry, request)) {
      continue;
    }
    for (std::size_t i = 0; i < kPcclKnobs.size(); ++i) levels[at(kPcclKnobs[i])] = plan.levels[i];
    const auto [known, is_new] =
        resident.try_emplace({levels[at(Knob::Hierarchy)], levels[at(Knob::Inter)],
                              levels[at(Knob::Shuffle)], levels[at(Knob::Nic)]});
    if (is_new) {
      const Config config = full_config(site_->algorithms, engine_config(plan.program));
      known->second = check_resident(site_->algorithms, {.collective = collective, .bytes = 0},
                                     config, fabric, site_->cost_model)
                          .empty();
    }
    if (known->second) add_action(levels, legal);
  }
}

}  // namespace cclgym
