// A small experiment with made-up results for tests of tables and reports.
#pragma once

#include <string>
#include <vector>

#include "cost_models/parameters/shipped_sets.hpp"
#include "experiments/measured/measured_rows.hpp"
#include "experiments/run/results.hpp"
#include "experiments/sweep/experiment.hpp"

namespace cclgym::test {

/// Eight GPUs, each with a link to every other GPU.
inline std::shared_ptr<const Fabric> eight_gpus() {
  FabricBuilder builder("eight");
  std::vector<NodeId> gpus;
  for (int i = 0; i < 8; ++i) gpus.push_back(builder.add_node({.name = "gpu" + std::to_string(i)}));
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      builder.add_duplex_link(
          {.source = gpus[i], .target = gpus[j], .latency_s = 1e-6, .unit_bandwidth_Bps = 25e9});
    }
  }
  return builder.build();
}

inline ResultRow row(const std::string& algorithm, const std::string& protocol, int channels,
                     std::uint64_t bytes, double time_us, std::uint64_t seed = 1) {
  ResultRow r;
  r.experiment_hash = "0123456789abcdef";
  r.cell_key = "ndv4/allreduce/" + algorithm + "/" + protocol + "/c" + std::to_string(channels) +
               "/t512/" + std::to_string(bytes) + "B/s" + std::to_string(seed);
  r.fabric = "ndv4";
  r.ranks = 8;
  r.collective = "allreduce";
  r.algorithm = algorithm;
  r.program = algorithm;
  r.protocol = protocol;
  r.channels = channels;
  r.size_bytes = bytes;
  r.seed = seed;
  r.time_us = r.time_min_us = r.time_max_us = time_us;
  r.algbw_GBps = static_cast<double>(bytes) / time_us / 1e3;
  r.busbw_GBps = r.algbw_GBps * 1.75;
  r.steps = 14;
  r.flows = 112 * channels;
  r.engine = "flow";
  r.cost_model = "a100";
  r.cost_model_hash = "fedcba9876543210";
  r.version = "0.1.0";
  return r;
}

inline MeasuredRow measured(const std::string& config, std::uint64_t bytes, double time_us) {
  return {"Azure-NDv4", config, "ndv4", "allreduce", 8, bytes, time_us, "somebody/somewhere"};
}

/// An experiment with the cells of the rows. The baseline is algorithm ring with protocol Simple.
inline Experiment experiment_of(const std::vector<ResultRow>& rows, bool baseline = true) {
  Experiment experiment;
  experiment.name = "sample";
  experiment.description = "Made-up results.";
  experiment.engine = "flow";
  ExperimentFabric fabric;
  fabric.label = "ndv4";
  fabric.fabric = eight_gpus();
  fabric.cost_model = shipped_cost_model("hockney");
  experiment.fabrics.push_back(fabric);
  for (const ResultRow& r : rows) {
    Cell cell;
    cell.call.collective = CollectiveKind::AllReduce;
    cell.call.bytes = r.size_bytes;
    cell.config.algorithm = r.program;
    cell.config.protocol = parse_protocol(r.protocol).value();
    cell.config.channels = r.channels;
    cell.config.instances = r.instances;
    cell.config.threads = r.threads;
    if (r.chosen()) cell.tuner = r.algorithm;
    cell.seed = r.seed;
    experiment.cells.push_back(cell);
  }
  if (baseline) {
    CellSelector selector;
    selector.algorithm = "ring";
    selector.protocol = Protocol::Simple;
    experiment.baseline = selector;
  }
  return experiment;
}

}  // namespace cclgym::test
