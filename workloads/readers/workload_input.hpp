// Jobs from files of any format that cclgym reads.
#pragma once

#include <string>
#include <vector>

#include "core/options/option.hpp"
#include "workloads/graph/job_graph.hpp"
#include "workloads/readers/traces/chakra_reader.hpp"
#include "workloads/readers/traces/kineto_reader.hpp"

namespace cclgym {

/// Formats, in the order of workload_formats().
enum class WorkloadFormat : std::uint8_t { Job, Goal, Chakra, Kineto };
/// "job", "goal", "chakra", "kineto".
[[nodiscard]] const std::vector<std::string>& workload_formats();

/// Format of files by their names: ".yaml" and ".yml" are jobs, ".goal" schedules, ".et" (or the
/// common prefix of such files) Chakra traces, ".json" and ".json.gz" profiles of PyTorch. Throws
/// UserError that lists the endings if it is none of these.
[[nodiscard]] WorkloadFormat format_of(const std::vector<std::string>& files);

struct WorkloadInput {
  WorkloadFormat format = WorkloadFormat::Job;
  /// One file; of traces, one per rank in the order of the ranks, or the prefix of Chakra's files.
  std::vector<std::string> files{};
  ChakraOptions chakra{};
  KinetoOptions kineto{};
};

/// Reads a job. Throws UserError as the reader of the format does, and if there are several files
/// of a format that has one.
[[nodiscard]] JobGraph read_workload_input(const WorkloadInput& input);

}  // namespace cclgym
