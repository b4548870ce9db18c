// The linear program of AllToAll in epochs, and the meaning of its columns.
#pragma once

#include <span>
#include <vector>

#include "synthesis/flows/epoch_flow.hpp"

namespace cclgym::synthesis {

/// Columns of one source: sends by orbit of edges and epoch, and what nodes hold by orbit of nodes
/// and epoch; orbits under the symmetries that fix the source; -1: cannot help.
struct EpochColumns {
  SourceOrbit source{};
  std::vector<std::vector<int>> sent{};
  std::vector<std::vector<int>> held{};
};

/// Column 0 is the delivered part.
struct EpochProgram {
  ExactProgram program{};
  std::vector<EpochColumns> sources{};
};

/// Parts of the program that do not depend on the number of epochs.
struct EpochSetting {
  const EpochGraph& epochs;
  const AllToAllOptions& options;
  int chunks = 1;
  std::vector<char> participates{};
  GraphOrbits orbits{};
  std::vector<SourceOrbit> sources{};
  std::vector<std::vector<int>> arrival{};  ///< earliest epoch, by source and node; -1: never
  std::vector<int> back{};  ///< epochs to the nearest participant, by node; -1: never
};

/// Throws UserError for symmetries that change delays or windows, and for chunks < 1.
[[nodiscard]] EpochSetting make_epoch_setting(const EpochGraph& epochs, int chunks,
                                              const AllToAllOptions& options);

[[nodiscard]] EpochProgram make_epoch_program(const EpochSetting& setting, int count);

/// Schedule of a solution whose columns have the value amounts / scale, without what reaches no
/// target: shares are multiples of 1 / (scale * chunks).
[[nodiscard]] std::vector<EpochPath> exact_epoch_paths(const EpochSetting& setting,
                                                       const EpochProgram& program, int count,
                                                       const std::vector<std::int64_t>& amounts,
                                                       std::int64_t scale);

/// Schedule of a solution by floating-point values: shares are multiples of 1 / parts, so that they
/// may exceed capacities that are nearly full.
[[nodiscard]] std::vector<EpochPath> rounded_epoch_paths(const EpochSetting& setting,
                                                         const EpochProgram& program, int count,
                                                         std::span<const double> values,
                                                         std::int64_t parts);

}  // namespace cclgym::synthesis
