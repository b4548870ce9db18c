#include "experiments/report/report_svg.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <set>
#include <spawn.h>
#include <sys/wait.h>
#include <tuple>

#include "core/files/own_files.hpp"
#include "core/files/text_file.hpp"
#include "core/statistics.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/summary/report_summary.hpp"

extern char** environ;

namespace cclgym {

namespace {

// Values of one configuration at one size, over the seeds.
struct SeedValues {
  std::vector<double> time_us{};
  std::vector<double> busbw{};
  std::vector<double> speedup{};
};

// Values of the best configuration of a line at one size.
struct BestPoint {
  double time_us = 0;
  double busbw = 0;
  double speedup = 0;  // 0: none
};

using ConfigKey = std::tuple<std::string, std::string, int, int, int, std::uint64_t, int>;
using LineKey = std::pair<std::string, std::string>;  // algorithm; protocol, or nothing for a tuner

std::map<std::uint64_t, BestPoint> best_points(
    const std::map<std::uint64_t, std::map<ConfigKey, SeedValues>>& sizes) {
  std::map<std::uint64_t, BestPoint> best;
  for (const auto& [bytes, configs] : sizes) {
    for (const auto& [key, values] : configs) {
      const double time_us = median(values.time_us);
      BestPoint& point = best[bytes];
      if (point.time_us > 0 && point.time_us <= time_us) continue;
      point = {.time_us = time_us,
               .busbw = median(values.busbw),
               .speedup = values.speedup.empty() ? 0 : median(values.speedup)};
    }
  }
  return best;
}

std::string file_name(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '-';
  }
  return text;
}

std::string dash_of(const std::string& protocol) {
  if (protocol == "Simple") return "";
  if (protocol == "LL128") return "9 4";
  return protocol == "LL" ? "2 3" : "6 3 1 3";
}

}  // namespace

std::vector<ReportPlot> report_plots(const Experiment& experiment,
                                     std::span<const ResultRow> rows) {
  const ResultSummary summary = summarize(experiment, rows, {});
  std::vector<std::string> algorithms;
  for (const ResultRow& row : rows) {
    if (std::ranges::find(algorithms, row.algorithm) == algorithms.end()) {
      algorithms.push_back(row.algorithm);
    }
  }
  const std::string baseline = baseline_text(experiment);
  std::vector<ReportPlot> plots;
  for (const BlockSummary& block : summary.blocks) {
    std::vector<LineKey> order;
    std::map<LineKey, std::map<std::uint64_t, std::map<ConfigKey, SeedValues>>> lines;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const ResultRow& row = rows[i];
      if (row.fabric != block.fabric || row.collective != block.collective ||
          row.ranks != block.ranks || row.servers != block.servers || !(row.time_us > 0)) {
        continue;
      }
      const LineKey line{row.algorithm, row.chosen() ? "" : row.protocol};
      if (!lines.contains(line)) order.push_back(line);
      SeedValues& values =
          lines[line][row.size_bytes][{row.program, row.protocol, row.channels, row.instances,
                                       row.threads, row.tile_bytes, row.slots}];
      values.time_us.push_back(row.time_us);
      values.busbw.push_back(row.busbw_GBps);
      if (summary.speedups[i]) values.speedup.push_back(*summary.speedups[i]);
    }
    const std::string title = block.fabric + ", " + block.collective;
    ReportPlot time{file_name(block.fabric + "-" + block.collective + "-time"),
                    {title + ": time", SvgAxis::Time, {}}};
    ReportPlot busbw{file_name(block.fabric + "-" + block.collective + "-busbw"),
                     {title + ": bus bandwidth (GB/s)", SvgAxis::Linear, {}}};
    ReportPlot speedup{file_name(block.fabric + "-" + block.collective + "-speedup"),
                       {title + ": speedup over " + baseline, SvgAxis::Ratio, {}}};
    for (const LineKey& line : order) {
      SvgSeries series{.name = line.second.empty() ? line.first : line.first + " " + line.second,
                       .colour = static_cast<std::size_t>(
                           std::ranges::find(algorithms, line.first) - algorithms.begin()),
                       .dash = dash_of(line.second)};
      SvgSeries bandwidths = series;
      SvgSeries speedups = series;
      for (const auto& [bytes, point] : best_points(lines[line])) {
        series.points.emplace_back(bytes, point.time_us);
        bandwidths.points.emplace_back(bytes, point.busbw);
        if (point.speedup > 0) speedups.points.emplace_back(bytes, point.speedup);
      }
      time.plot.series.push_back(std::move(series));
      busbw.plot.series.push_back(std::move(bandwidths));
      if (!speedups.points.empty()) speedup.plot.series.push_back(std::move(speedups));
    }
    plots.push_back(std::move(time));
    plots.push_back(std::move(busbw));
    if (!speedup.plot.series.empty()) plots.push_back(std::move(speedup));
  }
  // Names that differ only in other characters than letters and digits get numbers.
  std::map<std::string, int> seen;
  for (ReportPlot& one : plots) {
    const int count = ++seen[one.name];
    if (count > 1) one.name += fmt::format("-{}", count);
  }
  return plots;
}

std::vector<std::string> write_svgs(std::span<const ReportPlot> plots, const std::string& folder,
                                    bool pngs) {
  for (const ReportPlot& one : plots) {
    refuse_foreign_files(
        folder, {.writer = "cclgym report --svg",
                 .mark = one.name + ".svg",
                 .mark_begins = std::string(kSvgPlotBegins),
                 .others = pngs ? std::vector{one.name + ".png"} : std::vector<std::string>{}});
  }
  make_folder(folder);
  std::vector<std::string> paths;
  for (const ReportPlot& one : plots) {
    paths.push_back(folder + "/" + one.name + ".svg");
    write_text_file(paths.back(), svg_plot(one.plot));
  }
  return paths;
}

bool write_pngs(std::span<const std::string> svg_paths) {
  for (const std::string& path : svg_paths) {
    std::string svg = path;
    std::string png = path.substr(0, path.size() - 4) + ".png";
    std::string program = "rsvg-convert";
    std::string zoom = "--zoom=2";
    std::string output = "--output=" + png;
    // A path that begins with '-' would be an option.
    if (svg.starts_with('-')) svg.insert(0, "./");
    char* const arguments[] = {program.data(), zoom.data(), output.data(), svg.data(), nullptr};
    pid_t child = 0;
    if (::posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) {
      return false;
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return false;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      throw UserError({png, 0, 0}, "rsvg-convert could not make it");
    }
  }
  return true;
}

}  // namespace cclgym
