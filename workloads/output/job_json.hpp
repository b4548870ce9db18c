// The numbers of a simulated job as JSON.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include "workloads/output/job_text.hpp"

namespace cclgym {

struct JobJsonOptions {
  std::size_t max_actors = std::numeric_limits<std::size_t>::max();
  std::size_t max_segments =
      std::numeric_limits<std::size_t>::max();  ///< segments of the critical path
  std::size_t max_links = std::numeric_limits<std::size_t>::max();  ///< the busiest links
  int indent = 2;  ///< blanks per level; -1: a single line
};

/// One object: the times of ranks, the calls, the critical path, and, if the record has a series,
/// the use of links over time; `tuners` may be empty. Times in s, sizes in B, rates in B/s, shares
/// from 0 to 1. Equal inputs give equal bytes.
[[nodiscard]] std::string job_json(const JobGraph& job, const JobRecord& record,
                                   const JobBreakdown& breakdown, const Fabric& fabric,
                                   std::span<const TunerRow> tuners = {},
                                   const JobJsonOptions& options = {});

}  // namespace cclgym
