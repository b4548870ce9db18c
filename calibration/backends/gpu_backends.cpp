#include "calibration/backends/gpu_backends.hpp"

#include <algorithm>

#include "calibration/backends/mpi_backend.hpp"
#include "calibration/cuda/cuda_build.hpp"
#include "calibration/cuda/cuda_cells.hpp"
#include "calibration/cuda/nccl/nccl_cells.hpp"
#include "core/error.hpp"

namespace cclgym {

namespace {

void require_cuda(const std::string& backend) {
  if (!cuda_build_info().built) throw UserError(cuda_missing_message(backend));
}

// A value of the environment, with blanks for the characters that would need CSV quotes.
std::string said(const TextMap& environment, const std::string& key) {
  const auto found = environment.find(key);
  std::string text = found == environment.end() ? "" : found->second;
  std::ranges::replace_if(
      text, [](char c) { return c == ',' || c == '"' || c == '\n'; }, ' ');
  return text;
}

// The plan of a sweep; its first columns are those that are equal in all rows.
SweepPlan plan_of(const CellTable& table,
                  const std::vector<std::pair<std::string, std::string>>& fixed) {
  SweepPlan plan;
  std::vector<std::string> values;
  for (const auto& [column, value] : fixed) {
    plan.columns.push_back(column);
    values.push_back(value);
  }
  plan.columns.insert(plan.columns.end(), table.columns.begin(), table.columns.end());
  for (const CalibrationCell& cell : table.cells) {
    plan.cells.push_back(values);
    for (const std::string& column : table.columns) {
      plan.cells.back().push_back(cell.at(column));
    }
  }
  return plan;
}

}  // namespace

MeasurementBackend cuda_backend(const OptionTexts& cells) {
  require_cuda("cuda");
  MeasurementBackend backend;
  backend.name = "cuda";
  backend.command.arguments = {worker_program("cclgym-cuda-worker", "CUDA")};
  const CellTable table = cuda_cells(cells);
  backend.plan = [table](const TextMap& environment) {
    std::vector<std::pair<std::string, std::string>> fixed;
    for (const char* const key : {"device", "driver", "cuda_runtime", "sms"}) {
      fixed.emplace_back(key, said(environment, key));
    }
    return plan_of(table, fixed);
  };
  return backend;
}

MeasurementBackend nccl_backend(const OptionTexts& cells, const OptionTexts& worker,
                                const std::string& system, const std::vector<std::string>& launch) {
  require_cuda("nccl");
  MeasurementBackend backend;
  backend.name = "nccl";
  backend.command.arguments = launch;
  backend.command.arguments.push_back(worker_program("cclgym-nccl-worker", "CUDA and NCCL"));
  for (const std::string& argument : nccl_worker_arguments(worker)) {
    backend.command.arguments.push_back(argument);
  }
  const CellTable table = nccl_cells(cells);
  backend.plan = [table, system](const TextMap& environment) {
    return plan_of(table, nccl_fixed_columns(environment, system));
  };
  return backend;
}

std::vector<std::pair<std::string, std::string>> nccl_fixed_columns(const TextMap& environment,
                                                                    const std::string& system) {
  const std::string nodes = said(environment, "nodes");
  return {{"system", system},
          {"gpu", said(environment, "device")},
          {"ranks", said(environment, "ranks")},
          {"nodes", nodes.empty() ? "1" : nodes},
          {"nccl_version", said(environment, "nccl")}};
}

}  // namespace cclgym
