#include "experiments/report/report.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "core/files/text_file.hpp"
#include "experiments/published/published_comparison.hpp"
#include "experiments/summary/report_summary.hpp"
#include "experiments/summary/table.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kChartJs;
extern const std::string_view kReportTemplate;
extern const std::string_view kReportStyle;
extern const std::string_view kReportBaseScript;
extern const std::string_view kReportPlotsScript;
extern const std::string_view kReportTablesScript;
extern const std::string_view kReportSizePlotScript;
extern const std::string_view kReportPublishedScript;
extern const std::string_view kReportCrossoversScript;
extern const std::string_view kReportSpreadScript;
extern const std::string_view kReportPageScript;
}  // namespace embedded

std::string filled_in(std::string_view text,
                      const std::vector<std::pair<std::string_view, std::string_view>>& pairs) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto pair = std::find_if(pairs.begin(), pairs.end(), [&](const auto& candidate) {
      return text.substr(i).starts_with(candidate.first);
    });
    if (pair != pairs.end()) {
      result += pair->second;
      i += pair->first.size();
    } else {
      result += text[i++];
    }
  }
  return result;
}

namespace {

// A path as a relative URL: everything but unreserved characters and '/' in percent form.
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

std::string html_escaped(std::string_view text) {
  return filled_in(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string json_for_script(std::string_view json) {
  // In JSON these characters occur only inside strings, where they may be written as escapes.
  return filled_in(json, {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

std::string javascript_for_script(std::string_view source) {
  // In strings and regular expressions \/ is / and \! is !. HTML ignores the case of "script".
  constexpr std::string_view kEnd = "</script";
  const auto same = [](char a, char b) { return a == b || a == b - 'a' + 'A'; };
  std::string result;
  result.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    const std::string_view rest = source.substr(i);
    const bool end = rest.size() >= kEnd.size() &&
                     std::equal(rest.begin(), rest.begin() + kEnd.size(), kEnd.begin(), same);
    result += source[i];
    if (end || rest.starts_with("<!--")) result += '\\';
  }
  return result;
}

std::string report_html(const Experiment& experiment, const ReportInput& input) {
  const std::string title = html_escaped(experiment.name);
  const std::string chart_js = javascript_for_script(embedded::kChartJs);
  const std::string base = javascript_for_script(embedded::kReportBaseScript);
  const std::string plots = javascript_for_script(embedded::kReportPlotsScript);
  const std::string tables = javascript_for_script(embedded::kReportTablesScript);
  const std::string size_plot = javascript_for_script(embedded::kReportSizePlotScript);
  const std::string published = javascript_for_script(embedded::kReportPublishedScript);
  const std::string crossovers = javascript_for_script(embedded::kReportCrossoversScript);
  const std::string spread = javascript_for_script(embedded::kReportSpreadScript);
  const std::string page = javascript_for_script(embedded::kReportPageScript);
  const std::string data = json_for_script(report_json(experiment, input));
  const std::string text =
      html_escaped(table_text(experiment, input.rows, input.measured) +
                   published_text(compare_published(experiment, input.rows, input.published),
                                  input.published.size()));
  return filled_in(embedded::kReportTemplate, {{"{{title}}", title},
                                               {"{{style}}", embedded::kReportStyle},
                                               {"{{chart_js}}", chart_js},
                                               {"{{base_script}}", base},
                                               {"{{plots_script}}", plots},
                                               {"{{tables_script}}", tables},
                                               {"{{size_plot_script}}", size_plot},
                                               {"{{published_script}}", published},
                                               {"{{crossovers_script}}", crossovers},
                                               {"{{spread_script}}", spread},
                                               {"{{page_script}}", page},
                                               {"{{data}}", data},
                                               {"{{text}}", text}});
}

std::string write_report(const Experiment& experiment, std::span<const ResultRow> rows,
                         const std::string& dir, const std::string& out) {
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
      .timelines = timelines_in(folder, report_dir)};
  write_text_file(path, report_html(experiment, input));
  return path;
}

}  // namespace cclgym
