// HTML page of a training run and its evaluation. The page is self-contained: it opens without a
// network.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
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
  std::vector<LearningCurve> curves{};  ///< empty: baselines only
  /// Facts about the run in the page's head: name and text (training_facts); the page adds steps,
  /// processor time and version.
  std::vector<std::pair<std::string, std::string>> facts{};
  std::span<const EvaluatedPart> parts{};
};

/// The metrics.csv of every seed that has one in the folder of a training run. Throws UserError if
/// one cannot be read.
[[nodiscard]] std::vector<LearningCurve> read_learning_curves(const std::string& folder,
                                                              std::span<const std::uint64_t> seeds);

/// The page; `regimes` are published results (published_regimes). Equal inputs give equal bytes.
[[nodiscard]] std::string training_html(const TrainingPage& page,
                                        std::span<const PublishedRow> regimes);

}  // namespace cclgym
