// What a tuner may choose: the knobs of a configuration as one MultiDiscrete action, and which
// combinations are legal.
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
#include "env/tuning/actions/nccl_offer.hpp"
#include "sim/fast/call_timer.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// The dimensions of the action, in the order in which a policy should decide: each is legal or not
/// given the ones before.
enum class Knob : std::uint8_t {
  Algorithm,  ///< the program, or who chooses it (NCCL's default, a size-dispatch table)
  Inter,      ///< of algorithm "hierarchical": how servers exchange data
  Protocol,
  Channels,
  Instances,  ///< copies of the program: MSCCL's parallelisation factor r
  Threads,    ///< of a thread block
  Chunk,      ///< how much data moves as one message
  Nic,        ///< which NIC each GPU uses
};
inline constexpr std::size_t kKnobs = 8;
[[nodiscard]] std::string_view to_string(Knob knob);

/// Which knobs can be turned where the policy will run.
enum class ActionProfile : std::uint8_t {
  StockNccl,  ///< a tuner plugin of NCCL: algorithm, protocol, channels
  Nccl230,    ///< of NCCL 2.30: the chunk size, too
  Offline,    ///< everything: programs of an interpreter, r, threads, NIC binding
  OpenMpi,    ///< OpenMPI's algorithms and segment sizes (sim/tuners/openmpi_algorithms.hpp)
};
[[nodiscard]] const std::vector<std::string>& action_profile_names();

/// Which levels of a knob may be used. Tuners leave the other knobs at their first levels,
/// whether these may be used or not.
struct KnobLimit {
  struct Level {
    std::string name;
    SourceLocation where{};
  };
  std::string knob;
  std::vector<Level> levels;
  SourceLocation where{};
};

/// Levels of Knob::Algorithm and Knob::Inter that stand for an algorithm.
struct TunedProgram {
  std::uint16_t index = 0;  ///< in the site's library
  std::string algorithm;    ///< level of Knob::Algorithm
  std::string inter;        ///< level of Knob::Inter
};
/// The tuner that rewards compare with unless another is named: "nccl-default", and
/// "openmpi-default" with the actions of OpenMPI.
[[nodiscard]] std::vector<std::string> default_tuners(ActionProfile profile);

/// The actions of one machine. Immutable; may be shared by threads, but tuners are asked through
/// a cache of the caller (see choose).
///
/// The space depends on the profile and the number of tuners alone, not on the fabric, so that a
/// policy can be moved from machine to machine; the masks do.
class TuningActions {
 public:
  struct Options {
    ActionProfile profile = ActionProfile::Offline;
    /// The first levels of Knob::Algorithm: "nccl-default[:VERSION]", "dispatch:FILE",
    /// "openmpi-default".
    std::vector<std::string> tuners{"nccl-default"};
    std::vector<CollectiveKind> collectives{};  ///< that will be called; empty: all
    std::string fabric_label{};                 ///< of dispatch tables; empty: the fabric's name
    SourceLocation where{};                     ///< where the tuners are named
    std::vector<KnobLimit> limits{};            ///< of knobs that are not here, all levels
    /// Of NCCL's programs, only what NCCL has there (env/tuning/actions/nccl_offer.hpp): the
    /// release of the first tuner "nccl-default[:VERSION]", the newest without one. Of profiles
    /// StockNccl and Nccl230 only.
    bool as_nccl = false;
    /// Names in the site's library that are levels of Knob::Algorithm, behind those of the profile.
    /// A fixed program leaves channels and instances at their first levels, whether these may be
    /// used or not, and runs with its own.
    std::vector<std::string> programs{};
    SourceLocation programs_where{};
    SourceLocation as_nccl_where{};  ///< where that is asked for
  };

  /// Throws UserError on an unknown tuner, a limit of a knob or level that the profile has not,
  /// and as_nccl with another profile or where NCCL does not run. NCCL's default choice is masked
  /// out where NCCL does not run.
  TuningActions(std::shared_ptr<const CallSite> site, const Options& options);

  [[nodiscard]] ActionProfile profile() const { return profile_; }
  [[nodiscard]] const Options& options() const { return options_; }
  /// The algorithms and programs that configurations name.
  [[nodiscard]] const AlgorithmLibrary& library() const { return site_->library; }
  [[nodiscard]] const std::vector<Knob>& knobs() const { return knobs_; }
  /// Names of a knob's levels, in the order of the action's values.
  [[nodiscard]] const std::vector<std::string>& levels(Knob knob) const {
    return levels_[static_cast<std::size_t>(knob)];
  }
  /// A dimension a knob; values are indices into levels().
  [[nodiscard]] const MultiDiscrete& space() const { return space_; }

  /// All legal actions of a collective, knobs() numbers each, ascending; empty if nothing can carry
  /// it out.
  [[nodiscard]] std::span<const std::int32_t> legal_actions(CollectiveKind collective) const;
  [[nodiscard]] std::size_t legal_count(CollectiveKind collective) const;
  [[nodiscard]] bool legal(CollectiveKind collective, std::span<const std::int32_t> action) const;
  /// Which knob makes an action of the space illegal, and what it may be after the ones before:
  /// "protocol LL: 'pat' has Simple alone". Empty if the action is legal.
  [[nodiscard]] std::string misfit(CollectiveKind collective,
                                   std::span<const std::int32_t> action) const;
  /// Marginal masks of all dimensions, one behind the other: what some legal action has.
  void mask(CollectiveKind collective, std::span<std::uint8_t> out) const;
  /// The mask of dimension prefix.size(), given the values of the ones before it. All zeros if no
  /// legal action begins so.
  void conditional_mask(CollectiveKind collective, std::span<const std::int32_t> prefix,
                        std::span<std::uint8_t> out) const;

  /// The tuner that an action leaves the call to; nullopt: it says the configuration itself.
  [[nodiscard]] std::optional<std::size_t> tuner_of(std::span<const std::int32_t> action) const;
  /// What rewards compare with: what the first tuner chooses; where it does not choose for the
  /// collective or not on this fabric, a rule of thumb after TE-CCL: Tree with LL below
  /// 16 KiB, Ring with LL128 below 1 MiB, then Ring with Simple on every logical ring. Allocates.
  [[nodiscard]] PlainConfig reference(const Call& call) const;
  /// What a tuner chooses. Allocates: keep the answer. Throws UserError where it cannot choose.
  [[nodiscard]] PlainConfig choose(std::size_t tuner, const Call& call) const;
  /// The configuration of a legal action without a tuner.
  [[nodiscard]] PlainConfig config(CollectiveKind collective,
                                   std::span<const std::int32_t> action) const;
  /// The action that stands for a configuration, if there is one.
  [[nodiscard]] std::optional<std::vector<std::int32_t>> action_of(CollectiveKind collective,
                                                                   const PlainConfig& config) const;
  /// "ring LL128 channels=8": the levels of an action, or of its beginning, but for those that are
  /// first.
  [[nodiscard]] std::string describe(std::span<const std::int32_t> action) const;

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
  };

  void list_programs(const Options& options);
  void name_levels();
  void limit_levels(const std::vector<KnobLimit>& limits);
  [[nodiscard]] std::optional<NcclOffer> offer(const Options& options) const;
  [[nodiscard]] Legal enumerate(CollectiveKind collective) const;
  [[nodiscard]] const AlgorithmEntry& entry_of(const TunedProgram& program) const;
  void add_program(CollectiveKind collective, const TunedProgram& program, Legal& legal) const;
  void add_openmpi_programs(CollectiveKind collective, Legal& legal) const;
  void add_action(const Levels& levels, Legal& legal) const;
  [[nodiscard]] bool allowed(Knob knob, std::int32_t level) const {
    return ((allowed_[static_cast<std::size_t>(knob)] >> static_cast<unsigned>(level)) & 1U) != 0;
  }
  void index(Legal& legal) const;
  [[nodiscard]] std::size_t place_of(const Levels& levels) const;
  [[nodiscard]] std::uint64_t chunk_of(std::size_t level) const;
  [[nodiscard]] bool chunk_fits(std::size_t level, Protocol protocol) const;
  void set_chunk(PlainConfig& config, std::size_t level) const;
  [[nodiscard]] Levels levels_of(std::span<const std::int32_t> action) const;
  [[nodiscard]] PlainConfig config_of(std::uint16_t program, const Levels& levels) const;
  [[nodiscard]] const Legal& of(CollectiveKind collective) const {
    return legal_[static_cast<std::size_t>(collective)];
  }

  std::shared_ptr<const CallSite> site_;
  Options options_;
  std::vector<std::unique_ptr<const Tuner>> tuners_;  ///< null: not on this fabric
  std::vector<std::string> tuner_names_;
  ActionProfile profile_;
  std::vector<TunedProgram> programs_;  ///< in the order of their levels
  std::vector<Knob> knobs_;
  std::array<std::vector<std::string>, kKnobs> levels_;
  std::array<std::uint32_t, kKnobs> allowed_{};  ///< bit l: level l may be used
  std::optional<NcclOffer> offer_;               ///< of what NCCL has; none: of the library
  MultiDiscrete space_;
  std::vector<Legal> legal_;  ///< by collective
};

}  // namespace cclgym
