#include "experiments/report/report.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "core/files/text_file.hpp"
#include "core/report/page.hpp"
#include "experiments/measured/measured_rows.hpp"
#include "experiments/published/published_comparison.hpp"
#include "experiments/summary/report_summary.hpp"
#include "experiments/summary/table.hpp"
#include "sim/tuners/pccl_tuner.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kReportBaseScript;
extern const std::string_view kReportPlotsScript;
extern const std::string_view kReportTablesScript;
extern const std::string_view kReportSizePlotScript;
extern const std::string_view kReportPublishedScript;
extern const std::string_view kReportCrossoversScript;
extern const std::string_view kReportHeatmapsScript;
extern const std::string_view kReportSpreadScript;
extern const std::string_view kReportPageScript;
}  // namespace embedded

namespace {

// A path as a relative URL, with everything but unreserved characters and '/' percent-encoded.
std::string url_of(std::string_view path) {
  std::string url;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-_.~/").find(c) != std::string_view::npos;
    url += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

std::vector<ReportTimeline> timelines_in(const std::filesystem::path& dir,
                                         const std::filesystem::path& report_dir) {
  constexpr std::size_t kMostLinks = 8;
  std::vector<ReportTimeline> timelines;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir / "timelines", error)) {
    if (entry.path().extension() != ".json") continue;
    ReportTimeline& timeline = timelines.emplace_back();
    timeline.label = entry.path().stem().string();
    timeline.href = url_of(entry.path().lexically_relative(report_dir).generic_string());
    const std::string links = link_table_path(entry.path().string());
    // Runs of earlier versions have no such file.
    if (!std::filesystem::exists(links, error)) continue;
    timeline.busiest_links = read_link_table(links);
    if (timeline.busiest_links.size() > kMostLinks) timeline.busiest_links.resize(kMostLinks);
  }
  std::sort(timelines.begin(), timelines.end(),
            [](const ReportTimeline& a, const ReportTimeline& b) { return a.label < b.label; });
  return timelines;
}

}  // namespace

std::string report_html(const Experiment& experiment, const ReportInput& input) {
  return html_page(
      {.title = experiment.name,
       .notice = "The plots and the sortable tables of this page need JavaScript. The main results "
                 "as text:",
       .text = table_text(experiment, input.rows, input.measured) +
               published_text(compare_published(experiment, input.rows, input.published),
                              input.published.size()),
       .json = report_json(experiment, input),
       .scripts = {embedded::kReportBaseScript, embedded::kReportPlotsScript,
                   embedded::kReportTablesScript, embedded::kReportSizePlotScript,
                   embedded::kReportPublishedScript, embedded::kReportCrossoversScript,
                   embedded::kReportSpreadScript, embedded::kReportHeatmapsScript,
                   embedded::kReportPageScript}});
}

std::string write_report(const Experiment& experiment, std::span<const ResultRow> rows,
                         const std::string& dir, const std::string& out,
                         std::vector<ReportDispatcher> dispatchers) {
  const std::filesystem::path folder = std::filesystem::absolute(dir).lexically_normal();
  const std::string path =
      out.empty() ? (std::filesystem::path(dir) / "report.html").string() : out;
  const std::filesystem::path report_dir =
      std::filesystem::absolute(path).lexically_normal().parent_path();
  const std::vector<MeasuredRow> measured = read_measured_files(experiment);
  const std::vector<PublishedRow> published = read_published_files(experiment);
  const ReportInput input{
      .rows = rows,
      .measured = measured,
      .published = published,
      .results_href =
          url_of((folder / "results.csv").lexically_relative(report_dir).generic_string()),
      .timelines = timelines_in(folder, report_dir),
      .dispatchers = std::move(dispatchers)};
  write_text_file(path, report_html(experiment, input));
  return path;
}

std::vector<ReportDispatcher> dispatchers_of(const Experiment& experiment) {
  std::vector<std::string> seen;
  std::vector<ReportDispatcher> all;
  for (const Cell& cell : experiment.cells) {
    if (std::ranges::find(seen, cell.tuner) != seen.end()) continue;
    seen.push_back(cell.tuner);
    const std::string path = dispatcher_path(cell.tuner, {.file = experiment.path});
    if (!path.empty()) all.push_back({.name = cell.tuner, .dispatcher = load_dispatcher(path)});
  }
  return all;
}

ReportDispatcher read_report_dispatcher(const Experiment& experiment, const std::string& path,
                                        const SourceLocation& where) {
  ReportDispatcher read{.name = "pccl:" + path, .dispatcher = load_dispatcher(path)};
  std::vector<std::string> machines;
  for (const ExperimentFabric& one : experiment.fabrics) {
    if (one.fabric->name() == read.dispatcher.fabric) return read;
    machines.push_back(quoted(one.fabric->name()));
  }
  std::ranges::sort(machines);
  machines.erase(std::unique(machines.begin(), machines.end()), machines.end());
  throw UserError(
      where, fmt::format("dispatcher {} is for the machine '{}'; the run has {}", quoted(path, 200),
                         read.dispatcher.fabric, fmt::join(machines, ", ")));
}

}  // namespace cclgym
