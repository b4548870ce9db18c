#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "core/report/page.hpp"
#include "experiments/schedules/schedule_pictures.hpp"

namespace cclgym {

namespace {

constexpr double kFrontWidth = 820;
constexpr double kFrontHeight = 340;
constexpr double kFrontLeft = 64;
constexpr double kFrontRight = 200;  // for the labels of the last points
constexpr double kFrontBottom = 44;
constexpr double kFrontTop = 14;
constexpr double kLabelRow = 13;
constexpr double kCharacterWidth = 6.9;  // average in text of 12 px
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
  constexpr double kShownRatio = 2;
  if (own_high > 0) scale.high = std::min(scale.high, kShownRatio * own_high);
  scale.last_step += 1;
  const double room = std::max(0.15 * (scale.high - scale.low), 0.05 * scale.high);
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
  const double step = round_step((scale.high - scale.low) / 4);
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

// A label beside its point, or above or below that place where it meets neither points nor labels;
// then a line leads to it.
std::string label_of(const std::string& name, double x, double y, std::vector<LabelBox>& taken) {
  constexpr double kGap = 9;
  const double width = kCharacterWidth * static_cast<double>(name.size());
  LabelBox box{x + kGap, x + kGap + width, y};
  for (int k = 1; k < 40; ++k) {
    const double shift = kLabelRow * (k / 2) * (k % 2 == 0 ? -1 : 1);
    box.middle = y + shift;
    const bool inside = box.middle > kFrontTop && box.middle < kFrontHeight - kFrontBottom;
    if (!inside && k > 1) continue;
    // From a place above or below, a line has room.
    box.left = x + (k == 1 ? kGap : 2 * kGap);
    box.right = box.left + width;
    if (std::none_of(taken.begin(), taken.end(),
                     [&](const LabelBox& other) { return other.meets(box); })) {
      break;
    }
  }
  taken.push_back(box);
  std::string svg;
  if (box.middle != y) {
    svg = fmt::format("<path class=\"leader\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", x, y,
                      box.left - 2, box.middle);
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
  std::vector<LabelBox> taken;
  for (const FrontPoint& point : points) {
    const double x = scale.x_of(point.steps);
    taken.push_back({x - kDotRadius, x + kDotRadius, scale.y_of(point.rounds_per_chunk)});
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
