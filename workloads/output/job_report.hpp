// A simulated job as one self-contained HTML page.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "workloads/output/job_text.hpp"
#include "workloads/timing/job_tuning.hpp"

namespace cclgym {

struct JobReportOptions {
  std::string cost_model{};           ///< named in the page's head if not empty
  std::string tuner{};                ///< tuner of the simulated step; named if not empty
  const JobTuning* tuning = nullptr;  ///< search whose choices are shown; null: none
  std::size_t max_ranks = 16;         ///< drawn with their operations over time: one per program
  std::size_t max_bars = 48;          ///< bars of the times of ranks
};

/// The page. `tuners`: a comparison with the simulated tuner in the first row; may be empty. The
/// simulator that made the record must still exist. Equal inputs give equal bytes.
[[nodiscard]] std::string job_report(const JobGraph& job, const JobRecord& record,
                                     const JobBreakdown& breakdown, const Fabric& fabric,
                                     std::span<const TunerRow> tuners = {},
                                     const JobReportOptions& options = {});

}  // namespace cclgym
