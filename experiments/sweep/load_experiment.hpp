// Loads an experiment from YAML into cells. docs/experiments.md describes the format.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "experiments/sweep/experiment.hpp"
#include "topology_models/fabric_spec.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

/// Max number of cells. A larger number is far more likely a slip in a range ("1B..1GiB +1B") than
/// a run that anyone wants to wait for.
inline constexpr std::size_t kMostCells = 1'000'000;

/// Called with sentences about work that takes long while an experiment is loaded: tuners that
/// synthesise programs. May be empty.
using LoadProgress = std::function<void(const std::string&)>;

/// Settings with which an experiment is loaded; the defaults are those for files of users.
struct LoadSettings {
  LoadProgress on_progress{};
  /// Builds the fabrics, as make_fabric does.
  std::function<std::shared_ptr<const Fabric>(const FabricSpec&)> fabric_maker = make_fabric;
  std::size_t most_cells = kMostCells;  ///< a larger experiment is refused
};

/// Reads and checks an experiment file: every name, every range, every combination. Throws
/// UserError with file:line:column of the error.
[[nodiscard]] Experiment load_experiment(const std::string& path,
                                         const LoadProgress& on_progress = {});
/// Reads and checks the text of an experiment. `file_name` is used in messages; relative paths in
/// the text start from its folder.
[[nodiscard]] Experiment parse_experiment(std::string_view text, const std::string& file_name,
                                          const LoadSettings& settings = {});

}  // namespace cclgym
