#include "core/report/svg_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <set>

#include "core/report/page.hpp"

namespace cclgym {

namespace {

constexpr double kWidth = 640;
constexpr double kLeft = 66;
constexpr double kRight = 26;
constexpr double kTop = 34;
constexpr double kHeight = 300;  // height of the plotted area
constexpr double kLegendLine = 18;
constexpr std::array kColours{"#1f6fc5", "#cf5410", "#16854a", "#8747c2", "#a87a00", "#c02a76",
                              "#0d8385", "#666c75", "#4348c4", "#7d4a1c", "#557f00", "#b23a48"};

// Three digits in the largest unit.
std::string svg_size_text(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return value < 1000 ? fmt::format("{:.3g}{}", value, kUnits[unit])
                      : fmt::format("{:.0f}{}", value, kUnits[unit]);
}

std::string svg_time_text(double us) {
  if (us >= 1e6) return fmt::format("{:g} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:g} ms", us / 1e3);
  return us >= 1 ? fmt::format("{:g} µs", us) : fmt::format("{:g} ns", us * 1e3);
}

// The nearest 1-2-5 step below or above a value.
double step_of(double value, bool up) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  const std::array<double, 4> steps{power, 2 * power, 5 * power, 10 * power};
  if (up) {
    const auto* const found =
        std::ranges::find_if(steps, [&](double one) { return one >= value * 0.999; });
    return found == steps.end() ? steps.back() : *found;
  }
  double best = power;
  for (const double one : steps) {
    if (one <= value * 1.001) best = one;
  }
  return best;
}

struct Axis {
  double least = 0;
  double most = 1;
  bool logarithmic = false;
  std::vector<double> ticks{};

  [[nodiscard]] double share(double value) const {
    return logarithmic ? std::log(value / least) / std::log(most / least)
                       : (value - least) / (most - least);
  }
};

Axis value_axis(const SvgPlot& plot) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const SvgSeries& one : plot.series) {
    for (const auto& [bytes, value] : one.points) {
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  if (most <= 0) least = most = 1;
  Axis axis{.logarithmic = plot.axis != SvgAxis::Linear};
  if (plot.axis == SvgAxis::Time) {
    axis.least = step_of(least, false);
    axis.most = step_of(most, true);
    if (axis.least >= axis.most) axis = {.least = least / 2, .most = most * 2, .logarithmic = true};
    const bool dense = axis.most / axis.least < 30;
    for (double power = std::pow(10, std::floor(std::log10(axis.least)));
         power <= axis.most * 1.001; power *= 10) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double value = power * factor;
        if ((dense || factor == 1) && value >= axis.least * 0.999 && value <= axis.most * 1.001) {
          axis.ticks.push_back(value);
        }
      }
    }
  } else if (plot.axis == SvgAxis::Ratio) {
    least = std::min(least, 1.0);
    most = std::max(most, 1.0);
    const bool narrow = most / least < 1.6;
    axis.least = narrow ? least * 0.98 : std::exp2(std::floor(std::log2(least) + 1e-9));
    axis.most = narrow ? most * 1.03 : std::max(2.0, 1.06 * most);
    axis.ticks = ratio_ticks(axis.least, axis.most);
  } else {
    const double step = step_of(most / 5, true);
    axis.most = std::ceil(most / step) * step;
    for (int i = 0; i * step <= axis.most * 1.001; ++i) axis.ticks.push_back(i * step);
  }
  return axis;
}

std::string text_at(double x, double y, std::string_view anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     html_escaped(text));
}

std::string line_of_grid(double x0, double y0, double x1, double y1, std::string_view colour) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x0, y0, x1,
      y1, colour);
}

// Names and lines of the series, as many in a row as fit.
std::string legend_of(const SvgPlot& plot, double top, double& bottom) {
  std::string text;
  double x = kLeft;
  double y = top;
  for (const SvgSeries& one : plot.series) {
    const double width = 36 + 7.0 * static_cast<double>(one.name.size()) + 14;
    if (x > kLeft && x + width > kWidth) {
      x = kLeft;
      y += kLegendLine;
    }
    text += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n",
        x, y - 4, x + 28, y - 4, kColours[one.colour % kColours.size()],
        one.dash.empty() ? "none" : one.dash);
    text += text_at(x + 34, y, "start", one.name);
    x += width;
  }
  bottom = y;
  return text;
}

}  // namespace

std::vector<double> ratio_ticks(double least, double most) {
  std::vector<double> ticks;
  if (most / least < 1.6) {
    double step = 0.1;
    for (const double one : {0.1, 0.05, 0.02, 0.01}) {
      if ((most - least) / one <= 8) step = one;
    }
    for (double i = std::ceil(least / step - 1e-9); i * step <= most * (1 + 1e-9); ++i) {
      ticks.push_back(i * step);
    }
    return ticks;
  }
  std::vector<double> factors{1};
  if (most / least < 6) factors = {1, 1.5};
  if (most / least < 3) factors = {1, 1.25, 1.5, 1.75};
  const int every = std::max(1, static_cast<int>(std::ceil(std::log2(most / least) / 8)));
  const int first = static_cast<int>(std::floor(std::log2(least)));
  for (int power = first; power <= std::log2(most) + 1e-9; ++power) {
    if (power % every != 0) continue;
    for (const double factor : factors) {
      const double value = factor * std::exp2(power);
      if (value >= least * 0.999 && value <= most * 1.001) ticks.push_back(value);
    }
  }
  return ticks;
}

std::string ratio_text(double ratio) {
  const double power = std::log2(ratio);
  if (power < 0 && power == std::floor(power)) return fmt::format("1/{:g}×", std::exp2(-power));
  return fmt::format("{:.4g}×", ratio);
}

std::vector<std::uint64_t> size_ticks(std::span<const std::uint64_t> sizes, double room) {
  if (sizes.size() < 2) return {sizes.begin(), sizes.end()};
  const auto log_of = [](std::uint64_t size) { return std::log(static_cast<double>(size)); };
  const double length = log_of(sizes.back()) - log_of(sizes.front());
  for (std::size_t step = 1; step < sizes.size(); ++step) {
    std::vector<std::uint64_t> ticks;
    bool apart = true;
    for (std::size_t i = 0; i < sizes.size(); i += step) {
      apart = apart &&
              (ticks.empty() || (log_of(sizes[i]) - log_of(ticks.back())) / length * room >= 1);
      ticks.push_back(sizes[i]);
    }
    if (apart) return ticks;
  }
  return {sizes.front()};
}

std::string svg_plot(const SvgPlot& plot) {
  std::set<std::uint64_t> distinct;
  for (const SvgSeries& one : plot.series) {
    for (const auto& [bytes, value] : one.points) distinct.insert(bytes);
  }
  const std::vector<std::uint64_t> sizes(distinct.begin(), distinct.end());
  Axis across{.logarithmic = true};
  if (!sizes.empty()) {
    across.least = static_cast<double>(sizes.front());
    across.most = static_cast<double>(sizes.back());
  }
  if (sizes.size() < 2) {
    across.least = sizes.empty() ? 1 : across.least / 2;
    across.most = sizes.empty() ? 2 : across.most * 2;
  }
  const Axis up = value_axis(plot);
  const auto x_of = [&](double bytes) {
    return kLeft + (kWidth - kLeft - kRight) * across.share(bytes);
  };
  const auto y_of = [&](double value) { return kTop + kHeight * (1 - up.share(value)); };
  std::string body;
  for (const std::uint64_t size : size_ticks(sizes, (kWidth - kLeft - kRight) / 56)) {
    const double x = x_of(static_cast<double>(size));
    body += line_of_grid(x, kTop, x, kTop + kHeight, "#e6e9ed");
    body += text_at(x, kTop + kHeight + 16, "middle", svg_size_text(size));
  }
  for (const double tick : up.ticks) {
    const double y = y_of(tick);
    const bool one = plot.axis == SvgAxis::Ratio && tick == 1;
    body += line_of_grid(kLeft, y, kWidth - kRight, y, one ? "#5d646e" : "#e6e9ed");
    body += text_at(kLeft - 7, y + 4, "end",
                    plot.axis == SvgAxis::Time    ? svg_time_text(tick)
                    : plot.axis == SvgAxis::Ratio ? ratio_text(tick)
                                                  : fmt::format("{:g}", tick));
  }
  for (const SvgSeries& one : plot.series) {
    std::string points;
    std::string dots;
    const char* const colour = kColours[one.colour % kColours.size()];
    for (const auto& [bytes, value] : one.points) {
      const double x = x_of(static_cast<double>(bytes));
      points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x, y_of(value));
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.2\" fill=\"{}\"/>\n", x,
                          y_of(value), colour);
    }
    body += fmt::format(
        "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\" "
        "points=\"{}\"/>\n",
        colour, one.dash.empty() ? "none" : one.dash, points);
    body += dots;
  }
  double bottom = 0;
  body += legend_of(plot, kTop + kHeight + 42, bottom);
  const double height = bottom + 12;
  return std::string(kSvgPlotBegins) +
         fmt::format(
             " xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 "
             "{0} {1}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" "
             "fill=\"#1b1e23\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
             kWidth, height) +
         fmt::format("<text x=\"{}\" y=\"20\" font-size=\"14\" font-weight=\"600\">{}</text>\n", 12,
                     html_escaped(plot.title)) +
         body + "</svg>\n";
}

}  // namespace cclgym
