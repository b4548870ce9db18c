#include "experiments/run/cell_runner.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "core/files/companion_library.hpp"
#include "core/limits/resource_error.hpp"
#include "core/statistics.hpp"
#include "core/version.hpp"

namespace cclgym {

namespace {

// Prefixes an error with the key of its cell; the error keeps its type.
template <class Work>
auto in_cell(const Experiment& experiment, std::size_t cell, Work work) {
  const auto message = [&](const std::exception& error) {
    return "cell " + cell_key(experiment, experiment.cells[cell]) + ": " + error.what();
  };
  try {
    return work();
  } catch (const ResourceError& error) {
    throw ResourceError(message(error));
  } catch (const std::bad_alloc&) {
    throw ResourceError("cell " + cell_key(experiment, experiment.cells[cell]) + ": " +
                        kOutOfMemory);
  } catch (const UserError& error) {
    throw UserError(message(error));
  } catch (const LibraryMissing&) {
    throw;  // no cell is to blame
  } catch (const SimulationStalled& error) {
    throw SimulationStalled(message(error));
  } catch (const std::exception& error) {
    throw std::runtime_error(message(error));
  }
}

double timed_s(TimeOf part, const Result& result) {
  if (part == TimeOf::Call) return result.time_s;
  double time_s = 0;
  for (const KernelTime& kernel : result.kernels) {
    if (kernel.across_nodes) time_s += kernel.time_s;
  }
  if (time_s > 0) return time_s;
  throw UserError(
      "time_of: across-nodes needs programs with a kernel of its own across nodes (collectives "
      "over "
      "levels on several nodes of several GPUs), and this one has none");
}

}  // namespace

CellRunner::CellRunner(const Experiment& experiment)
    : experiment_(experiment), hash_(experiment.hash()) {}

Simulator& CellRunner::simulator(std::size_t fabric) {
  if (!simulator_ || fabric_ != fabric) {
    simulator_.reset();  // first: engine simgrid allows one simulator at a time
    const ExperimentFabric& wanted = experiment_.fabrics[fabric];
    simulator_ = std::make_unique<Simulator>(wanted.fabric, wanted.cost_model, experiment_.engine,
                                             experiment_.algorithms);
    simulator_->set_noise(wanted.noise);
    fabric_ = fabric;
  }
  return *simulator_;
}

ResultRow CellRunner::run(std::size_t index) {
  return in_cell(experiment_, index, [&] {
    const Cell& cell = experiment_.cells[index];
    const ExperimentFabric& fabric = experiment_.fabrics[cell.fabric];
    const std::uint64_t repetitions = fabric.random() ? experiment_.repetitions : std::uint64_t{1};
    std::vector<double> times_s;
    Result result;
    for (std::uint64_t repetition = 0; repetition < repetitions; ++repetition) {
      result = simulator(cell.fabric).simulate(cell.call, cell.config, cell.seed, repetition);
      times_s.push_back(timed_s(experiment_.time_of, result));
    }
    const double time_s = median(times_s);
    const int ranks = fabric.fabric->ranks();
    const double algbw_Bps = time_s > 0 ? static_cast<double>(cell.call.bytes) / time_s : 0;
    const double busbw_Bps = algbw_Bps * bus_bandwidth_factor(cell.call.collective, ranks);
    return ResultRow{
        .experiment_hash = hash_,
        .cell_key = cell_key(experiment_, cell),
        .fabric = fabric.label,
        .servers = fabric.fabric->servers(),
        .ranks = ranks,
        .collective = std::string(to_string(cell.call.collective)),
        .algorithm = cell.named(),
        .program = cell.config.algorithm,
        .protocol = std::string(to_string(cell.config.protocol)),
        .channels = cell.config.channels,
        .instances = cell.config.instances,
        .threads = cell.config.threads,
        .tile_bytes = cell.config.tile_bytes,
        .slots = cell.config.slots,
        .legal_in = legal_in(experiment_, cell),
        .size_bytes = cell.call.bytes,
        .seed = cell.seed,
        .repetitions = repetitions,
        .time_us = time_s * 1e6,
        .time_min_us = *std::min_element(times_s.begin(), times_s.end()) * 1e6,
        .time_max_us = *std::max_element(times_s.begin(), times_s.end()) * 1e6,
        .algbw_GBps = algbw_Bps / 1e9,
        .busbw_GBps = busbw_Bps / 1e9,
        .steps = result.steps,
        .flows = result.flows,
        .engine = experiment_.engine,
        .cost_model = fabric.cost_model.label(),
        .cost_model_hash = cost_model_hash(fabric.cost_model),
        .version = std::string(program_version()),
    };
  });
}

SimulationRecord CellRunner::record(std::size_t index) {
  return in_cell(experiment_, index, [&] {
    const Cell& cell = experiment_.cells[index];
    return simulator(cell.fabric).record(cell.call, cell.config, cell.seed, 0);
  });
}

}  // namespace cclgym
