// Pictures of a simulated job for its report, thinned out to what a screen can show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/output/job_view.hpp"

namespace cclgym {

/// A box on a time axis.
struct PaintedBox {
  std::int32_t kind = -1;  ///< index of a communicator; -1: computation
  double start_s = 0;
  double begin_s = 0;  ///< until then the rank waits for others
  double end_s = 0;
  std::string label{};
  int operations = 1;  ///< more: several were too short to be drawn on their own
};

/// Boxes in ascending order, of which those that end less than `resolution_s` after the start of
/// the box before are merged into it. A merged box has the kind and label of its longest part.
[[nodiscard]] std::vector<PaintedBox> thinned(const std::vector<PaintedBox>& boxes,
                                              double resolution_s);

/// Operations of an actor, one lane per stream that it uses.
struct PaintedRank {
  std::string label{};
  struct Lane {
    std::string stream;
    std::vector<PaintedBox> boxes;
  };
  std::vector<Lane> lanes{};
};

/// One actor per program, at most `most`: those on the critical path first. Its label names all
/// ranks with the program.
[[nodiscard]] std::vector<PaintedRank> painted_ranks(const JobGraph& job, const JobRecord& record,
                                                     const JobBreakdown& breakdown,
                                                     std::size_t most, double resolution_s);

[[nodiscard]] std::vector<PaintedBox> painted_path(const JobView& view,
                                                   const JobBreakdown& breakdown,
                                                   double resolution_s);

/// Times of ranks that differ by less than 0.2 % of the step, together.
struct RankBar {
  std::string label{};
  std::size_t ranks = 0;
  RankTime time{};  ///< time of the first of them
};
/// At most `most` bars, those of most ranks; ascending by their first rank.
[[nodiscard]] std::vector<RankBar> rank_bars(const JobView& view, const JobRecord& record,
                                             const JobBreakdown& breakdown, std::size_t most);

}  // namespace cclgym
