// Break-points: sizes at which a policy changes its program, compared with those of the oracle and
// of publications.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "agents/evaluation/evaluation.hpp"
#include "experiments/published/published.hpp"

namespace cclgym {

/// Break-points of one run and collective, ascending, B: the geometric means of neighbouring sizes
/// at which the choices differ in algorithm or protocol.
[[nodiscard]] std::vector<double> break_points(const PolicyRun& run, const std::string& collective);
/// Those of a publication about a fabric: the first sizes of ranges whose variant has another
/// algorithm or protocol than that of the range before.
[[nodiscard]] std::vector<double> published_break_points(std::span<const PublishedRow> regimes,
                                                         const std::string& source,
                                                         const std::string& fabric,
                                                         const std::string& collective);

/// Distances of break-points from those of a reference, in doublings: |log2(size / nearest size)|.
struct BreakPointScore {
  std::size_t own = 0;        ///< number of break-points
  std::size_t reference = 0;  ///< number of the reference's
  double missed = 0;  ///< largest distance of one of the reference's from the nearest of the own
  double mean = 0;    ///< mean of these distances
  double extra = 0;   ///< largest distance of one of the own from the nearest of the reference's
};
/// Compares two lists. If one of them is empty and the other is not, distances are infinite.
[[nodiscard]] BreakPointScore score_break_points(std::span<const double> own,
                                                 std::span<const double> reference);

/// Table of the scores of every policy, seed and collective relative to the oracle, if the part has
/// it, and to each publication about the fabric. Empty if there is neither.
[[nodiscard]] std::string break_points_text(const EvaluatedPart& part,
                                            std::span<const PublishedRow> regimes);

}  // namespace cclgym
