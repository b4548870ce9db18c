#include "workloads/output/job_pictures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "core/index.hpp"

namespace cclgym {

namespace {

PaintedBox box_of(const JobView& view, const OpView& op) {
  return {.kind = view.communicator_of(op),
          .start_s = op.start_s,
          .begin_s = op.begin_s,
          .end_s = op.end_s,
          .label = view.op_label(op)};
}

PaintedRank painted(const JobGraph& job, const JobView& view, std::size_t actor,
                    double resolution_s) {
  std::vector<std::vector<PaintedBox>> boxes(job.streams.size());
  for (std::int32_t index = 0; index < view.program(actor).size(); ++index) {
    const OpView op = view.op(actor, index);
    if (op.end_s > op.start_s) boxes[at(op.op->stream)].push_back(box_of(view, op));
  }
  PaintedRank made;
  for (std::size_t stream = 0; stream < boxes.size(); ++stream) {
    if (boxes[stream].empty()) continue;
    made.lanes.push_back({job.streams[stream], thinned(boxes[stream], resolution_s)});
  }
  return made;
}

}  // namespace

std::vector<PaintedBox> thinned(const std::vector<PaintedBox>& boxes, double resolution_s) {
  std::vector<PaintedBox> kept;
  double longest_s = 0;  // part of the last box
  for (const PaintedBox& box : boxes) {
    const double length_s = box.end_s - box.start_s;
    if (kept.empty() || box.end_s >= kept.back().start_s + resolution_s) {
      kept.push_back(box);
      longest_s = length_s;
      continue;
    }
    PaintedBox& last = kept.back();
    if (length_s > longest_s) {
      last.kind = box.kind;
      last.label = box.label;
      longest_s = length_s;
    }
    last.begin_s = last.start_s;
    last.end_s = box.end_s;
    ++last.operations;
  }
  return kept;
}

std::vector<PaintedRank> painted_ranks(const JobGraph& job, const JobRecord& record,
                                       const JobBreakdown& breakdown, std::size_t most,
                                       double resolution_s) {
  const JobView view(job, record);
  std::map<std::int32_t, std::size_t> actor_of;  // by program
  const auto choose = [&](std::size_t actor) {
    if (actor_of.size() < most) {
      actor_of.try_emplace(job.program_of[at(record.lowered.classes.actor[actor])], actor);
    }
  };
  for (const PathSegment& segment : breakdown.path) choose(segment.actor);
  for (std::size_t actor = 0; actor < view.actors(); ++actor) choose(actor);
  std::vector<std::size_t> actors;
  for (const auto& [program, actor] : actor_of) actors.push_back(actor);
  std::sort(actors.begin(), actors.end());
  std::vector<PaintedRank> rows;
  for (const std::size_t actor : actors) {
    const std::int32_t rank = record.lowered.classes.actor[actor];
    std::int64_t others = -1;
    for (const std::int32_t program : job.program_of) {
      if (program == job.program_of[at(rank)]) ++others;
    }
    PaintedRank row = painted(job, view, actor, resolution_s);
    row.label = fmt::format("rank {}", rank);
    if (others > 0) {
      row.label +=
          fmt::format(" ({} other{} the same program)", others, others == 1 ? " has" : "s have");
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<PaintedBox> painted_path(const JobView& view, const JobBreakdown& breakdown,
                                     double resolution_s) {
  std::vector<PaintedBox> boxes;
  double free_from_s = 0;
  for (const PathSegment& segment : breakdown.path) {
    const OpView op = view.op(segment.actor, segment.op);
    PaintedBox box = box_of(view, op);
    box.start_s = box.begin_s = std::max(segment.start_s, free_from_s);
    box.end_s = free_from_s = std::max(segment.end_s, box.start_s);
    box.label = view.path_label(op);
    if (box.end_s > box.start_s) boxes.push_back(std::move(box));
  }
  return thinned(boxes, resolution_s);
}

std::vector<RankBar> rank_bars(const JobView& view, const JobRecord& record,
                               const JobBreakdown& breakdown, std::size_t most) {
  const double grid_s = std::max(2e-3 * record.step_time_s, 1e-30);
  std::map<std::array<std::int64_t, 3>, std::vector<std::size_t>> actors_of;
  for (std::size_t actor = 0; actor < breakdown.actors.size(); ++actor) {
    const RankTime& time = breakdown.actors[actor];
    const auto cell = [grid_s](double time_s) {
      return static_cast<std::int64_t>(std::floor(time_s / grid_s));
    };
    actors_of[{cell(time.compute_s), cell(time.overlap_s), cell(time.exposed_s)}].push_back(actor);
  }
  std::vector<std::pair<std::int32_t, RankBar>> bars;  // with the first rank
  for (const auto& [cells, actors] : actors_of) {
    std::vector<std::int32_t> ranks;
    for (const std::size_t actor : actors) {
      ranks.insert(ranks.end(), view.ranks(actor).begin(), view.ranks(actor).end());
    }
    std::sort(ranks.begin(), ranks.end());
    bars.emplace_back(ranks.front(), RankBar{.label = ranks_label(ranks),
                                             .ranks = ranks.size(),
                                             .time = breakdown.actors[actors.front()]});
  }
  std::stable_sort(bars.begin(), bars.end(), [](const auto& a, const auto& b) {
    return std::pair(b.second.ranks, a.first) < std::pair(a.second.ranks, b.first);
  });
  bars.resize(std::min(bars.size(), most));
  std::sort(bars.begin(), bars.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<RankBar> made;
  for (auto& [rank, bar] : bars) made.push_back(std::move(bar));
  return made;
}

}  // namespace cclgym
