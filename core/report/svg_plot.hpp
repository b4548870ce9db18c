// Plots as SVG text, without a browser, with the axes of the pages' plots (page_axes.js).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cclgym {

struct SvgSeries {
  std::string name;
  std::size_t colour = 0;  ///< place in the palette, which is that of the pages
  std::string dash{};      ///< stroke-dasharray: "9 4"; empty: solid
  std::vector<std::pair<std::uint64_t, double>> points{};  ///< (size in bytes, value > 0)
};

enum class SvgAxis : std::uint8_t { Time, Ratio, Linear };  ///< Time: microseconds

struct SvgPlot {
  std::string title;
  SvgAxis axis = SvgAxis::Linear;
  std::vector<SvgSeries> series;
};

/// First bytes of every drawing, which tell it from files of other programs.
inline constexpr std::string_view kSvgPlotBegins = "<svg data-writer=\"cclgym\"";

/// The drawing, 640 wide and as high as its legend needs. Text and lines are black on white. Equal
/// plots give equal bytes.
[[nodiscard]] std::string svg_plot(const SvgPlot& plot);

/// Ticks of a logarithmic axis of ratios: 0.25, 0.5, 1, 2, …; more on narrow axes.
[[nodiscard]] std::vector<double> ratio_ticks(double least, double most);
/// Powers of two below one are fractions: "1/4×", "1.5×".
[[nodiscard]] std::string ratio_text(double ratio);
/// Every k-th of the sizes (ascending), with the least k that puts labels at least 1 / room of the
/// axis apart.
[[nodiscard]] std::vector<std::uint64_t> size_ticks(std::span<const std::uint64_t> sizes,
                                                    double room);

}  // namespace cclgym
