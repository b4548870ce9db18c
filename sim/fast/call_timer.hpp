// Time of a call with a configuration, on one machine in one condition: the simulator behind
// a bounded, exact cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"
#include "sim/fast/bounded_cache.hpp"
#include "sim/fast/quotient_program.hpp"
#include "sim/fast/tile_curve.hpp"
#include "sim/noise/noise_profile.hpp"
#include "sim/simulator.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

/// A Config, and the NIC binding of the fabric, without text: cheap to copy, compare and hash.
struct PlainConfig {
  std::uint16_t program = 0;  ///< index into the entries of the CallSite's library
  std::uint8_t binding = 0;   ///< index into CallSite::fabrics
  Protocol protocol = Protocol::Simple;
  std::uint8_t slots = 0;
  std::uint16_t channels = 1;
  std::uint16_t instances = 1;
  std::uint16_t threads = 512;
  std::uint64_t tile_bytes = 0;

  friend bool operator==(const PlainConfig&, const PlainConfig&) = default;
};
/// Throws UserError if the algorithm is not in the library, std::logic_error if a number does not
/// fit.
[[nodiscard]] PlainConfig plain_config(const AlgorithmLibrary& library, const Config& config,
                                       std::size_t binding = 0);
[[nodiscard]] Config full_config(const AlgorithmLibrary& library, const PlainConfig& config);
/// The same configuration with another program.
[[nodiscard]] inline PlainConfig with_program(PlainConfig config, std::uint16_t program) {
  config.program = program;
  return config;
}

/// Setting in which calls are timed: immutable, and may be shared by any number of timers.
struct CallSite {
  /// The fabric under each NIC binding that can be chosen; [0] is the fabric as given.
  std::vector<std::shared_ptr<const Fabric>> fabrics;
  CostModel cost_model;
  /// The conditions that the machine can be in (docs/collective-tuning.md); [0] is without noise.
  std::vector<NoiseProfile> conditions{NoiseProfile{}};
  std::uint64_t machine_seed = 0;  ///< decides which links are degraded and which GPUs are slow
  /// The algorithms and programs that configurations name.
  AlgorithmLibrary algorithms = AlgorithmLibrary::shipped();
  /// Engine of simulations. With another one than "flow", every time is simulated in full, one
  /// after the other: there may be only one engine simgrid in a process.
  std::string engine = "flow";
  std::shared_ptr<std::mutex> engine_turn = std::make_shared<std::mutex>();
};

struct TimedCall {
  double time_s = 0;
  std::int32_t steps = 0;  ///< transfers on the longest chain of dependent transfers

  friend bool operator==(const TimedCall&, const TimedCall&) = default;
};

/// All inputs of a time, field by field: keys are equal iff all inputs are.
struct TimeKey {
  std::uint64_t bytes = 0;
  PlainConfig config{};
  std::int32_t root = 0;
  std::uint16_t moment = 0;
  std::uint8_t condition = 0;  ///< index into CallSite::conditions
  CollectiveKind collective = CollectiveKind::AllReduce;
  friend bool operator==(const TimeKey&, const TimeKey&) = default;
};
struct TimeKeyHash {
  std::uint64_t operator()(const TimeKey& key) const;
};
using TimeCache = BoundedCache<TimeKey, TimedCall, TimeKeyHash>;

class CallTimerPool;

/// Not thread-safe, except for the cache and the pool, which timers of the same CallSite and Timing
/// may share.
///
/// A time from the cache is bit-identical to a computed one: it is a function of exactly the fields
/// of the key.
class CallTimer {
 public:
  static constexpr std::size_t kDefaultEntries = std::size_t{1} << 18;
  /// Accuracy of times, compared with Simulator::simulate with the condition's noise profile, the
  /// machine's seed and repetition `moment`.
  enum class Timing : std::uint8_t {
    /// Equal bit for bit.
    Exact,
    /// Simulates one node per class of equal nodes (sim/fast/quotient_program.hpp). The relative
    /// error is at most 1e-9; if tiles never repeat exactly, the error is at most
    /// Result::tile_error_s. In chaotic pipelines, it is the effect of rounding.
    Symmetric,
    /// Differs from Symmetric for calls of more than TileCurve::kWhole tiles, which are timed from
    /// a few dozen tiles (sim/fast/tile_curve.hpp). The error is 0.02 % to 0.05 % on average, and
    /// less than 1.5 % for 99 of 100 times; it is larger in chaotic pipelines, and where the pace
    /// changes late.
    Interpolated,
  };

  /// Creates a cache of its own.
  explicit CallTimer(std::shared_ptr<const CallSite> site,
                     std::size_t cache_entries = kDefaultEntries,
                     Timing timing = Timing::Interpolated);
  CallTimer(std::shared_ptr<const CallSite> site, std::shared_ptr<TimeCache> cache,
            Timing timing = Timing::Interpolated);
  /// Simulates with the timers of a pool, so that programs are compiled only once for all timers
  /// that share it and take turns.
  CallTimer(std::shared_ptr<const CallSite> site, std::shared_ptr<TimeCache> cache,
            std::shared_ptr<CallTimerPool> pool);

  /// Throws UserError if the configuration does not fit the call or the fabric. Does not allocate
  /// if the time is in the cache.
  [[nodiscard]] TimedCall time(const Call& call, const PlainConfig& config,
                               std::size_t condition = 0, std::uint16_t moment = 0);

  [[nodiscard]] const CallSite& site() const { return *site_; }
  [[nodiscard]] const Fabric& fabric() const { return *site_->fabrics.front(); }
  [[nodiscard]] const std::shared_ptr<TimeCache>& cache() const { return cache_; }
  [[nodiscard]] std::uint64_t hits() const { return hits_; }
  /// Number of times that were not in the cache and had to be simulated.
  [[nodiscard]] std::uint64_t simulations() const { return simulations_; }
  /// Number of simulations with one node per class of equal nodes.
  [[nodiscard]] std::uint64_t quotients() const { return quotients_; }
  /// Number of simulations of only a few dozen tiles, with interpolation.
  [[nodiscard]] std::uint64_t interpolations() const { return interpolations_; }

 private:
  // Program, binding, collective, root, channels, instances, and whether there is one slot.
  using ProgramKey = std::tuple<int, int, CollectiveKind, int, int, int, bool>;
  // Program key, condition, and shape of the graph.
  using QuotientKey = std::tuple<ProgramKey, std::size_t, GraphShape>;
  /// Facts about a configuration in one condition that hold for calls of all sizes.
  struct Known {
    ProgramCut cut;
    bool steady = false;  ///< true if moments do not differ and the entire program is known
    bool curved = false;  ///< true if the members below are set
    const QuotientProgram* of_tiles = nullptr;  ///< quotient for full tiles; null if there is none
    TileCurve curve;
    std::int32_t steps = 0;
  };

  [[nodiscard]] TimedCall simulate(const Call& call, const PlainConfig& config,
                                   std::size_t condition, std::uint16_t moment);
  [[nodiscard]] TimedCall simulate_alone(const Call& call, const PlainConfig& config,
                                         std::size_t condition, std::uint16_t moment);
  [[nodiscard]] TimedCall interpolate(Known& known, const Call& call, const PlainConfig& plain,
                                      const Config& config, std::size_t condition);
  [[nodiscard]] Simulator& simulator(std::size_t binding, std::size_t condition);
  [[nodiscard]] Known& known_of(const Call& call, const PlainConfig& plain, const Config& config,
                                std::size_t condition);
  /// Quotient for a call; null if there is none.
  [[nodiscard]] const QuotientProgram* quotient(const ProgramCut& cut, const Call& call,
                                                const PlainConfig& plain, const Config& config,
                                                std::size_t condition);

  /// One fabric's simulator, and the condition that it simulates.
  struct Bound {
    std::unique_ptr<Simulator> simulator;
    std::size_t condition = 0;
  };
  [[nodiscard]] TimedCall simulate_pooled(const Call& call, const PlainConfig& config,
                                          std::size_t condition, std::uint16_t moment);

  std::shared_ptr<const CallSite> site_;
  std::shared_ptr<TimeCache> cache_;
  std::shared_ptr<CallTimerPool> pool_;  ///< timers that simulate instead of this one; may be null
  std::vector<Bound> bound_;             ///< by binding; created on first use
  Timing timing_;
  std::unique_ptr<Engine> engine_;                         ///< engine for the quotients
  std::unordered_map<TimeKey, Known, TimeKeyHash> known_;  ///< by keys without size and moment
  std::map<QuotientKey, std::unique_ptr<const QuotientProgram>> quotients_of_;
  std::uint64_t hits_ = 0;
  std::uint64_t quotients_ = 0;
  std::uint64_t interpolations_ = 0;
  std::uint64_t simulations_ = 0;
};

/// Timers that others borrow for one simulation: with n threads at most n are made, however many
/// timers share the pool. What a timer knows (programs, classes of nodes, curves) speeds up later
/// times but does not change them, so it does not matter which one is borrowed. Thread-safe.
class CallTimerPool {
 public:
  CallTimerPool(std::shared_ptr<const CallSite> site, std::shared_ptr<TimeCache> cache)
      : site_(std::move(site)), cache_(std::move(cache)) {}

  [[nodiscard]] std::unique_ptr<CallTimer> take();
  void give_back(std::unique_ptr<CallTimer> timer);
  /// Number of timers made so far.
  [[nodiscard]] std::size_t made() const { return made_; }

 private:
  std::shared_ptr<const CallSite> site_;
  std::shared_ptr<TimeCache> cache_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CallTimer>> idle_;
  std::size_t made_ = 0;
};

}  // namespace cclgym
