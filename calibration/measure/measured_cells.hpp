// Groups measurements into cells: rows that need the same simulation form one cell.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "calibration/measure/systems.hpp"
#include "experiments/measured/measured_file.hpp"

namespace cclgym {

/// One call on one fabric, and its measured times.
struct MeasuredCell {
  std::string system;
  FabricSpec fabric;
  std::string cost_model;    ///< in the form that cost_model_for takes
  std::string nccl_version;  ///< release whose default choice applies, unless `named` has the
                             ///< configuration
  std::string tuner;  ///< tuner that chose, if it was not NCCL, in the form that make_tuner takes
  std::optional<Config> named;
  bool forced = false;  ///< the rows state the algorithm and the protocol
  int ranks = 0;
  int nodes = 1;
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::uint64_t bytes = 0;
  double time_s = 0;  ///< median of the rows
  double least_s = 0;
  double most_s = 0;
  int rows = 0;
  std::vector<double> times_s{};  ///< times of the rows, in the order of the file
  std::set<std::string> configs;  ///< configs of the rows
  std::set<std::string> sources;
  std::string gpu{};  ///< model of the GPUs of the first row, "NVIDIA H100 80GB HBM3"; may be empty
  SourceLocation where{};  ///< location of the first row

  /// Name of the cell in messages: "Polaris, 32 ranks, allreduce, 64KiB".
  [[nodiscard]] std::string label() const;
};

/// Rows that no simulation can reproduce.
struct RefusedRows {
  std::string system;
  std::string reason;
  int rows = 0;
  SourceLocation first;
};

/// The first reason, and the number of the others: "REASON (and 2 other reasons)". There is at
/// least one.
[[nodiscard]] std::string reasons_text(std::span<const RefusedRows> refused);

struct MeasuredCells {
  std::vector<MeasuredCell> cells;  ///< by system, ranks, collective, version, size
  std::vector<RefusedRows> refused;
  int rows = 0;      ///< number of rows that the filter accepted
  int left_out = 0;  ///< rows that the filter rejected
  /// Caveats: facts of some rows that the simulation leaves out or takes from another release, each
  /// once, with the place of its first row.
  std::vector<std::string> warnings{};
};

/// Filter of rows, and facts about their systems.
struct CellFilter {
  std::optional<std::string> fabric{};        ///< fabric of all rows, regardless of their system
  std::vector<std::string> systems{};         ///< empty: all
  std::vector<std::string> configs{};         ///< empty: all
  std::vector<CollectiveKind> collectives{};  ///< empty: all
  std::optional<int> max_ranks{};
  /// AllToAll on more ranks is refused: it sends ranks² messages at once that share links with many
  /// others, which takes a minute per size on 512 ranks where routes are adaptive.
  int max_alltoall_ranks = 256;
  std::string tuner{};  ///< tuner of rows that state neither a configuration nor a tuner, in the
                        ///< form that make_tuner takes; empty: NCCL's default
  std::optional<Config> named{};              ///< configuration of such rows, instead of a tuner
  bool protocol_named = true;                 ///< false: `named` leaves the protocol to NCCL
  bool channels_named = true;                 ///< false: it leaves the channels to NCCL
  std::optional<std::string> nccl_version{};  ///< release for rows without one; has priority over
                                              ///< the system's
};

/// Takes what chose in rows that do not state it: a tuner, or ALGORITHM[/PROTOCOL[/CHANNELS]].
/// Throws UserError at `where`.
void set_tuner(CellFilter& filter, const std::string& text, const SourceLocation& where);

/// Throws UserError if a system is unknown (and no fabric given), or if no row is left, with the
/// names that the file has.
[[nodiscard]] MeasuredCells make_cells(std::span<const Measurement> rows, const CellFilter& filter,
                                       const std::string& file);

/// Throws UserError with the systems' names if the cells belong to more than one: one parameter
/// set, or one fabric, describes one system.
void require_one_system(const MeasuredCells& cells, const std::string& file);

/// Names of the rows' systems, each once, in their order.
[[nodiscard]] std::vector<std::string> systems_of(std::span<const Measurement> rows);

}  // namespace cclgym
