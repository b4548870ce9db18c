// A training and its evaluation as one HTML page, complete in itself: it opens without a network.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agents/evaluation/evaluation.hpp"
#include "experiments/published/published.hpp"

namespace cclgym {

/// The metrics.csv of one seed.
struct LearningCurve {
  std::uint64_t seed = 0;
  std::string csv;
};

struct TrainingPage {
  std::string title;
  std::vector<LearningCurve> curves{};  ///< none: baselines alone
  std::span<const EvaluatedPart> parts{};
};

/// The metrics.csv of each seed in the folder of a training that has one. Throws UserError if one
/// cannot be read.
[[nodiscard]] std::vector<LearningCurve> read_learning_curves(const std::string& folder,
                                                              std::span<const std::uint64_t> seeds);

/// The page; `regimes` are what publications found (published_regimes). Same inputs, same bytes.
[[nodiscard]] std::string training_html(const TrainingPage& page,
                                        std::span<const PublishedRow> regimes);

}  // namespace cclgym
