// Measurements as questions to the simulator: those that ask the same are one cell.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "calibration/measure/measured_file.hpp"
#include "calibration/measure/systems.hpp"

namespace cclgym {

/// One call on one fabric, and what was measured of it.
struct MeasuredCell {
  std::string system;
  FabricSpec fabric;
  std::string cost_model;    ///< what cost_model_for takes
  std::string nccl_version;  ///< whose default choice it is, unless `named` says how it ran
  std::string tuner;         ///< who chose, if it was not NCCL: what make_tuner takes
  std::optional<Config> named;
  int ranks = 0;
  int nodes = 1;
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::uint64_t bytes = 0;
  double time_s = 0;  ///< median of the rows
  double least_s = 0;
  double most_s = 0;
  int rows = 0;
  std::set<std::string> configs;  ///< of the rows
  std::set<std::string> sources;
  SourceLocation where{};  ///< of the first row

  /// "Polaris, 32 ranks, allreduce, 64KiB"
  [[nodiscard]] std::string label() const;
};

/// Rows that no simulation can answer.
struct RefusedRows {
  std::string system;
  std::string reason;
  int rows = 0;
  SourceLocation first;
};

struct MeasuredCells {
  std::vector<MeasuredCell> cells;  ///< by system, ranks, collective, version, size
  std::vector<RefusedRows> refused;
  int rows = 0;      ///< in all, those that filters left out not counted
  int left_out = 0;  ///< by filters
};

/// Which rows count, and what they were measured on.
struct CellFilter {
  std::optional<std::string> fabric{};  ///< all rows are of this fabric, whatever their system
  std::vector<std::string> systems{};   ///< empty: all
  std::vector<std::string> configs{};   ///< empty: all
  std::vector<CollectiveKind> collectives{};  ///< empty: all
  std::optional<int> max_ranks{};
  /// AllToAll on more ranks is refused: the ranks' square of messages at once, all of which share
  /// links with many others, takes a minute a size on 512 ranks.
  int max_alltoall_ranks = 256;
  std::optional<std::string> nccl_version{};  ///< of rows that do not say, before the system's
};

/// Throws UserError if a system is not known (and no fabric given), or no row is left, naming what
/// the file has.
[[nodiscard]] MeasuredCells make_cells(std::span<const Measurement> rows, const CellFilter& filter,
                                       const std::string& file);

/// Throws UserError, naming the systems, if the cells are of more than one: one parameter set, or
/// one fabric, describes one system.
void require_one_system(const MeasuredCells& cells, const std::string& file);

/// The names of the systems of the rows, each once, in their order.
[[nodiscard]] std::vector<std::string> systems_of(std::span<const Measurement> rows);

}  // namespace cclgym
