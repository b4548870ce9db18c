// Simulation of a call with a configuration, on one fabric under one cost model.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "collectives/library/algorithm_library.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"
#include "sim/classes/exchange_classes.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/firing_run.hpp"
#include "sim/engine/steady_state.hpp"
#include "sim/lowering/lowering.hpp"
#include "sim/noise/noise.hpp"
#include "sim/noise/noise_profile.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// A firing and its dates.
struct DatedFiring {
  TransferId node = -1;
  std::int32_t tile = 0;
  double start_s = 0;
  double end_s = 0;
};

/// Results for which the dates of all firings are usually needed, in a fraction of their memory.
struct RecordSummary {
  std::vector<double> busy_s;  ///< by link of the graph: time in which at least one message moves
  std::vector<DatedFiring> path;  ///< the critical path
};

/// A simulated call with the dates of every firing, for timelines and analyses. Without tiles and
/// folded loops, each node fires once, and firings have the numbers of their nodes.
struct SimulationRecord {
  Call call;
  Config config;
  LoweredProgram lowered;
  std::vector<double> start_delay_s;  ///< by rank, before its launch; empty if there are none
  /// The simulated graph: lowered.graph, or its first tiles (result.simulated_tiles of them).
  std::shared_ptr<const TransferGraph> graph;
  double simulated_s = 0;                 ///< date at which the simulated tiles were done
  std::vector<std::size_t> first_firing;  ///< by node, with one more entry at the end
  std::vector<double> start_s;            ///< by firing
  std::vector<double> end_s;              ///< by firing
  std::vector<std::uint16_t> way;         ///< by firing: its alternative route; empty: no choice
  Result result;

  [[nodiscard]] std::size_t firing(TransferId node, std::int32_t tile) const {
    return first_firing[static_cast<std::size_t>(node)] + static_cast<std::size_t>(tile);
  }
  std::optional<RecordSummary> summary;  ///< instead of dates, if RecordDetail::Summary is enough
  /// True if links and critical path are known.
  [[nodiscard]] bool analysed() const { return dated() || summary; }
  /// True if the dates of the firings are known, which needs at most kMostDated firings.
  [[nodiscard]] bool dated() const { return !first_firing.empty(); }
  static constexpr std::int64_t kMostDated = 40'000'000;
};

/// Parts of a program that a record has.
enum class RecordDetail : std::uint8_t {
  Nodes,  ///< every node of the program
  /// One node for each class of equal nodes (LoweredProgram::classes), if a large program has
  /// them: enough for times, the use of links and the critical path. Dates are those of the nodes
  /// except for rounding.
  Classes,
  /// The same, and instead of dates a summary (SimulationRecord::summary) if a program is so large
  /// that its graph is folded, and its links never saturate: enough for link_use() without
  /// intervals and for the critical path.
  Summary,
};

/// Simulates calls on one fabric. Not thread-safe; any number may exist (with engine "simgrid", one
/// per process). Programs are compiled once and cached. For a very large program only the outline
/// is made, if the library can write it (outline_algorithm).
class Simulator {
 public:
  /// `library`: the algorithms that configurations name. Throws UserError on an unknown engine
  /// name.
  Simulator(std::shared_ptr<const Fabric> fabric, CostModel cost_model, std::string_view engine,
            AlgorithmLibrary library = AlgorithmLibrary::shipped());

  [[nodiscard]] const Fabric& fabric() const { return *fabric_; }
  /// The fabric with the NICs that a program uses. Its links have the numbers of fabric()'s links.
  /// Throws UserError if it has no choice of NICs (check_nics).
  [[nodiscard]] const std::shared_ptr<const Fabric>& fabric_for(NicUse use);
  [[nodiscard]] const CostModel& cost_model() const { return cost_model_; }
  [[nodiscard]] const AlgorithmLibrary& algorithms() const { return library_; }
  /// Adds the algorithms of another library that this one lacks. Throws UserError as
  /// AlgorithmLibrary::add_all does.
  void add_algorithms(const AlgorithmLibrary& library) { library_.add_all(library); }
  /// Simulates under this cost model from now on. Compiled programs are kept unless their fusion
  /// differs.
  void set_cost_model(CostModel cost_model) {
    if (cost_model.hockney != cost_model_.hockney) programs_.clear();  // fused differently
    cost_model_ = std::move(cost_model);
  }
  [[nodiscard]] std::string_view engine_name() const { return engine_->name(); }
  [[nodiscard]] const NoiseProfile& noise() const { return noise_; }
  /// Simulates under this noise from now on; initially there is none. Throws UserError if it names
  /// ranks that the fabric does not have.
  void set_noise(NoiseProfile noise);
  /// Sets the maximum number of tiles that are simulated before the rest is extrapolated.
  void set_tile_budget(const TileBudget& budget) { tile_budget_ = budget; }

  /// Sizes from which programs are simulated by classes of equal nodes. Smaller ones are simulated
  /// node by node: that takes less than a second, and their times keep every bit.
  struct FoldFrom {
    std::int64_t messages = std::int64_t{1} << 15U;  ///< messages of a direct exchange
    std::int64_t firings = std::int64_t{1} << 18U;   ///< firings of any other program
  };
  void set_fold_from(const FoldFrom& from) { fold_from_ = from; }

  /// Simulates one call. `seed` and `repetition` choose the random draws of the noise and of the
  /// cost model's start skew, if there are any. The seed selects the machine (slow GPUs, degraded
  /// links); seed and repetition together select the moment. Throws UserError if the configuration
  /// does not fit the call or the fabric, SimulationStalled if the program cannot finish. In large
  /// programs, engine flow simulates one node for each class of equal nodes (docs/performance.md,
  /// "Symmetric calls"); times are the same except for rounding, within 1e-9.
  [[nodiscard]] Result simulate(const Call& call, const Config& config, std::uint64_t seed = 0,
                                std::uint64_t repetition = 0);
  [[nodiscard]] SimulationRecord record(const Call& call, const Config& config,
                                        std::uint64_t seed = 0, std::uint64_t repetition = 0,
                                        RecordDetail detail = RecordDetail::Nodes);

  /// The program that carries out the call; null if it is so large that only its outline is known.
  /// Throws UserError as simulate() does.
  [[nodiscard]] std::shared_ptr<const ThreadBlockProgram> compiled(const Call& call,
                                                                   const Config& config);
  /// The transfer graph of a call and its origins, with the noise of repetition 0 that does not
  /// change while it runs; nothing is simulated. Throws UserError as simulate() does.
  [[nodiscard]] LoweredProgram lowered(const Call& call, const Config& config,
                                       std::uint64_t seed = 0);

  /// Simulates a program that is not in the library (imported, or written in the DSL).
  [[nodiscard]] SimulationRecord record_program(std::shared_ptr<const ThreadBlockProgram> program,
                                                const Call& call, const Config& config,
                                                std::uint64_t seed = 0,
                                                std::uint64_t repetition = 0);

 private:
  struct BuiltProgram {
    std::shared_ptr<const ProgramOutline> outline;
    std::shared_ptr<const ThreadBlockProgram> program;  ///< null if not compiled
  };
  struct Run {
    EngineResult only;   ///< the engine's result if there was only one run
    NoisyProgram noisy;  ///< all but its lowered program, which is moved into the record
    bool dated = false;  ///< true if the record has the dates of the firings
  };
  struct Exchange {
    std::vector<double> capacities_Bps;  ///< for which there are no classes
    std::optional<ExchangeClasses> classes;
  };
  /// Adds the dates of the firings to a record of a call that was run.
  void add_dates(SimulationRecord& record, const Run& made);
  /// Lowers and simulates; fills the record, including the dates of the firings if `keep_dates` is
  /// set and no extra run is needed for them.
  Run run(const BuiltProgram& program, SimulationRecord& record, const NoiseSeed& seed,
          bool keep_dates, RecordDetail detail = RecordDetail::Nodes);
  /// The same for the program that the record's call and configuration choose.
  Run run_chosen(SimulationRecord& record, const NoiseSeed& seed, bool keep_dates,
                 RecordDetail detail);
  /// Dates of a program with latencies by firing.
  [[nodiscard]] TiledDates run_firings(const NoisyProgram& noisy);
  /// Simulates the lowered program in `made`. `program`: null if the lowering is not of all nodes.
  void run_lowered(Run& made, SimulationRecord& record, bool keep_dates,
                   const BuiltProgram* program, RecordDetail detail);
  /// Classes of a large direct exchange, lowered; nullopt if the call is none, or if its messages
  /// are not equal in classes.
  [[nodiscard]] std::optional<LoweredProgram> lowered_exchange(const Call& call,
                                                               const Config& config);
  /// Replaces the nodes of a large program by their classes, if it has them.
  void fold(NoisyProgram& noisy) const;
  using ProgramKey = std::tuple<std::string, CollectiveKind, int, int, bool, int>;
  [[nodiscard]] const BuiltProgram& program(const Call& call, const Config& config);
  [[nodiscard]] std::vector<double> start_delays(const NoiseSeed& seed) const;
  /// Checks the conditions that depend only on the call and the configuration.
  void require_runnable(const BuiltProgram& program, const Call& call, const Config& config) const;
  [[nodiscard]] NoisyProgram noisy(const BuiltProgram& program, const Call& call,
                                   const Config& config, std::span<const double> start_delays_s,
                                   const NoiseSeed& seed, JitterForm form = JitterForm::Unfolded);

  std::shared_ptr<const Fabric> fabric_;
  std::map<NicUse, std::shared_ptr<const Fabric>> bound_;  ///< by the NICs that programs use
  CostModel cost_model_;
  AlgorithmLibrary library_;
  NoiseProfile noise_;
  TileBudget tile_budget_;
  FoldFrom fold_from_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<FiringRun> firing_run_;  ///< made on first use
  std::vector<std::vector<int>> rings_;
  std::map<ProgramKey, BuiltProgram> programs_;
  /// By algorithm, channels of all instances, NICs and number of links.
  std::map<std::tuple<std::string, int, NicUse, std::size_t>, Exchange> exchanges_;
  TileRuns tile_runs_;
};

/// Reason why a configuration cannot carry out a call on `ranks` ranks; empty if it can. Simulator
/// makes the same checks; this function is for callers that locate the message themselves. Throws
/// UserError if the algorithm is not in the library.
[[nodiscard]] std::string check_config(const AlgorithmLibrary& library, const Call& call,
                                       const Config& config, int ranks);
/// Reason why the algorithm cannot run on the fabric's switches (AlgorithmEntry::switches); empty
/// if it can.
[[nodiscard]] std::string check_switches(const AlgorithmEntry& algorithm, const Fabric& fabric);
/// Reason why programs of these traits cannot choose their NICs on the fabric; empty if they can.
[[nodiscard]] std::string check_nics(const CostTraits& traits, const Fabric& fabric);
/// Reason why the configuration, which fits the call (check_config), cannot be launched on the
/// fabric's GPUs: it needs more thread blocks than can run at once under the cost model
/// (thread_blocks_per_gpu). Empty if it can be launched. Checks switches and NICs first. Takes time
/// linear in the ranks.
[[nodiscard]] std::string check_resident(const AlgorithmLibrary& library, const Call& call,
                                         const Config& config, const Fabric& fabric,
                                         const CostModel& cost_model);
/// Reason why a size is invalid for a call of this collective (zero, or not a multiple of the
/// collective's unit with elements of `element_bytes`); empty if it is valid.
[[nodiscard]] std::string check_size(CollectiveKind collective, std::uint64_t bytes, int ranks,
                                     int element_bytes = 4);
/// Size that runs for the one asked for: the same if it is valid; otherwise rounded down as by
/// nccl-tests, to whole elements, or to 16 B per rank where each rank has its part of the data (to
/// elements below 16 B). 0 if no element is left.
[[nodiscard]] std::uint64_t rounded_size(CollectiveKind collective, std::uint64_t bytes, int ranks,
                                         int element_bytes = 4);
/// "allgather of 65536 B on 24 ranks runs with 65280 B"
[[nodiscard]] std::string rounding_text(CollectiveKind collective, std::uint64_t bytes, int ranks,
                                        std::uint64_t rounded);

}  // namespace cclgym
