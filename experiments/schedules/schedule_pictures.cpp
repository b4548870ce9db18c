#include "experiments/schedules/schedule_pictures.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include <vector>

#include "core/counted.hpp"
#include "core/index.hpp"
#include "core/report/page.hpp"

namespace cclgym {

namespace {

struct Place {
  double x = 0;
  double y = 0;
};

// Colours that differ clearly from their neighbours: steps of the golden angle around the wheel.
std::string colour_of(int number) {
  const double hue = std::fmod(210.0 + 137.508 * number, 360.0);
  return fmt::format("hsl({:.0f} 65% 48%)", hue);
}

// Places of ranks in a picture, and its size.
struct RankLayout {
  std::vector<Place> places{};
  double width = 0;
  double height = 0;
  double dot = 0;  ///< radius of a rank
};

// Nodes in a grid, the ranks of a node on a circle.
RankLayout layout_of(int ranks, int ranks_per_node) {
  constexpr double kMaxWidth = 560;
  const int per_node = std::clamp(ranks_per_node, 1, std::max(ranks, 1));
  const int nodes = (ranks + per_node - 1) / per_node;
  const int columns = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(nodes))));
  const int rows = (nodes + columns - 1) / columns;
  const double wished = per_node == 1 ? 60 : per_node <= 4 ? 130 : per_node <= 8 ? 210 : 300;
  const double cell = std::min(wished, kMaxWidth / columns);
  const double radius = per_node == 1 ? 0 : 0.39 * cell;
  const double apart = per_node == 1 ? cell : 2 * std::numbers::pi * radius / per_node;
  RankLayout layout{
      .width = cell * columns, .height = cell * rows, .dot = std::clamp(0.25 * apart, 2.5, 10.0)};
  for (int rank = 0; rank < ranks; ++rank) {
    const int node = rank / per_node;
    const double angle = 2 * std::numbers::pi * (rank % per_node) / per_node - std::numbers::pi / 2;
    layout.places.push_back({(node % columns + 0.5) * cell + radius * std::cos(angle),
                             (node / columns + 0.5) * cell + radius * std::sin(angle)});
  }
  return layout;
}

std::string arrow(const Place& from, const Place& to, double dot, int chunks, int colour,
                  const std::string& title) {
  const double dx = to.x - from.x;
  const double dy = to.y - from.y;
  const double length = std::max(std::hypot(dx, dy), 1e-9);
  // Opposite arrows bend to different sides.
  const double bend = 0.12 * length;
  const Place middle{(from.x + to.x) / 2 - dy / length * bend,
                     (from.y + to.y) / 2 + dx / length * bend};
  const auto towards = [dot](const Place& end, const Place& other, double distance) {
    const double far = std::max(std::hypot(other.x - end.x, other.y - end.y), 1e-9);
    return Place{end.x + (other.x - end.x) / far * dot * distance,
                 end.y + (other.y - end.y) / far * dot * distance};
  };
  const Place begin = towards(from, middle, 1.1);
  const Place end = towards(to, middle, 1.7);
  const Place tip = towards(to, middle, 1.05);
  const double width = std::min(0.6 + 0.5 * chunks, 3.0);
  const double ex = tip.x - end.x;
  const double ey = tip.y - end.y;
  return fmt::format(
      "<g {0}><title>{1}</title><path fill=\"none\" "
      "stroke-width=\"{2:.1f}\" "
      "d=\"M{3:.1f} {4:.1f}Q{5:.1f} {6:.1f} {7:.1f} {8:.1f}\"/><path stroke=\"none\" "
      "d=\"M{9:.1f} {10:.1f}L{11:.1f} {12:.1f}L{13:.1f} {14:.1f}Z\"/></g>",
      colour == ScheduleArrow::kMuted
          ? std::string("class=\"muted-arrow\"")
          : fmt::format("stroke=\"{0}\" fill=\"{0}\"", colour_of(colour)),
      html_escaped(title), width, begin.x, begin.y, middle.x, middle.y, end.x, end.y, tip.x, tip.y,
      end.x - 0.55 * ey, end.y + 0.55 * ex, end.x + 0.55 * ey, end.y - 0.55 * ex);
}

std::string step_picture(const ScheduleView& view, std::size_t step) {
  const RankLayout layout = layout_of(view.ranks, view.ranks_per_node);
  const std::vector<Place>& places = layout.places;
  const double dot = layout.dot;
  std::string svg = fmt::format(
      "<svg role=\"img\" viewBox=\"-6 -6 {:.0f} {:.0f}\" width=\"{:.0f}\" "
      "aria-label=\"step {}\">",
      layout.width + 12, layout.height + 12, layout.width + 12, step + 1);
  // Coloured arrows lie above the others.
  for (const bool muted : {true, false}) {
    for (const ScheduleArrow& one : view.steps[step]) {
      if ((one.colour == ScheduleArrow::kMuted) != muted) continue;
      svg +=
          arrow(places[at(one.source)], places[at(one.target)], dot, one.chunks, one.colour,
                fmt::format("{} to {}: {}", one.source, one.target, counted(one.chunks, "chunk")));
    }
  }
  for (int rank = 0; rank < view.ranks; ++rank) {
    const Place& place = places[at(rank)];
    svg += fmt::format("<circle class=\"rank\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>", place.x,
                       place.y, dot);
    if (dot >= 5) {
      svg += fmt::format(
          "<text class=\"rank\" x=\"{:.1f}\" y=\"{:.1f}\" style=\"font-size: {:.1f}px\">{}"
          "</text>",
          place.x, place.y + 0.36 * dot, rank < 10 ? 1.2 * dot : dot, rank);
    }
  }
  return svg + "</svg>";
}

}  // namespace

std::string steps_picture(const ScheduleView& view) {
  if (view.ranks > kMaxDrawnRanks) return {};
  std::string html = "<div class=\"strip\">";
  for (std::size_t step = 0; step < view.steps.size(); ++step) {
    const std::string caption = step < view.step_captions.size() ? view.step_captions[step]
                                                                 : fmt::format("step {}", step + 1);
    html += "<figure>" + step_picture(view, step) + "<figcaption>" + html_escaped(caption) +
            "</figcaption></figure>";
  }
  return html + "</div>";
}

std::string loads_picture(const ScheduleView& view, int max_links) {
  const std::size_t count = std::min(view.loads.size(), at(max_links));
  constexpr double kRow = 20;
  constexpr double kCharacter = 7.2;  // a wide one, in text of 12 px
  std::size_t longest = 0;
  for (std::size_t k = 0; k < count; ++k) longest = std::max(longest, view.loads[k].link.size());
  const double names = kCharacter * static_cast<double>(longest) + 8;
  constexpr double kBars = 320;
  std::string svg = fmt::format(
      "<svg role=\"img\" class=\"loads\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "width=\"{:.0f}\" aria-label=\"loads of links\">",
      names + kBars + 150, kRow * static_cast<double>(count) + 4, names + kBars + 150);
  for (std::size_t k = 0; k < count; ++k) {
    const ScheduleLoad& load = view.loads[k];
    const double y = kRow * static_cast<double>(k);
    svg += fmt::format(
        "<text class=\"name\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text><rect class=\"back\" x=\"{:.0f}\" "
        "y=\"{:.0f}\" width=\"{:.0f}\" height=\"12\"/><rect class=\"bar\" x=\"{:.0f}\" "
        "y=\"{:.0f}\" "
        "width=\"{:.1f}\" height=\"12\"/><text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>",
        names - 8, y + 13, html_escaped(load.link), names, y + 3, kBars, names, y + 3,
        kBars * std::clamp(load.share, 0.0, 1.0), names + kBars + 8, y + 13,
        html_escaped(load.text));
  }
  return svg + "</svg>";
}

}  // namespace cclgym
