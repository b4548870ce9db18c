// Who decides how a call is carried out, where the user does not.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/contract.hpp"
#include "core/error.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Chooses how each call is carried out: NCCL's or OpenMPI's default choice, a size-range dispatch
/// table.
class ConfigChooser {
 public:
  ConfigChooser() = default;
  virtual ~ConfigChooser() = default;
  ConfigChooser(const ConfigChooser&) = delete;
  ConfigChooser& operator=(const ConfigChooser&) = delete;

  /// The configuration for a call. Equal calls get equal configurations. Throws UserError if the
  /// chooser has none for this call.
  [[nodiscard]] virtual Config choose(const Call& call) const = 0;
  /// Does it choose for calls of this collective at all? Where it does not, experiments leave it
  /// out, as they do with an algorithm that has not the collective.
  [[nodiscard]] virtual bool chooses_for(CollectiveKind /*collective*/) const { return true; }
  /// What decides, in one line.
  [[nodiscard]] virtual std::string description() const = 0;
};

/// Where the calls of a chooser run.
struct ChooserSite {
  std::shared_ptr<const Fabric> fabric;
  /// What experiments call the fabric ("ndv4 servers=2"); empty: the fabric's name.
  std::string fabric_label{};
  /// Says how large the tiles and how many the slots of a protocol are (with_protocol_tiles).
  CostModel cost_model{};
  /// Where the chooser is named, for messages; a relative path in its name is seen from the folder
  /// of this file (nothing: from the working directory).
  SourceLocation where{};
};

/// A kind of chooser, for `list` and messages.
struct ConfigChooserInfo {
  std::string form;         ///< how it is named: "dispatch:FILE"
  std::string description;  ///< one line
};

/// The kinds of choosers there are.
[[nodiscard]] const std::vector<ConfigChooserInfo>& config_chooser_infos();
/// Does the name stand for a chooser, well-formed or not ("dispatch:table.yaml"), and not for an
/// algorithm?
[[nodiscard]] bool is_config_chooser(std::string_view name);
/// The chooser of that name. Throws UserError at site.where if there is none such, or where what
/// it reads is wrong.
[[nodiscard]] std::unique_ptr<const ConfigChooser> make_config_chooser(std::string_view name,
                                                                       const ChooserSite& site);

}  // namespace cclgym
