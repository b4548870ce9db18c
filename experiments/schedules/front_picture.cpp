#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "core/report/page.hpp"
#include "experiments/schedules/schedule_pictures.hpp"

namespace cclgym {

namespace {

constexpr double kFrontWidth = 820;
constexpr double kFrontHeight = 380;
constexpr double kFrontLeft = 64;
constexpr double kFrontRight = 200;  // for the labels of the last points
constexpr double kFrontBottom = 44;
constexpr double kFrontTop = 14;
constexpr double kLabelRow = 13;
constexpr double kCharacterWidth = 6.4;  // average in text of 12 px
constexpr double kDotRadius = 5;

// Steps from 0 and rounds per chunk from `low` to `high` as places in the picture.
struct FrontScale {
  double last_step = 1;
  double low = 0;
  double high = 1;

  [[nodiscard]] double x_of(double steps) const {
    return kFrontLeft + (kFrontWidth - kFrontLeft - kFrontRight) * steps / last_step;
  }
  [[nodiscard]] double y_of(double rounds) const {
    return kFrontHeight - kFrontBottom -
           (kFrontHeight - kFrontBottom - kFrontTop) * (std::min(rounds, high) - low) /
               (high - low);
  }
};

FrontScale scale_of(std::span<const FrontPoint> points, double min_steps, double min_rounds) {
  FrontScale scale{.last_step = min_steps, .low = points.front().rounds_per_chunk, .high = 0};
  if (min_rounds > 0) scale.low = std::min(scale.low, min_rounds);
  double own_high = min_rounds;
  for (const FrontPoint& point : points) {
    scale.last_step = std::max(scale.last_step, point.steps);
    scale.low = std::min(scale.low, point.rounds_per_chunk);
    scale.high = std::max(scale.high, point.rounds_per_chunk);
    if (point.synthesised) own_high = std::max(own_high, point.rounds_per_chunk);
  }
  // Much slower algorithms would press the front flat: they lie on the upper edge.
  constexpr double kShownRatio = 1.3;
  if (own_high > 0) scale.high = std::min(scale.high, kShownRatio * own_high);
  scale.last_step += 1;
  const double room = std::max(0.2 * (scale.high - scale.low), 0.05 * scale.high);
  scale.low = std::max(0.0, scale.low - room);
  scale.high += room;
  return scale;
}

struct LabelBox {
  double left = 0;
  double right = 0;
  double middle = 0;  ///< height

  [[nodiscard]] bool meets(const LabelBox& other) const {
    return left < other.right && other.left < right && std::abs(middle - other.middle) < kLabelRow;
  }
};

// The smallest of 1, 2 and 5 times a power of ten that is not less.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least) return factor * power;
  }
  return 10 * power;
}

std::string axes_of(const FrontScale& scale) {
  const double x0 = scale.x_of(0);
  const double y0 = scale.y_of(scale.low);
  std::string svg = fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>", x0,
                                scale.y_of(scale.high), y0, scale.x_of(scale.last_step));
  const int tick = std::max(1, static_cast<int>(std::ceil(scale.last_step / 12)));
  for (int steps = 0; steps <= static_cast<int>(scale.last_step); steps += tick) {
    svg += fmt::format(
        "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
        scale.x_of(steps), y0 + 16, steps);
  }
  const double step = round_step((scale.high - scale.low) / 6);
  for (double rounds = std::ceil(scale.low / step) * step; rounds < scale.high; rounds += step) {
    svg += fmt::format(
        "<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{:.6g}</text>", x0 - 6,
        scale.y_of(rounds) + 4, rounds);
  }
  return svg + fmt::format(
                   "<text text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">steps</text>"
                   "<text text-anchor=\"middle\" transform=\"rotate(-90)\" x=\"{:.1f}\" "
                   "y=\"14\">rounds per chunk</text>",
                   (x0 + scale.x_of(scale.last_step)) / 2, kFrontHeight - 8,
                   -(y0 + scale.y_of(scale.high)) / 2);
}

// The area that the bounds exclude.
std::string excluded_by(const FrontScale& scale, double min_steps, double min_rounds) {
  const auto rectangle = [](double left, double top, double right, double bottom) {
    return fmt::format(
        "<rect class=\"excluded\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"/>",
        left, top, right - left, bottom - top);
  };
  const double x0 = scale.x_of(0);
  const double y0 = scale.y_of(scale.low);
  std::string svg;
  if (min_steps > 0) svg += rectangle(x0, scale.y_of(scale.high), scale.x_of(min_steps), y0);
  if (min_rounds > 0) {
    svg += rectangle(x0, scale.y_of(min_rounds), scale.x_of(scale.last_step), y0);
  }
  return svg;
}

// A line from a point to its label.
struct Leader {
  double x0 = 0;
  double y0 = 0;
  double x1 = 0;
  double y1 = 0;

  // True if the line passes through a box.
  [[nodiscard]] bool crosses(const LabelBox& box) const {
    constexpr int kPieces = 24;
    for (int i = 0; i <= kPieces; ++i) {
      const double part = static_cast<double>(i) / kPieces;
      const double x = x0 + part * (x1 - x0);
      const double y = y0 + part * (y1 - y0);
      if (x > box.left && x < box.right && std::abs(y - box.middle) < kLabelRow / 2) return true;
    }
    return false;
  }
};

// Places that labels must not cover.
struct Occupied {
  std::vector<LabelBox> dots{};
  std::vector<LabelBox> labels{};
  std::vector<Leader> leaders{};

  [[nodiscard]] bool free(const LabelBox& box) const {
    const auto meets = [&](const LabelBox& other) { return other.meets(box); };
    return std::ranges::none_of(dots, meets) && std::ranges::none_of(labels, meets) &&
           std::ranges::none_of(leaders, [&](const Leader& one) { return one.crosses(box); });
  }
  // Dots are smaller than text, and the line begins at one.
  [[nodiscard]] bool free(const Leader& line) const {
    return std::ranges::none_of(labels, [&](const LabelBox& one) { return line.crosses(one); });
  }
};

// Places right of a point, as distances to the right and downwards, the nearest first.
std::vector<std::pair<double, double>> label_places() {
  std::vector<std::pair<double, double>> places;
  for (int column = 0; column < 6; ++column) {
    for (int row = 1; row < 24; ++row) {
      places.emplace_back(22 * column, -kLabelRow * row);
      places.emplace_back(22 * column, kLabelRow * row);
    }
  }
  std::ranges::stable_sort(places, {}, [](const std::pair<double, double>& place) {
    return std::hypot(place.first, place.second);
  });
  return places;
}

// A label beside its point, or the nearest place right of it where neither the label nor the line
// that leads to it meets labels, and the label no point or other line.
std::string label_of(const std::string& name, double x, double y, Occupied& taken) {
  constexpr double kGap = 9;
  const double width = kCharacterWidth * static_cast<double>(name.size());
  const auto at = [&](double left, double middle) { return LabelBox{left, left + width, middle}; };
  LabelBox box = at(x + kGap, y);
  Leader line{};
  bool placed = taken.free(box);
  const bool beside = placed;
  for (const auto& [right, down] : label_places()) {
    if (placed) break;
    const double left = x + 2 * kGap + right;
    const double middle = y + down;
    const bool inside = left + width < kFrontWidth && middle > kFrontTop &&
                        middle < kFrontHeight - kFrontBottom - kLabelRow / 2;
    if (!inside) continue;
    box = at(left, middle);
    line = {x, y, left - 2, middle};
    placed = taken.free(box) && taken.free(line);
  }
  taken.labels.push_back(box);
  std::string svg;
  if (!beside) {
    taken.leaders.push_back(line);
    svg = fmt::format("<path class=\"leader\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", line.x0,
                      line.y0, line.x1, line.y1);
  }
  return svg + fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", box.left, box.middle + 4,
                           html_escaped(name));
}

}  // namespace

std::string front_picture(std::span<const FrontPoint> points, double min_steps, double min_rounds) {
  if (points.empty()) return {};
  const FrontScale scale = scale_of(points, min_steps, min_rounds);
  std::string svg = fmt::format(
      "<svg role=\"img\" class=\"front\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "aria-label=\"steps and rounds per chunk\">",
      kFrontWidth, kFrontHeight);
  svg += excluded_by(scale, min_steps, min_rounds) + axes_of(scale);
  Occupied taken;
  for (const FrontPoint& point : points) {
    const double x = scale.x_of(point.steps);
    taken.dots.push_back({x - kDotRadius, x + kDotRadius, scale.y_of(point.rounds_per_chunk)});
  }
  std::string dots;
  for (const FrontPoint& point : points) {
    const double x = scale.x_of(point.steps);
    const double y = scale.y_of(point.rounds_per_chunk);
    const bool beyond = point.rounds_per_chunk > scale.high;
    svg += label_of(
        beyond ? fmt::format("{} ({:.3g} rounds)", point.name, point.rounds_per_chunk) : point.name,
        x, y, taken);
    dots += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.0f}\"/>",
                        point.synthesised ? "own" : "other", x, y, kDotRadius);
  }
  return svg + dots + "</svg>";
}

}  // namespace cclgym
