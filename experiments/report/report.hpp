// HTML report with plots. The page is self-contained: it opens without a network.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/measured/measured_rows.hpp"
#include "experiments/published/published.hpp"
#include "experiments/run/link_table.hpp"
#include "experiments/run/results.hpp"
#include "experiments/sweep/experiment.hpp"
#include "sim/dispatchers/dispatcher.hpp"

namespace cclgym {

/// A timeline file that the report links to.
struct ReportTimeline {
  std::string label;
  std::string href;                      ///< relative to the report
  std::vector<LinkRow> busiest_links{};  ///< links of its call, in descending order of use
};

/// A dispatcher whose choices and scores the report shows.
struct ReportDispatcher {
  std::string name;  ///< "pccl:frontier.yaml", as a tuner
  Dispatcher dispatcher;
};

/// Input of a report.
struct ReportInput {
  std::span<const ResultRow> rows{};
  std::span<const MeasuredRow> measured{};
  std::span<const PublishedRow> published{};
  std::string results_href{};               ///< link to results.csv; empty: no link
  std::vector<ReportTimeline> timelines{};  ///< Chrome traces
  std::vector<ReportDispatcher> dispatchers{};
};

/// The page as text. Equal inputs give equal bytes.
[[nodiscard]] std::string report_html(const Experiment& experiment, const ReportInput& input);

/// Writes DIR/report.html (or `out` if it is not empty) atomically and returns its path. Reads the
/// experiment's measured and published files, and links to DIR/results.csv and to the timelines of
/// the folder (DIR/timelines/*.json, with the links in *.links.csv beside them). Throws UserError
/// if a file cannot be read or written.
std::string write_report(const Experiment& experiment, std::span<const ResultRow> rows,
                         const std::string& dir, const std::string& out = "",
                         std::vector<ReportDispatcher> dispatchers = {});

/// The dispatchers that are tuners of the experiment ("pccl:FILE"). Throws UserError if one cannot
/// be read.
[[nodiscard]] std::vector<ReportDispatcher> dispatchers_of(const Experiment& experiment);
/// The dispatcher of a file. Throws UserError if it cannot be read, or at `where` if it is not of a
/// machine of the experiment.
[[nodiscard]] ReportDispatcher read_report_dispatcher(const Experiment& experiment,
                                                      const std::string& path,
                                                      const SourceLocation& where);

/// The data that the page's scripts draw. Numbers that are not finite are null; integers that a
/// JavaScript number cannot hold are strings.
[[nodiscard]] std::string report_json(const Experiment& experiment, const ReportInput& input);

}  // namespace cclgym
