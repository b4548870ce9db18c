#include "env/tuning/job/workload_job.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "core/options/option.hpp"
#include "env/tuning/workload/workload.hpp"
#include "workloads/readers/job_file.hpp"
#include "workloads/readers/workload_input.hpp"

namespace cclgym {

namespace {

YamlValue workload_value(const YamlValue& workload, std::string_view key) {
  return option_value(workload, find_option(workload_options(), key));
}

// True for each communicator with a collective call on two or more ranks.
std::vector<bool> calling_communicators(const JobGraph& job) {
  std::vector<bool> calling(job.communicators.size(), false);
  for (std::int32_t rank = 0; rank < job.ranks; ++rank) {
    for (const JobOp& op : job.program(rank).ops) {
      if (op.kind != JobOpKind::Collective) continue;
      const ProcessGroup& group = job.group(rank, op);
      if (group.ranks.size() > 1) calling[at(group.communicator)] = true;
    }
  }
  return calling;
}

}  // namespace

bool is_job_workload(const YamlValue& workload) {
  const YamlValue* name = workload.is_mapping() ? workload.find("name") : &workload;
  return name != nullptr && name->is_scalar() && name->as_text() == kJobWorkload;
}

JobGraph read_workload_job(const YamlValue& workload) {
  const YamlValue file = workload.is_mapping() ? workload_value(workload, "file") : YamlValue();
  const YamlValue job = workload.is_mapping() ? workload_value(workload, "job") : YamlValue();
  if (file.is_null() == job.is_null()) {
    throw UserError(workload.location(),
                    fmt::format("found {} for the job; expected key file, or key job with the job "
                                "itself: {{name: job, file: job.yaml}}",
                                file.is_null() ? "no key" : "both file and job"));
  }
  if (!job.is_null()) return read_job(job);
  std::filesystem::path path(read_text(file, find_option(workload_options(), "file")));
  if (path.is_relative()) path = std::filesystem::path(file.location().file).parent_path() / path;
  WorkloadInput input;
  input.files = {path.string()};
  try {
    input.format = format_of(input.files);
  } catch (const UserError&) {  // its message names an option of the command line
    throw UserError(file.location(),
                    fmt::format("found {}; expected a file that ends in .yaml, .yml, .goal, .et, "
                                ".json or .json.gz",
                                quoted(file.as_text())));
  }
  return read_workload_input(input);
}

WorkloadJob read_job_workload(const YamlValue& workload) {
  if (workload.is_mapping()) check_keys(workload, workload_options(), "workload");
  WorkloadJob read{.job = read_workload_job(workload), .where = workload.location()};
  const std::vector<bool> calling = calling_communicators(read.job);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < calling.size(); ++i) {
    if (calling[i]) names.push_back(read.job.communicators[i].name);
  }
  if (names.empty()) {
    throw UserError(read.where,
                    fmt::format("job {} has no collective calls", quoted(read.job.name)));
  }
  const YamlValue given = workload_value(workload, "communicator");
  if (given.is_null() && names.size() > 1) {
    throw UserError(read.where, fmt::format("job {} has communicators {}; expected key "
                                            "communicator with the one whose calls are chosen",
                                            quoted(read.job.name), fmt::join(names, ", ")));
  }
  const std::string name = given.is_null()
                               ? names.front()
                               : read_text(given, find_option(workload_options(), "communicator"));
  if (std::ranges::find(names, name) == names.end()) {
    throw UserError(given.location(),
                    unknown_name_message("communicator with collective calls", name, names));
  }
  const auto found = std::ranges::find(read.job.communicators, name, &Communicator::name);
  read.communicator = static_cast<std::int32_t>(found - read.job.communicators.begin());
  return read;
}

}  // namespace cclgym
