#include "workloads/readers/workload_input.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "workloads/readers/goal_reader.hpp"
#include "workloads/readers/job_file.hpp"

namespace cclgym {

namespace {

constexpr std::pair<std::string_view, WorkloadFormat> kEndings[] = {
    {".yaml", WorkloadFormat::Job},      {".yml", WorkloadFormat::Job},
    {".goal", WorkloadFormat::Goal},     {".et", WorkloadFormat::Chakra},
    {".et.gz", WorkloadFormat::Chakra},  {".json", WorkloadFormat::Kineto},
    {".json.gz", WorkloadFormat::Kineto}};

}  // namespace

const std::vector<std::string>& workload_formats() {
  static const std::vector<std::string> names{"job", "goal", "chakra", "kineto"};
  return names;
}

WorkloadFormat format_of(const std::vector<std::string>& files) {
  for (const auto& [ending, format] : kEndings) {
    if (files.front().ends_with(ending)) return format;
  }
  std::error_code error;
  if (std::filesystem::exists(files.front() + ".0.et", error)) return WorkloadFormat::Chakra;
  if (!std::filesystem::exists(files.front(), error)) {
    throw UserError({.file = files.front()},
                    fmt::format("does not exist, and neither does the Chakra trace {}",
                                quoted(files.front() + ".0.et", 200)));
  }
  throw UserError(
      {.file = files.front()},
      "the format of a workload is known by its name: .yaml (a job), .goal, .et or the prefix of "
      "PREFIX.0.et (Chakra), .json or .json.gz (a profile of PyTorch); name it with --format");
}

JobGraph read_workload_input(const WorkloadInput& input) {
  const bool one = input.format == WorkloadFormat::Job || input.format == WorkloadFormat::Goal;
  if (one && input.files.size() > 1) {
    throw UserError({.file = input.files[1]},
                    fmt::format("a workload of format {} is one file, but there are {}",
                                workload_formats()[at(input.format)], input.files.size()));
  }
  switch (input.format) {
    case WorkloadFormat::Job:
      return read_job_file(input.files.front());
    case WorkloadFormat::Goal:
      return read_goal_file(input.files.front());
    case WorkloadFormat::Kineto:
      return read_kineto(input.files, input.kineto);
    case WorkloadFormat::Chakra:
      break;
  }
  return read_chakra(input.files.size() == 1 ? chakra_files(input.files.front()) : input.files,
                     input.chakra);
}

}  // namespace cclgym
