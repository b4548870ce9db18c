// Pictures of schedules as SVG.
#pragma once

#include <span>
#include <string>

#include "experiments/schedules/schedule_view.hpp"

namespace cclgym {

/// Strip of one picture per step: the ranks, grouped by node, and an arrow per message, wider for
/// more chunks. Empty for more than kMaxDrawnRanks ranks.
[[nodiscard]] std::string steps_picture(const ScheduleView& view);
inline constexpr int kMaxDrawnRanks = 128;

/// Bars of the busiest links, at most `max_links`.
[[nodiscard]] std::string loads_picture(const ScheduleView& view, int max_links = 16);

/// Steps against rounds per chunk: the synthesised schedules as a front, the others beside it, and
/// the area that the bounds exclude. `min_steps` and `min_rounds` are the bounds; 0: unknown.
[[nodiscard]] std::string front_picture(std::span<const FrontPoint> points, double min_steps,
                                        double min_rounds);

}  // namespace cclgym
