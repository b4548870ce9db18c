// The head of the page of a training: facts about the run and what came out.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments/training/training_page.hpp"

namespace cclgym {

/// Names and texts.
using TrainingFacts = std::vector<std::pair<std::string, std::string>>;

/// Machines, actions and seeds of environments. Those of other kinds than CollectiveTuning-v0 are
/// null and are left out.
[[nodiscard]] TrainingFacts training_facts(
    std::span<const std::shared_ptr<const TuningSetup>> setups,
    std::span<const std::uint64_t> seeds);

/// Steps and processor time, from the last complete rows of metrics.csv.
[[nodiscard]] TrainingFacts curve_facts(std::span<const LearningCurve> curves);

/// Sentences with the number of agents and, for each environment, the geometric means of the
/// policies, best first.
[[nodiscard]] std::vector<std::string> training_outcome(std::span<const LearningCurve> curves,
                                                        std::span<const EvaluatedPart> parts);

}  // namespace cclgym
