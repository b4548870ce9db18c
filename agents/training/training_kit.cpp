// Environments and experts that the agents of a training share.
#include <memory>
#include <utility>
#include <vector>

#include "agents/experts/disagreement.hpp"
#include "agents/training/trainer.hpp"

namespace cclgym {

TrainingKit::TrainingKit(const TrainConfig& config, std::size_t threads, Notice notice)
    : config_(config),
      threads_(threads),
      notice_(std::move(notice)),
      slots_(static_cast<std::size_t>(config.ppo.environments)) {}

void TrainingKit::prepare(std::size_t threads) {
  const std::size_t later = std::exchange(threads_, threads);
  for (const TrainingPart& part : config_.parts) {
    if (config_.warm_start.iterations > 0 && config_.warm_start.expert != ExpertKind::Experience) {
      (void)expert_of(part);
    }
    if (part.disagreement != 1) (void)weights_of(part);
  }
  for (const EvaluationPart& part : config_.evaluation) {
    const auto& setup = part.environment->setup();
    if (setup && setup->oracle) setup->fill_oracle(threads);
  }
  threads_ = later;
}

Expert* TrainingKit::expert_of(const TrainingPart& part) {
  auto& expert = experts_[&part];
  if (!expert) {
    expert = make_expert(part.environment->setup(),
                         {.kind = config_.warm_start.expert,
                          .temperature = config_.warm_start.temperature,
                          .margin = config_.warm_start.margin,
                          .threads = threads_},
                         notice_);
  }
  return expert.get();
}

const std::vector<double>& TrainingKit::weights_of(const TrainingPart& part) {
  std::vector<double>& weights = weights_[&part];
  if (weights.empty()) {
    const auto& setup = part.environment->setup();
    if (notice_) notice_("comparing the expert with the oracle on " + setup->fabric_label);
    const ExpertKind kind = config_.warm_start.expert;
    const bool cheap = kind == ExpertKind::Svm || kind == ExpertKind::Tuner;
    const std::unique_ptr<Expert> svm =
        cheap ? nullptr : make_expert(setup, {.kind = ExpertKind::Svm}, notice_);
    weights =
        disagreement_weights(setup, cheap ? *expert_of(part) : *svm, part.disagreement, threads_);
  }
  return weights;
}

std::unique_ptr<Environment> TrainingKit::make_environment(const TrainingPart& part) {
  std::unique_ptr<Environment> made = part.environment->make();
  auto* tuning = dynamic_cast<CollectiveTuningEnv*>(made.get());
  if (tuning != nullptr && part.disagreement != 1) (void)tuning->weigh(weights_of(part));
  return made;
}

std::vector<CollectSlot> TrainingKit::take_slots(std::uint64_t number, bool with_experts,
                                                 std::vector<const TrainingPart*>& taken) {
  std::vector<const TrainingPart*> active;
  const auto iteration = static_cast<int>(number);
  for (const TrainingPart& part : config_.parts) {
    if (part.from <= iteration && (part.until == 0 || iteration < part.until)) {
      active.push_back(&part);
    }
  }
  std::vector<CollectSlot> slots;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const TrainingPart* part = active[(i + number) % active.size()];
    taken.push_back(part);
    std::unique_ptr<Environment>& kept = slots_[i][part];
    slots.push_back({.environment = kept ? std::move(kept) : make_environment(*part),
                     .expert = with_experts ? expert_of(*part) : nullptr});
    auto* tuning = dynamic_cast<CollectiveTuningEnv*>(slots.back().environment.get());
    if (tuning != nullptr) tuning->show(config_.features_in(iteration));
  }
  return slots;
}

void TrainingKit::keep_slots(std::vector<CollectSlot> slots,
                             std::span<const TrainingPart* const> taken) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots_[i][taken[i]] = std::move(slots[i].environment);
  }
}

}  // namespace cclgym
