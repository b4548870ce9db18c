// The algorithm library: named programs that run and sweeps can choose from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/contract.hpp"
#include "collectives/ir.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// What an algorithm is asked to build.
struct AlgorithmRequest {
  CollectiveKind collective = CollectiveKind::AllReduce;
  int ranks = 1;
  int channels = 1;  ///< >= 1
  int root = 0;      ///< for rooted collectives
  /// Order of the ranks on each logical ring; channel k uses rings[k % rings.size()]. Empty: 0, 1,
  /// …
  std::vector<std::vector<int>> rings;
};

struct AlgorithmInfo {
  std::string name;  ///< as in YAML: "ring", "recursive-doubling", "tree", "all-pairs", "naive"
  std::string description;  ///< one line
  std::vector<CollectiveKind> collectives;
  std::string rank_rule;  ///< in words: "any number of ranks >= 2", "a power of two"
};

/// The shipped algorithms, in the order in which `list` shows them.
[[nodiscard]] const std::vector<AlgorithmInfo>& algorithm_infos();
/// Throws UserError naming the nearest algorithm if there is none such.
[[nodiscard]] const AlgorithmInfo& algorithm_info(std::string_view name);
[[nodiscard]] bool supports(const AlgorithmInfo& algorithm, CollectiveKind collective);
/// Why the algorithm cannot run on this many ranks; nullopt if it can.
[[nodiscard]] std::optional<std::string> rank_misfit(std::string_view algorithm, int ranks);

/// Traces, compiles and verifies the algorithm's program. Throws UserError if the algorithm does
/// not have the collective, does not fit the ranks, or channels < 1; std::logic_error if the
/// program fails its own verification (a bug of the library).
[[nodiscard]] std::shared_ptr<const ThreadBlockProgram> build_algorithm(
    std::string_view name, const AlgorithmRequest& request);

/// Logical rings for a fabric: as many link-disjoint Hamiltonian cycles over direct GPU-GPU links
/// as there are, each as often as its narrowest link has units and in both directions (DGX-1: six
/// rings from two cycles); where GPUs meet in switches, the one ring 0, 1, …, n - 1.
[[nodiscard]] std::vector<std::vector<int>> logical_rings(const Fabric& fabric);

}  // namespace cclgym
