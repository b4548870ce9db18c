// Choices of a tuner: the knobs of a configuration as one MultiDiscrete action, with the
// combinations that are legal.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/contract.hpp"
#include "env/gym/space.hpp"
#include "env/tuning/actions/knob.hpp"
#include "env/tuning/actions/nccl_offer.hpp"
#include "env/tuning/actions/pccl_plans.hpp"
#include "env/tuning/actions/synth_actions.hpp"
#include "sim/fast/call_timer.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// Levels of a knob that may be used. Tuners leave the other knobs at their first levels, even if
/// these may not be used.
struct KnobLimit {
  struct Level {
    std::string name;
    SourceLocation where{};
  };
  std::string knob;
  std::vector<Level> levels;
  SourceLocation where{};
};

/// Levels of Knob::Algorithm and Knob::Inter that together name an algorithm.
struct TunedProgram {
  std::uint16_t index = 0;  ///< index in the site's library
  std::string algorithm;    ///< level of Knob::Algorithm
  std::string inter;        ///< level of Knob::Inter
};
/// Default tuners, of which rewards compare with the first: "nccl-default", or "openmpi-default"
/// with the actions of OpenMPI.
[[nodiscard]] std::vector<std::string> default_tuners(ActionProfile profile);
/// The same on a fabric. With the actions of PCCL, the first is the vendor's library of its GPUs,
/// "nccl-default" or "rccl-default", and the second "cray-mpich".
[[nodiscard]] std::vector<std::string> default_tuners(ActionProfile profile, const Fabric& fabric);
/// Names of the programs that the engine of profile Pccl needs in the site's library, under these
/// limits.
[[nodiscard]] std::vector<std::string> pccl_programs(const Fabric& fabric,
                                                     const std::vector<KnobLimit>& limits);

/// The actions of one machine. Immutable; may be shared by threads. Callers cache the choices of
/// tuners (see choose).
///
/// The space depends only on the profile and the number of tuners, not on the fabric, so that a
/// policy can be moved to another machine; the masks depend on the fabric.
class TuningActions {
 public:
  struct Options {
    ActionProfile profile = ActionProfile::Offline;
    /// The first levels of Knob::Algorithm: "nccl-default[:VERSION]", "dispatch:FILE",
    /// "openmpi-default".
    std::vector<std::string> tuners{"nccl-default"};
    std::vector<CollectiveKind> collectives{};  ///< collectives of the workload; empty: all
    std::string fabric_label{};                 ///< label in dispatch tables; empty: fabric name
    SourceLocation where{};                     ///< place that names the tuners
    std::vector<KnobLimit> limits{};            ///< limits of knobs; others have all levels
    /// Restricts NCCL's programs to those that NCCL has (env/tuning/actions/nccl_offer.hpp), in the
    /// release of the first tuner "nccl-default[:VERSION]", or in the newest release if there is no
    /// such tuner. Only for profiles StockNccl and Nccl230.
    bool as_nccl = false;
    /// Names in the site's library that are levels of Knob::Algorithm, after the profile's own. A
    /// fixed program leaves channels and instances at their first levels, even if these may not be
    /// used, and runs with channels and instances of its own.
    std::vector<std::string> programs{};
    SourceLocation programs_where{};
    /// Synthesised schedules that are levels of Knob::Algorithm, after `programs`. The copies of a
    /// schedule are levels of Knob::Instances. Their programs are in the site's library.
    std::vector<SynthActions> synth{};
    SourceLocation as_nccl_where{};  ///< place that asks for as_nccl
    /// Largest call whose reductions may run on hosts, bytes (profile Pccl; PCCL analysis, 10.5).
    std::uint64_t host_reduce_bytes = std::uint64_t{1} << 20U;
  };

  /// Throws UserError on an unknown tuner, on a limit with a knob or level that the profile lacks,
  /// and on as_nccl with another profile or if NCCL does not run on the fabric. NCCL's default
  /// choice is masked out if NCCL does not run on the fabric.
  TuningActions(std::shared_ptr<const CallSite> site, const Options& options);

  [[nodiscard]] ActionProfile profile() const { return profile_; }
  [[nodiscard]] const Options& options() const { return options_; }
  /// The algorithms and programs that configurations name.
  [[nodiscard]] const AlgorithmLibrary& algorithms() const { return site_->algorithms; }
  [[nodiscard]] const std::vector<Knob>& knobs() const { return knobs_; }
  /// Names of a knob's levels, in the order of the action's values.
  [[nodiscard]] const std::vector<std::string>& levels(Knob knob) const {
    return levels_[static_cast<std::size_t>(knob)];
  }
  /// One dimension per knob; values are indices into levels().
  [[nodiscard]] const MultiDiscrete& space() const { return space_; }

  /// All actions that are legal for some call of a collective, knobs() numbers each, ascending;
  /// empty if no action can carry it out. With profile Pccl, reductions on hosts are legal for
  /// small calls only, so the functions that take a call may refuse some of these actions.
  [[nodiscard]] std::span<const std::int32_t> legal_actions(CollectiveKind collective) const;
  [[nodiscard]] std::size_t legal_count(CollectiveKind collective) const;
  [[nodiscard]] bool legal(CollectiveKind collective, std::span<const std::int32_t> action) const;
  [[nodiscard]] bool legal(const Call& call, std::span<const std::int32_t> action) const;
  /// True if actions are legal for some sizes of a collective's calls only.
  [[nodiscard]] bool by_size(CollectiveKind collective) const {
    return !of_large_.empty() && !of_large_[static_cast<std::size_t>(collective)].actions.empty();
  }
  /// True if actions with a limited size are not legal for the call.
  [[nodiscard]] bool large(const Call& call) const {
    return call.bytes > options_.host_reduce_bytes && by_size(call.collective);
  }
  /// Reason why an action of the space is illegal, which names the first illegal knob and its legal
  /// values after the earlier knobs: "protocol LL: 'pat' has only Simple". Empty if it is legal.
  [[nodiscard]] std::string misfit(const Call& call, std::span<const std::int32_t> action) const;
  /// Reason why no legal action runs a program of Options::programs, whatever the call; nullopt if
  /// there is such an action.
  struct Idle {
    std::string reason;
    /// True if the program runs on no fabric with these collectives and levels; false if only this
    /// fabric excludes it.
    bool by_options = false;
  };
  [[nodiscard]] std::optional<Idle> why_idle(std::string_view program) const;
  /// The same for the schedules of an item of Options::synth.
  [[nodiscard]] std::optional<Idle> why_idle(const SynthActions& item) const;
  /// Marginal masks of all dimensions, concatenated: the values that occur in some legal action.
  void mask(CollectiveKind collective, std::span<std::uint8_t> out) const;
  void mask(const Call& call, std::span<std::uint8_t> out) const;
  /// The mask of dimension prefix.size(), given the values of the earlier dimensions. All zeros if
  /// no legal action has this prefix.
  void conditional_mask(CollectiveKind collective, std::span<const std::int32_t> prefix,
                        std::span<std::uint8_t> out) const;
  void conditional_mask(const Call& call, std::span<const std::int32_t> prefix,
                        std::span<std::uint8_t> out) const;

  /// Tuner to which an action leaves the call; nullopt if the action gives the configuration
  /// itself.
  [[nodiscard]] std::optional<std::size_t> tuner_of(std::span<const std::int32_t> action) const;
  /// Configuration with which rewards compare: the first tuner's choice. If that tuner cannot
  /// choose for the collective or on this fabric, it is a rule of thumb after TE-CCL: Tree with LL
  /// below 16 KiB, Ring with LL128 below 1 MiB, then Ring with Simple on every logical ring.
  /// Allocates.
  [[nodiscard]] PlainConfig reference(const Call& call) const;
  /// True if a tuner runs on the fabric and chooses for the collective.
  [[nodiscard]] bool chooses(std::size_t tuner, CollectiveKind collective) const {
    return tuners_.at(tuner) && tuners_[tuner]->chooses_for(collective);
  }
  /// Choice of a tuner. Allocates, so callers keep the result. Throws UserError if it cannot
  /// choose.
  [[nodiscard]] PlainConfig choose(std::size_t tuner, const Call& call) const;
  /// The configuration of a legal action without a tuner. With profile Pccl, protocol, channels and
  /// threads are those of a large call; those of each call are in engine_choice.
  [[nodiscard]] PlainConfig config(CollectiveKind collective,
                                   std::span<const std::int32_t> action) const;
  /// With profile Pccl, configuration of the engine's programs for a call, without the program: the
  /// choice of tuner pccl:ring, which is that of the vendor's library inside a node. Allocates.
  [[nodiscard]] PlainConfig engine_choice(const Call& call) const;
  /// The configuration of any legal action for a call: its tuner's choice, or its own. Allocates.
  [[nodiscard]] PlainConfig config(const Call& call, std::span<const std::int32_t> action) const;
  /// Synthesised schedule that a configuration's program carries out; null for other programs.
  [[nodiscard]] const FrontSchedule* synthesised(const PlainConfig& config) const;
  /// Front of a collective, of the first item of Options::synth that has one; null if none has.
  [[nodiscard]] const CollectiveFront* front(CollectiveKind collective) const;
  /// front() of every collective that has one.
  [[nodiscard]] std::vector<CollectiveFront> fronts() const;
  /// The action for a configuration, if there is one.
  [[nodiscard]] std::optional<std::vector<std::int32_t>> action_of(CollectiveKind collective,
                                                                   const PlainConfig& config) const;
  /// Text of an action or of a prefix: its levels, without those that are the first of their knob
  /// ("ring LL128 channels=8").
  [[nodiscard]] std::string describe(std::span<const std::int32_t> action) const;

  /// Collectives of the workload about which NCCL asks no tuner; empty without Options::as_nccl.
  [[nodiscard]] std::vector<CollectiveKind> untuned_collectives() const;

 private:
  using Levels = std::array<std::int32_t, kKnobs>;
  /// A node of the tree of legal prefixes: its children, by value, are consecutive.
  struct Prefix {
    std::uint32_t values = 0;  ///< bit v: value v is legal next
    std::uint32_t first_child = 0;
  };
  struct Legal {
    std::vector<std::int32_t> actions;
    std::vector<Prefix> prefixes;
    std::vector<std::uint8_t> marginal;
    std::vector<std::int32_t> programs;  ///< by algorithm and inter: index in the library, or -1
    std::vector<std::int32_t> copies;    ///< the same by level of a schedule and instances
  };

  void list_programs(const Options& options);
  void name_levels();
  void limit_levels(const std::vector<KnobLimit>& limits);
  bool allow_schedules(std::string_view name, std::uint32_t& allowed) const;
  [[nodiscard]] std::optional<NcclOffer> offer(const Options& options) const;
  [[nodiscard]] Legal enumerate(CollectiveKind collective, bool large) const;
  [[nodiscard]] const AlgorithmEntry& entry_of(const TunedProgram& program) const;
  [[nodiscard]] bool has_action(CollectiveKind collective, const TunedProgram& program) const;
  void add_programs(CollectiveKind collective, Legal& legal) const;
  void add_program(CollectiveKind collective, const TunedProgram& program, Legal& legal) const;
  void add_configurations(CollectiveKind collective, std::uint16_t program, Levels levels,
                          Legal& legal) const;
  void add_schedules(CollectiveKind collective, Legal& legal) const;
  [[nodiscard]] std::int32_t& copies_at(Legal& legal, const Levels& levels) const;
  [[nodiscard]] std::int32_t program_at(CollectiveKind collective, const Levels& levels) const;
  void add_openmpi_programs(CollectiveKind collective, Legal& legal) const;
  void list_pccl_plans();
  void add_pccl_plans(CollectiveKind collective, bool large, Legal& legal) const;
  [[nodiscard]] std::size_t plan_at(const Levels& levels) const;
  [[nodiscard]] PlainConfig engine_config(std::uint16_t program) const {
    return with_program(engine_, program);
  }
  [[nodiscard]] bool legal_in(const Legal& legal, std::span<const std::int32_t> action) const;
  static void mask_of(const Legal& legal, std::span<const std::int32_t> prefix,
                      std::span<std::uint8_t> out);
  void add_action(const Levels& levels, Legal& legal) const;
  [[nodiscard]] bool allowed(Knob knob, std::int32_t level) const {
    return ((allowed_[static_cast<std::size_t>(knob)] >> static_cast<unsigned>(level)) & 1U) != 0;
  }
  void index(Legal& legal) const;
  [[nodiscard]] std::size_t place_of(const Levels& levels) const;
  [[nodiscard]] std::uint64_t chunk_of(std::size_t level) const;
  [[nodiscard]] Config usual_tiles(CollectiveKind collective, const PlainConfig& config) const;
  [[nodiscard]] bool chunk_fits(std::size_t level, CollectiveKind collective,
                                const PlainConfig& config) const;
  void set_chunk(PlainConfig& config, CollectiveKind collective, std::size_t level) const;
  [[nodiscard]] Levels levels_of(std::span<const std::int32_t> action) const;
  [[nodiscard]] PlainConfig config_of(CollectiveKind collective, std::uint16_t program,
                                      const Levels& levels) const;
  [[nodiscard]] const Legal& of(CollectiveKind collective) const {
    return legal_[static_cast<std::size_t>(collective)];
  }
  [[nodiscard]] const Legal& of(const Call& call) const {
    return large(call) ? of_large_[static_cast<std::size_t>(call.collective)] : of(call.collective);
  }

  std::shared_ptr<const CallSite> site_;
  Options options_;
  std::vector<std::unique_ptr<const Tuner>> tuners_;  ///< null: does not run on the fabric
  std::vector<std::string> tuner_names_;
  ActionProfile profile_;
  std::vector<TunedProgram> programs_;  ///< programs in the order of their levels
  std::size_t first_schedule_ = 0;      ///< first level of Knob::Algorithm of Options::synth
  std::vector<const FrontSchedule*> schedules_;  ///< by index in the library; null for others
  std::vector<Knob> knobs_;
  std::array<std::vector<std::string>, kKnobs> levels_;
  std::array<std::uint32_t, kKnobs> allowed_{};  ///< bit l: level l may be used
  std::optional<NcclOffer> offer_;               ///< NCCL's offer; nullopt: no restriction
  MultiDiscrete space_;
  /// A plan of PCCL's engine whose program the library can build.
  struct EnginePlan {
    std::array<std::int32_t, kPcclKnobs.size()> levels{};
    std::uint16_t program = 0;
    bool host = false;
  };
  std::vector<EnginePlan> plans_;
  std::unique_ptr<const Tuner> in_node_;    ///< pccl:ring; null if no library is modelled
  PlainConfig engine_;                      ///< engine_choice of a large call
  std::vector<std::int32_t> plan_program_;  ///< by plan_at: index in the library, or -1
  std::vector<Legal> legal_;                ///< by collective
  std::vector<Legal> of_large_;  ///< the same for large calls; empty if sizes do not matter
};

}  // namespace cclgym
