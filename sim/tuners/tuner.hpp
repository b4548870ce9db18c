// Tuners: choose the configuration of a call if the user does not.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/contract.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "core/error.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Chooses the configuration of each call: NCCL's or OpenMPI's default choice, or a size-range
/// dispatch table.
class Tuner {
 public:
  Tuner() = default;
  virtual ~Tuner() = default;
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  /// The configuration for a call. Equal calls get equal configurations. Throws UserError if the
  /// tuner has none for this call.
  [[nodiscard]] virtual Config choose(const Call& call) const = 0;
  /// A sentence about the choice for a call if the tuner's name lets users expect another; mostly
  /// empty.
  [[nodiscard]] virtual std::string note(const Call& /*call*/) const { return {}; }
  /// True if it chooses for calls of this collective. Experiments skip other collectives, as they
  /// do for an algorithm that lacks the collective.
  [[nodiscard]] virtual bool chooses_for(CollectiveKind /*collective*/) const { return true; }
  /// The algorithms that its configurations name: those of its site, and programs that it reads
  /// itself.
  [[nodiscard]] virtual AlgorithmLibrary algorithms() const { return AlgorithmLibrary::shipped(); }
  /// One line that describes the basis of the choice.
  [[nodiscard]] virtual std::string description() const = 0;
};

/// Fabric, cost model and place in a file for which a tuner is made.
struct TunerSite {
  std::shared_ptr<const Fabric> fabric;
  /// The fabric's label in experiments ("ndv4 nodes=2"); empty: the fabric's name.
  std::string fabric_label{};
  /// Determines the tile size and slots of a protocol (with_protocol_tiles).
  CostModel cost_model{};
  /// Location at which the tuner is named, for messages; a relative path in its name is relative to
  /// the folder of this file (if empty: to the working directory).
  SourceLocation where{};
  /// The algorithms that the tuner may choose from.
  AlgorithmLibrary algorithms = AlgorithmLibrary::shipped();
  /// Collectives for which it will be asked to choose; empty: any. A tuner that makes programs
  /// makes them for these only.
  std::vector<CollectiveKind> collectives{};
  /// Called with a sentence about each piece of work of a tuner that takes long to make. May be
  /// empty.
  std::function<void(const std::string&)> on_progress{};
};

/// A kind of tuner, for `list` and messages.
struct TunerInfo {
  std::string form;         ///< its notation: "dispatch:FILE"
  std::string description;  ///< one line
};

/// All kinds of tuners.
[[nodiscard]] const std::vector<TunerInfo>& tuner_infos();
/// True if the name has the form of a tuner ("dispatch:table.yaml") rather than of an algorithm; it
/// need not be well-formed.
[[nodiscard]] bool is_tuner(std::string_view name);
/// True if a tuner of this name may bring programs of its own into the library
/// (Tuner::algorithms).
[[nodiscard]] bool brings_programs(std::string_view name);
/// Creates the tuner of that name. Throws UserError at site.where if there is none, or if its input
/// is wrong.
[[nodiscard]] std::unique_ptr<const Tuner> make_tuner(std::string_view name, const TunerSite& site);

/// Reads a configuration that stands where a tuner may stand: "ALGORITHM[/PROTOCOL[/CHANNELS]]"
/// ("ring/LL128/8"), without tiles and slots. Throws UserError at `where`; a name without / that is
/// near a tuner's is taken for a misspelt tuner.
[[nodiscard]] Config read_short_config(std::string_view text, const AlgorithmLibrary& library,
                                       const SourceLocation& where);

}  // namespace cclgym
