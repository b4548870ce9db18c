// Jobs as YAML files (docs/workloads-reference.md).
#pragma once

#include <string>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "workloads/graph/job_graph.hpp"
#include "workloads/readers/job_limits.hpp"

namespace cclgym {

/// Keys of a job, of a communicator, of a program and of an operation.
[[nodiscard]] const std::vector<OptionSpec>& job_options();
[[nodiscard]] const std::vector<OptionSpec>& job_communicator_options();
[[nodiscard]] const std::vector<OptionSpec>& job_program_options();
[[nodiscard]] const std::vector<OptionSpec>& job_op_options();

/// Reads a job, or makes it by the generator of key `generate`. The result has passed check_job and
/// merge_equal_programs. Throws UserError at the place of the fault; faults between ranks, such as
/// a send without recv, are placed at the line of the operation.
[[nodiscard]] JobGraph read_job(const YamlValue& value, const JobLimits& limits = {});
/// Reads a YAML file as read_job does. Throws UserError if it cannot be read.
[[nodiscard]] JobGraph read_job_file(const std::string& path, const JobLimits& limits = {});

/// The job as YAML, which reads back as the same job apart from the places that operations come
/// from, the order of the tables and programs, and memory traffic, which is rounded to whole bytes.
/// Throws UserError if a compute operation has both a duration and FLOP or bytes.
[[nodiscard]] std::string write_job(const JobGraph& job);

}  // namespace cclgym
