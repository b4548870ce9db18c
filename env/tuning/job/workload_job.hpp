// A job as the workload of CollectiveTuning-v0, as the user names it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/yaml/yaml.hpp"
#include "workloads/graph/job_graph.hpp"

namespace cclgym {

/// A job, and the communicator whose calls are chosen.
struct WorkloadJob {
  JobGraph job;
  std::int32_t communicator = 0;  ///< index into JobGraph::communicators
  SourceLocation where{};         ///< place of the workload

  [[nodiscard]] const std::string& communicator_name() const {
    return job.communicators[at(communicator)].name;
  }
};

/// Name of the workload that is a job.
inline constexpr const char* kJobWorkload = "job";
/// True for {name: job, …}.
[[nodiscard]] bool is_job_workload(const YamlValue& workload);
/// The job of a workload: that of key `file`, relative to the folder of the file that names it, or
/// of key `job`. Throws UserError at the location of the mistake.
[[nodiscard]] JobGraph read_workload_job(const YamlValue& workload);
/// The job and its communicator, which need not be named if only one has calls. Throws UserError at
/// the location of the mistake.
[[nodiscard]] WorkloadJob read_job_workload(const YamlValue& workload);

}  // namespace cclgym
