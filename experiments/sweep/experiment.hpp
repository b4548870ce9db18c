// A batch experiment, checked and resolved.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/contract.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "core/error.hpp"
#include "cost_models/cost_model.hpp"
#include "env/tuning/actions/nccl_offer.hpp"
#include "sim/call/call.hpp"
#include "sim/call/config_options.hpp"
#include "sim/noise/noise_profile.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// A fabric of the experiment with its cost model and one of the experiment's noise profiles.
struct ExperimentFabric {
  std::string label;  ///< label in tables and results: "dgx1", "ndv4 x2" (two nodes), a file's
                      ///< fabric name; followed by " noise=NAME" under noise
  std::string plain_label;  ///< label without the noise, as in dispatch tables
  std::shared_ptr<const Fabric> fabric;
  CostModel cost_model;
  NoiseProfile noise;
  /// interval_text of the cost model, by collective; empty under noise.
  std::map<std::string, std::string> intervals;
  /// NCCL's own offer of configurations there; null if NCCL does not run there, or under hockney.
  std::shared_ptr<const NcclOffer> offer{};

  /// True if repetitions of a cell can differ.
  [[nodiscard]] bool random() const { return cost_model.random() || noise.random(); }
};

/// One simulation: a call and a configuration on a fabric, repeated.
struct Cell {
  std::size_t fabric = 0;  ///< index into Experiment::fabrics
  Call call;
  Config config;
  std::uint64_t seed = 0;
  /// The tuner that chose the configuration, as the experiment names it ("nccl-default:2.8.4",
  /// "dispatch:table.yaml"); empty if the experiment gives the configuration.
  std::string tuner{};

  /// The cell's entry in `algorithms`: the tuner or the algorithm.
  [[nodiscard]] const std::string& named() const {
    return tuner.empty() ? config.algorithm : tuner;
  }
};

struct Experiment;

/// Selects cells; an unset member matches anything. If any member from `protocol` to `slots` is
/// set, cells of tuners do not match: a tuner's choice cannot be selected.
struct CellSelector {
  std::optional<std::size_t> fabric;
  std::optional<CollectiveKind> collective;
  std::optional<std::string> algorithm;  ///< an algorithm or a tuner
  std::optional<Protocol> protocol;
  std::optional<int> channels;
  std::optional<int> instances;
  std::optional<int> threads;
  std::optional<TileBytes> tile_bytes;
  std::optional<Slots> slots;
  std::optional<std::uint64_t> bytes;  ///< as the experiment gives the size, before rounding
  SourceLocation location;

  [[nodiscard]] bool matches(const Experiment& experiment, const Cell& cell) const;
};

/// Part of a call that the times of an experiment's cells are of.
enum class TimeOf : std::uint8_t {
  Call,        ///< from the call until the last rank is done
  AcrossNodes  ///< the kernels with messages between nodes alone
};
[[nodiscard]] std::string_view to_string(TimeOf part);

/// The two measured configurations whose ratio is shown beside the simulated speedup.
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
  std::string text;                       ///< content of that file
  std::vector<ExperimentFabric> fabrics;  ///< one per fabric and noise profile
  /// The algorithms that cells name: the shipped ones, and the programs of the file and its tuners.
  AlgorithmLibrary algorithms = AlgorithmLibrary::shipped();
  std::vector<Cell> cells;  ///< in file order: fabric, collective, algorithm, protocol, channels,
                            ///< instances, threads, tile, slots, size, seed
  std::string engine;
  std::uint64_t repetitions = 1;
  int element_bytes = 4;
  TimeOf time_of = TimeOf::Call;
  /// True if configurations that NCCL cannot run compete for the best, too (key legal).
  bool any_legal = false;
  std::optional<CellSelector> baseline;  ///< speedups are over the fastest matching cell with the
                                         ///< same fabric, collective, size, seed
  std::vector<CellSelector> timelines;   ///< one timeline per selector: for the first cell that it
                                         ///< matches
  std::vector<std::string> measured;     ///< CSV files with measured rows (paths resolved)
  std::optional<MeasuredSpeedupChoice> measured_speedup;  ///< only with measured and baseline
  std::vector<std::string> published;  ///< CSV files with published speedups (paths resolved)
  std::vector<std::string>
      skipped;  ///< combinations left out (the algorithm does not have the collective, or its
                ///< thread blocks do not fit on a GPU), one line each
  std::vector<std::string> warnings;  ///< caveats about the times, each once (cost_model_warning,
                                      ///< noise_warning)

  /// Hash of all that results depend on, 16 hex digits: fabrics, cost models, cells, engine,
  /// repetitions and the program's version. Equal hash: equal results.
  [[nodiscard]] std::string hash() const;
};

/// Name of a cell in results and messages, unique in its experiment:
/// "ndv4/allreduce/ring/LL/c4/t512/64KiB/s1", followed by "/r8" (instances), "/tile-32KiB" and
/// "/slots-8" if they are not the protocol's; for a tuner
/// "ndv4/allreduce/nccl-default:2.8.4/64KiB/s1". '_' replaces '/' and spaces of the labels of
/// fabric and tuner: "ring_gpus=16/…".
[[nodiscard]] std::string cell_key(const Experiment& experiment, const Cell& cell);
/// The release in which NCCL carries out the cell's call as configured, by itself or by a tuner's
/// choice: "NCCL 2.30.7"; "-" if it does not.
[[nodiscard]] std::string legal_in(const Experiment& experiment, const Cell& cell);
/// A label in the form used in cell keys.
[[nodiscard]] std::string key_label(std::string label);
/// Hash of every parameter of a cost model: 16 hex digits.
[[nodiscard]] std::string cost_model_hash(const CostModel& model);

}  // namespace cclgym
