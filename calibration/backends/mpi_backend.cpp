#include "calibration/backends/mpi_backend.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/files/companion.hpp"
#include "core/units.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"

namespace cclgym {

namespace {

bool wanted(const MpiSweep& sweep, std::string_view algorithm) {
  return sweep.algorithms.empty() ||
         std::ranges::find(sweep.algorithms, algorithm) != sweep.algorithms.end();
}

std::vector<CollectiveKind> collectives_of(const MpiSweep& sweep) {
  if (!sweep.collectives.empty()) return sweep.collectives;
  std::vector<CollectiveKind> all;
  for (const OpenMpiCollective& each : openmpi_collectives()) all.push_back(each.collective);
  return all;
}

// Rows without valid counts would be useless.
void check_count(const TextMap& environment, const std::string& key) {
  const auto found = environment.find(key);
  if (found == environment.end()) {
    throw UserError(fmt::format("the worker does not report its number of {}", key));
  }
  const std::string& text = found->second;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value >= 1) return;
  throw UserError(
      fmt::format("the worker reports {1} {0}; expected a number >= 1", key, quoted(text, 200)));
}

}  // namespace

std::string mpi_config_text(const std::string& algorithm, std::uint64_t segment_bytes) {
  return segment_bytes == 0 ? algorithm
                            : fmt::format("{} in {}", algorithm, format_bytes(segment_bytes));
}

std::vector<MpiConfig> mpi_configs(const MpiSweep& sweep, CollectiveKind collective,
                                   std::uint64_t bytes) {
  std::vector<MpiConfig> configs;
  if (wanted(sweep, kMpiDefault)) configs.push_back({std::string(kMpiDefault), 0, 0});
  for (const OpenMpiAlgorithm& each : openmpi_algorithms()) {
    if (each.collective != collective || !wanted(sweep, each.algorithm)) continue;
    std::vector<std::uint64_t> segments{0};
    for (const std::uint64_t segment : sweep.segments) {
      if (segment > 0 && segment < bytes) segments.push_back(segment);
    }
    for (const std::uint64_t segment : segments) {
      // If an algorithm has several numbers, only the first is used.
      if (find_openmpi_algorithm(collective, each.algorithm, segment) != &each) continue;
      configs.push_back({std::string(each.algorithm), each.number, segment});
    }
  }
  return configs;
}

const std::vector<std::string>& mpi_columns() {
  static const std::vector<std::string> names{"system",    "ranks",         "nodes",
                                              "config",    "collective",    "size_bytes",
                                              "algorithm", "segment_bytes", "openmpi_algorithm"};
  return names;
}

std::vector<std::string> mpi_cell(const MpiSweep& sweep, const TextMap& environment,
                                  CollectiveKind collective, std::uint64_t bytes,
                                  const MpiConfig& config) {
  return {sweep.system,
          environment.at("ranks"),
          environment.at("nodes"),
          sweep.config,
          std::string(to_string(collective)),
          std::to_string(bytes),
          config.algorithm,
          std::to_string(config.segment_bytes),
          std::to_string(config.number)};
}

MeasurementBackend mpi_backend(const MpiSweep& sweep, const std::vector<std::string>& launch) {
  MeasurementBackend backend;
  backend.name = "mpi";
  backend.command.arguments = launch;
  backend.command.arguments.push_back(
      worker_program("cclgym-mpi-worker", "OpenMPI (libopenmpi-dev, openmpi-bin)"));
  // Without this variable OpenMPI ignores forced algorithms.
  backend.command.environment["OMPI_MCA_coll_tuned_use_dynamic_rules"] = "1";
  backend.plan = [sweep](const TextMap& environment) {
    check_count(environment, "ranks");
    check_count(environment, "nodes");
    SweepPlan plan{.columns = mpi_columns(), .cells = {}};
    for (const CollectiveKind collective : collectives_of(sweep)) {
      for (const std::uint64_t bytes : sweep.sizes) {
        for (const MpiConfig& config : mpi_configs(sweep, collective, bytes)) {
          plan.cells.push_back(mpi_cell(sweep, environment, collective, bytes, config));
        }
      }
    }
    return plan;
  };
  return backend;
}

std::string worker_program(const std::string& name, const std::string& needs) {
  const std::string companion = companion_file(name);
  if (::access(companion.c_str(), X_OK) == 0) return companion;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  for (std::filesystem::path folder = self.parent_path(); !error && folder.has_relative_path();
       folder = folder.parent_path()) {
    // Test programs are in folders below the folder of the workers.
    const std::string path = (folder / name).string();
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  throw UserError(
      fmt::format("there is no {} beside this program: it is built if {} is found", name, needs));
}

}  // namespace cclgym
