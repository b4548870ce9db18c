#include "experiments/report/run_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "core/counted.hpp"
#include "core/report/page.hpp"
#include "core/text_columns.hpp"
#include "core/version.hpp"
#include "experiments/report/report_svg.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kRunComparisonScript;
}  // namespace embedded

namespace {

std::vector<std::string> comparison_sentences(const RunComparison& comparison,
                                              const ComparedRun& first, const ComparedRun& second) {
  std::vector<std::string> sentences{
      fmt::format("{} have {} in common; {} only in the first, {} only in the second.",
                  first.folder + " and " + second.folder, counted(comparison.common, "cell"),
                  comparison.only_first, comparison.only_second),
      comparison.changed.empty()
          ? std::string("All common cells have the same time.")
          : fmt::format(
                "{} of them have another time; the second takes {:.4f} times as long in the "
                "geometric mean of all common cells.",
                comparison.changed.size(), comparison.mean_ratio)};
  return sentences;
}

}  // namespace

RunComparison compare_runs(std::span<const ResultRow> first, std::span<const ResultRow> second) {
  const auto usable = [](const ResultRow& row) {
    return std::isfinite(row.time_us) && row.time_us > 0;
  };
  std::map<std::string, double> times;
  for (const ResultRow& row : first) {
    if (usable(row)) times[row.cell_key] = row.time_us;
  }
  RunComparison comparison;
  double logs = 0;
  for (const ResultRow& row : second) {
    if (!usable(row)) continue;
    const auto found = times.find(row.cell_key);
    if (found == times.end()) {
      ++comparison.only_second;
      continue;
    }
    ++comparison.common;
    const double ratio = row.time_us / found->second;
    logs += std::log(ratio);
    if (row.time_us != found->second) {
      comparison.changed.push_back({row.cell_key, found->second, row.time_us, ratio});
    }
    times.erase(found);
  }
  comparison.only_first = times.size();
  if (comparison.common > 0) {
    comparison.mean_ratio = std::exp(logs / static_cast<double>(comparison.common));
  }
  std::ranges::sort(comparison.changed, [](const ChangedCell& a, const ChangedCell& b) {
    const double change_a = std::abs(std::log(a.ratio));
    const double change_b = std::abs(std::log(b.ratio));
    return change_a != change_b ? change_a > change_b : a.cell_key < b.cell_key;
  });
  return comparison;
}

std::string comparison_table(const RunComparison& comparison, const ComparedRun& first,
                             const ComparedRun& second, std::size_t most) {
  std::string text;
  for (const std::string& sentence : comparison_sentences(comparison, first, second)) {
    text += sentence + "\n";
  }
  if (comparison.changed.empty()) return text;
  Column cell{.heading = "cell", .left = true};
  Column before{.heading = "first", .unit = "us"};
  Column after{.heading = "second", .unit = "us"};
  Column ratio{.heading = "second /", .unit = "first"};
  for (std::size_t i = 0; i < std::min(most, comparison.changed.size()); ++i) {
    const ChangedCell& one = comparison.changed[i];
    cell.cells.push_back(one.cell_key);
    before.cells.push_back(fmt::format("{:.3f}", one.first_us));
    after.cells.push_back(fmt::format("{:.3f}", one.second_us));
    ratio.cells.push_back(fmt::format("{:.4f}", one.ratio));
  }
  text += "\n" + format_columns({cell, before, after, ratio});
  if (comparison.changed.size() > most) {
    text += fmt::format("  … and {} more\n", comparison.changed.size() - most);
  }
  return text;
}

std::string comparison_page(const RunComparison& comparison, const ComparedRun& first,
                            const ComparedRun& second) {
  using Json = nlohmann::ordered_json;
  constexpr std::size_t kMostCells = 1000;
  Json data{{"version", program_version()},
            {"outcome", comparison_sentences(comparison, first, second)},
            {"runs", {first.folder, second.folder}},
            {"changed", Json::array()},
            {"plots", Json::array()}};
  for (const ChangedCell& one : comparison.changed) {
    if (data["changed"].size() == kMostCells) break;
    data["changed"].push_back({one.cell_key, one.first_us, one.second_us, one.ratio});
  }
  // Plots with the same name stand side by side; plots of one run alone come last.
  const std::vector<ReportPlot> left = report_plots(*first.experiment, first.rows);
  const std::vector<ReportPlot> right = report_plots(*second.experiment, second.rows);
  const auto named = [](const std::vector<ReportPlot>& plots, const std::string& name) {
    const auto found = std::ranges::find(plots, name, &ReportPlot::name);
    return found == plots.end() ? Json(nullptr) : Json(svg_plot(found->plot));
  };
  for (const ReportPlot& one : left) {
    data["plots"].push_back({one.plot.title, svg_plot(one.plot), named(right, one.name)});
  }
  for (const ReportPlot& one : right) {
    if (!named(left, one.name).is_null()) continue;
    data["plots"].push_back({one.plot.title, nullptr, svg_plot(one.plot)});
  }
  return html_page({.title = "Two runs",
                    .notice = "The plots of this page need JavaScript. The figures as text:",
                    .text = comparison_table(comparison, first, second, 50),
                    .json = data.dump(-1, ' ', true, Json::error_handler_t::replace),
                    .scripts = {embedded::kRunComparisonScript}});
}

}  // namespace cclgym
