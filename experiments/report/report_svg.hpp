// The plots of a report as SVG files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/report/svg_plot.hpp"
#include "experiments/run/results.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym {

/// One plot of a fabric and collective.
struct ReportPlot {
  std::string name;  ///< name of a file, without ending: "ndv4-allreduce-time"
  SvgPlot plot;
};

/// Time, bus bandwidth and, with a baseline, speedup against size: one line per algorithm and
/// protocol, with its best configuration at each size (the median over the seeds), and one per
/// tuner, as in the page.
[[nodiscard]] std::vector<ReportPlot> report_plots(const Experiment& experiment,
                                                   std::span<const ResultRow> rows);

/// Writes FOLDER/NAME.svg for each plot, makes the folder if needed, and returns the paths. Throws
/// UserError before it writes anything if one of the files exists and is no plot of cclgym, or,
/// with `pngs`, if a PNG exists whose SVG does not.
std::vector<std::string> write_svgs(std::span<const ReportPlot> plots, const std::string& folder,
                                    bool pngs = false);

/// Writes a PNG beside each SVG with librsvg's rsvg-convert. Returns false if that is not
/// installed. Throws UserError if it fails.
bool write_pngs(std::span<const std::string> svg_paths);

}  // namespace cclgym
