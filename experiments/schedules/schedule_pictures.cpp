#include "experiments/schedules/schedule_pictures.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include <vector>

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

// Places of the ranks in a picture of `side` units: nodes in a grid, the ranks of a node on a
// circle.
std::vector<Place> places_of(int ranks, int ranks_per_node, double side) {
  const int per_node = std::clamp(ranks_per_node, 1, std::max(ranks, 1));
  const int nodes = (ranks + per_node - 1) / per_node;
  const int columns = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(nodes))));
  const double cell = side / columns;
  std::vector<Place> places;
  for (int rank = 0; rank < ranks; ++rank) {
    const int node = rank / per_node;
    const double angle = 2 * std::numbers::pi * (rank % per_node) / per_node - std::numbers::pi / 2;
    const double radius = per_node == 1 ? 0 : 0.36 * cell;
    places.push_back({(node % columns + 0.5) * cell + radius * std::cos(angle),
                      (node / columns + 0.5) * cell + radius * std::sin(angle)});
  }
  return places;
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
      "<g stroke=\"{0}\" fill=\"{0}\"><title>{1}</title><path fill=\"none\" "
      "stroke-width=\"{2:.1f}\" "
      "d=\"M{3:.1f} {4:.1f}Q{5:.1f} {6:.1f} {7:.1f} {8:.1f}\"/><path stroke=\"none\" "
      "d=\"M{9:.1f} {10:.1f}L{11:.1f} {12:.1f}L{13:.1f} {14:.1f}Z\"/></g>",
      colour_of(colour), html_escaped(title), width, begin.x, begin.y, middle.x, middle.y, end.x,
      end.y, tip.x, tip.y, end.x - 0.55 * ey, end.y + 0.55 * ex, end.x + 0.55 * ey,
      end.y - 0.55 * ex);
}

std::string step_picture(const ScheduleView& view, std::size_t step, double side) {
  const std::vector<Place> places = places_of(view.ranks, view.ranks_per_node, side);
  const double dot = std::clamp(70.0 / std::sqrt(static_cast<double>(view.ranks)) / 3, 3.0, 9.0);
  std::string svg = fmt::format(
      "<svg role=\"img\" viewBox=\"-6 -6 {0:.0f} {0:.0f}\" width=\"{1:.0f}\" "
      "aria-label=\"step {2}\">",
      side + 12, side, step + 1);
  for (const ScheduleArrow& one : view.steps[step]) {
    svg += arrow(places[at(one.source)], places[at(one.target)], dot, one.chunks, one.colour,
                 fmt::format("{} to {}: {} chunk{}", one.source, one.target, one.chunks,
                             one.chunks == 1 ? "" : "s"));
  }
  for (int rank = 0; rank < view.ranks; ++rank) {
    const Place& place = places[at(rank)];
    svg += fmt::format("<circle class=\"rank\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>", place.x,
                       place.y, dot);
    if (dot >= 5) {
      svg += fmt::format(
          "<text class=\"rank\" x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\">{}"
          "</text>",
          place.x, place.y + 0.36 * dot, 1.1 * dot, rank);
    }
  }
  return svg + "</svg>";
}

}  // namespace

std::string steps_picture(const ScheduleView& view) {
  if (view.ranks > kMaxDrawnRanks) return {};
  const double side = view.ranks > 16 ? 380 : 230;
  std::string html = "<div class=\"strip\">";
  for (std::size_t step = 0; step < view.steps.size(); ++step) {
    const std::string caption = step < view.step_captions.size() ? view.step_captions[step]
                                                                 : fmt::format("step {}", step + 1);
    html += "<figure>" + step_picture(view, step, side) + "<figcaption>" + html_escaped(caption) +
            "</figcaption></figure>";
  }
  return html + "</div>";
}

std::string loads_picture(const ScheduleView& view, int max_links) {
  const std::size_t count = std::min(view.loads.size(), at(max_links));
  constexpr double kRow = 20;
  constexpr double kNames = 260;
  constexpr double kBars = 320;
  std::string svg = fmt::format(
      "<svg role=\"img\" class=\"loads\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "width=\"{:.0f}\" aria-label=\"loads of links\">",
      kNames + kBars + 150, kRow * static_cast<double>(count) + 4, kNames + kBars + 150);
  for (std::size_t k = 0; k < count; ++k) {
    const ScheduleLoad& load = view.loads[k];
    const double y = kRow * static_cast<double>(k);
    svg += fmt::format(
        "<text class=\"name\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text><rect class=\"back\" x=\"{:.0f}\" "
        "y=\"{:.0f}\" width=\"{:.0f}\" height=\"12\"/><rect class=\"bar\" x=\"{:.0f}\" "
        "y=\"{:.0f}\" "
        "width=\"{:.1f}\" height=\"12\"/><text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>",
        kNames - 8, y + 13, html_escaped(load.link), kNames, y + 3, kBars, kNames, y + 3,
        kBars * std::clamp(load.share, 0.0, 1.0), kNames + kBars + 8, y + 13,
        html_escaped(load.text));
  }
  return svg + "</svg>";
}

std::string front_picture(std::span<const FrontPoint> points, double min_steps, double min_rounds) {
  if (points.empty()) return {};
  double max_steps = min_steps;
  double max_rounds = min_rounds;
  for (const FrontPoint& point : points) {
    max_steps = std::max(max_steps, point.steps);
    max_rounds = std::max(max_rounds, point.rounds_per_chunk);
  }
  constexpr double kWidth = 560;
  constexpr double kHeight = 300;
  constexpr double kLeft = 60;
  constexpr double kBottom = 44;
  const double x_end = max_steps + 1;
  const double y_end = max_rounds * 1.15;
  const auto x_of = [&](double steps) { return kLeft + (kWidth - kLeft - 120) * steps / x_end; };
  const auto y_of = [&](double rounds) {
    return kHeight - kBottom - (kHeight - kBottom - 14) * rounds / y_end;
  };
  std::string svg = fmt::format(
      "<svg role=\"img\" class=\"front\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "aria-label=\"steps and rounds per chunk\">",
      kWidth, kHeight);
  const double x0 = x_of(0);
  const double y0 = y_of(0);
  // Area that the bounds exclude.
  if (min_steps > 0) {
    svg += fmt::format(
        "<rect class=\"excluded\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"/>",
        x0, y_of(y_end), x_of(min_steps) - x0, y0 - y_of(y_end));
  }
  if (min_rounds > 0) {
    svg += fmt::format(
        "<rect class=\"excluded\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"/>",
        x0, y_of(min_rounds), x_of(x_end) - x0, y0 - y_of(min_rounds));
  }
  svg += fmt::format("<path class=\"axis\" d=\"M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}\"/>", x0,
                     y_of(y_end), y0, x_of(x_end));
  const int tick = std::max(1, static_cast<int>(std::ceil(x_end / 12)));
  for (int steps = 0; steps <= static_cast<int>(x_end); steps += tick) {
    svg += fmt::format(
        "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}"
        "</text>",
        x_of(steps), y0 + 16, steps);
  }
  for (int k = 1; k <= 4; ++k) {
    const double rounds = y_end * k / 4;
    svg += fmt::format(
        "<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{:.2f}"
        "</text>",
        x0 - 6, y_of(rounds) + 4, rounds);
  }
  svg += fmt::format(
      "<text text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">steps</text>"
      "<text text-anchor=\"middle\" transform=\"rotate(-90)\" x=\"{:.1f}\" "
      "y=\"14\">rounds per chunk</text>",
      (x0 + x_of(x_end)) / 2, kHeight - 8, -(y0 + y_of(y_end)) / 2);
  // Labels of points that lie close together are stacked upwards.
  std::vector<Place> labels;
  for (const FrontPoint& point : points) {
    const double x = x_of(point.steps);
    const double y = y_of(point.rounds_per_chunk);
    Place label{x + 9, y + 4};
    const auto taken = [&label](const Place& other) {
      return std::abs(other.x - label.x) < 110 && std::abs(other.y - label.y) < 12;
    };
    while (std::any_of(labels.begin(), labels.end(), taken)) label.y -= 12;
    labels.push_back(label);
    svg += fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
        point.synthesised ? "own" : "other", x, y, label.x, label.y, html_escaped(point.name));
  }
  return svg + "</svg>";
}

}  // namespace cclgym
