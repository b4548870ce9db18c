// A batch experiment: what a YAML file asks for, checked and resolved.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/contract.hpp"
#include "core/error.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"
#include "sim/call/config_options.hpp"
#include "sim/noise/noise_profile.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// A fabric of the experiment, with its cost model, under one of the experiment's noise profiles.
struct ExperimentFabric {
  std::string label;        ///< as in tables and results: "dgx1", "ndv4 x2" (two servers), a file's
                            ///< fabric name; with " noise=NAME" behind it unless there is none
  std::string plain_label;  ///< the same without the noise: what dispatch tables know it by
  std::shared_ptr<const Fabric> fabric;
  CostModel cost_model;
  NoiseProfile noise;

  /// Do two repetitions of a cell differ?
  [[nodiscard]] bool random() const { return cost_model.random() || noise.random(); }
};

/// One simulation: a call and a configuration on a fabric, repeated.
struct Cell {
  std::size_t fabric = 0;  ///< index into Experiment::fabrics
  Call call;
  Config config;
  std::uint64_t seed = 0;
  /// What chose the configuration, as the experiment names it ("nccl-default:2.8.4",
  /// "dispatch:table.yaml"); empty: the experiment did.
  std::string tuner{};

  /// What stands in `algorithms` for it: the tuner or the algorithm.
  [[nodiscard]] const std::string& named() const {
    return tuner.empty() ? config.algorithm : tuner;
  }
};

struct Experiment;

/// Picks cells; a member that is not set matches anything. What a tuner chose is not looked at:
/// where anything from `protocol` to `slots` is set, its cells do not match.
struct CellSelector {
  std::optional<std::size_t> fabric;
  std::optional<CollectiveKind> collective;
  std::optional<std::string> algorithm;  ///< or a tuner
  std::optional<Protocol> protocol;
  std::optional<int> channels;
  std::optional<int> instances;
  std::optional<int> threads;
  std::optional<TileBytes> tile_bytes;
  std::optional<Slots> slots;
  std::optional<std::uint64_t> bytes;
  SourceLocation location;

  [[nodiscard]] bool matches(const Experiment& experiment, const Cell& cell) const;
};

/// Of which two measured configurations the ratio is shown beside the simulated speedup.
struct MeasuredSpeedupChoice {
  std::string of;
  std::string over;
  SourceLocation of_where{};
  SourceLocation over_where{};
};

struct Experiment {
  std::string name;
  std::string description;
  std::string path;                       ///< file it was read from
  std::string text;                       ///< what stands in that file
  std::vector<ExperimentFabric> fabrics;  ///< each under every noise profile in turn
  std::vector<Cell> cells;  ///< in file order: fabric, collective, algorithm, protocol, channels,
                            ///< instances, threads, tile, slots, size, seed
  std::string engine;
  std::uint64_t repetitions = 1;
  std::optional<CellSelector> baseline;  ///< speedups are against the fastest matching cell of same
                                         ///< fabric, collective, size, seed
  std::vector<CellSelector> timelines;   ///< one timeline for the first cell that each matches
  std::vector<std::string>
      measured;  ///< CSV files with measured rows to show beside (paths resolved)
  std::optional<MeasuredSpeedupChoice> measured_speedup;  ///< only with measured and baseline
  std::vector<std::string> published;  ///< CSV files with published speedups (paths resolved)
  std::vector<std::string>
      skipped;  ///< combinations left out (an algorithm has not that collective, or its
                ///< thread blocks do not fit on a GPU), one line each
  std::vector<std::string> warnings;  ///< what to know before trusting the times, each once
                                      ///< (cost_model_warning, noise_warning)

  /// 16 hex digits over everything that results depend on: fabrics, cost models, cells, engine,
  /// repetitions and the program's version. Equal hash: equal results.
  [[nodiscard]] std::string hash() const;
};

/// What a cell is called in results and messages, unique in its experiment:
/// "ndv4/allreduce/ring/LL/c4/t512/64KiB/s1", and "/r8" (instances), "/tile32KiB", "/slots8" after
/// it if there are any; of a tuner "ndv4/allreduce/nccl-default:2.8.4/64KiB/s1". '/' and spaces
/// of the fabric's label and of the tuner are '_' there: "ring_gpus=16/…".
[[nodiscard]] std::string cell_key(const Experiment& experiment, const Cell& cell);
/// A label as it stands in cell keys.
[[nodiscard]] std::string key_label(std::string label);
/// 16 hex digits over every parameter of a cost model.
[[nodiscard]] std::string cost_model_hash(const CostModel& model);

}  // namespace cclgym
