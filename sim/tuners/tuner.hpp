// Who decides how a call is carried out, where the user does not.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/contract.hpp"
#include "core/error.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Chooses how each call is carried out: NCCL's or OpenMPI's default choice, a size-range dispatch
/// table.
class Tuner {
 public:
  Tuner() = default;
  virtual ~Tuner() = default;
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  /// The configuration for a call. Equal calls get equal configurations. Throws UserError if the
  /// tuner has none for this call.
  [[nodiscard]] virtual Config choose(const Call& call) const = 0;
  /// Does it choose for calls of this collective at all? Where it does not, experiments leave it
  /// out, as they do with an algorithm that has not the collective.
  [[nodiscard]] virtual bool chooses_for(CollectiveKind /*collective*/) const { return true; }
  /// What decides, in one line.
  [[nodiscard]] virtual std::string description() const = 0;
};

/// Where the calls of a tuner run.
struct TunerSite {
  std::shared_ptr<const Fabric> fabric;
  /// What experiments call the fabric ("ndv4 servers=2"); empty: the fabric's name.
  std::string fabric_label{};
  /// Says how large the tiles and how many the slots of a protocol are (with_protocol_tiles).
  CostModel cost_model{};
  /// Where the tuner is named, for messages; a relative path in its name is seen from the folder
  /// of this file (nothing: from the working directory).
  SourceLocation where{};
};

/// A kind of tuner, for `list` and messages.
struct TunerInfo {
  std::string form;         ///< how it is named: "dispatch:FILE"
  std::string description;  ///< one line
};

/// The kinds of tuners there are.
[[nodiscard]] const std::vector<TunerInfo>& tuner_infos();
/// Does the name stand for a tuner, well-formed or not ("dispatch:table.yaml"), and not for an
/// algorithm?
[[nodiscard]] bool is_tuner(std::string_view name);
/// The tuner of that name. Throws UserError at site.where if there is none such, or where what
/// it reads is wrong.
[[nodiscard]] std::unique_ptr<const Tuner> make_tuner(std::string_view name, const TunerSite& site);

}  // namespace cclgym
