// The sweep that chooses the best synthesised program for each size.
#pragma once

#include <string>
#include <vector>

#include "collectives/contract.hpp"
#include "core/error.hpp"
#include "cost_models/cost_model.hpp"
#include "topology_models/fabric_spec.hpp"

namespace cclgym {

struct SynthesisSweep {
  std::string name;  ///< name of the experiment
  FabricSpec fabric{};
  CollectiveKind collective = CollectiveKind::AllGather;
  int root = 0;
  std::vector<std::string> programs{};  ///< names; files are programs/NAME.xml
  std::vector<std::string> others{};    ///< algorithms and tuners of the library to compare with
  std::string baseline{};               ///< one of `others`; empty: none
  std::string sizes = "1KiB..1GiB x4";
  std::string cost_model = "auto";
  bool hockney = false;  ///< the cost model has no protocols: tile sizes are swept instead
};

/// Throws UserError at `where` unless the text is what `sizes` of an experiment takes
/// ("1KiB..1GiB x4", "[12KiB, 48MiB]") and all sizes fit the collective on so many ranks.
void check_sizes(const std::string& text, CollectiveKind collective, int ranks,
                 const SourceLocation& where);

/// The sweep as the text of an experiment file in the folder of `programs/`.
[[nodiscard]] std::string sweep_yaml(const SynthesisSweep& sweep);

/// A fabric as a YAML mapping that read_fabric_spec reads: `{name: ndv4, nodes: 2}`.
[[nodiscard]] std::string fabric_yaml(const FabricSpec& spec);

}  // namespace cclgym
