// Measured times that a report shows beside simulated ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "topology_models/fabric.hpp"
#include "topology_models/fabric_spec.hpp"

namespace cclgym {

/// A measured time to show beside simulated ones.
struct MeasuredRow {
  std::string system;      ///< "Azure-NDv4"; "measured" if the file does not state it
  std::string config;      ///< measured configuration and variables: "nccl", "ring/LL/4"
  std::string fabric;      ///< label of its fabric
  std::string collective;  ///< cclgym's name
  int ranks = 0;
  std::uint64_t size_bytes = 0;
  double time_us = 0;
  std::string source;          ///< its origin, and facts of its run that a simulation leaves out
  bool library_chose = false;  ///< the row states neither a configuration nor a tuner
  std::vector<std::string> notes{};  ///< those facts, one by one
  SourceLocation where{};
};

/// A fabric of the experiment that shows the rows.
struct MeasuredOn {
  std::string label;
  int ranks = 0;
  int nodes = 1;
  const FabricInfo* info = nullptr;  ///< null for a fabric file, whose hosts are nodes
  const Fabric* fabric = nullptr;    ///< null: rows are not compared with its machine
};

/// Reads a file in one of the forms that cclgym compare and fit read, too (measured_file.hpp). A
/// row that states no configuration and no tuner has config "default". A row that does not name its
/// fabric belongs to the only one of `fabrics` with its ranks and, if the row states them, nodes.
///
/// Throws UserError with the place as read_measured_file does, and if two rows of one
/// configuration and environment have the same call, or if a row without a fabric fits none or
/// several of `fabrics`.
[[nodiscard]] std::vector<MeasuredRow> read_measured(const std::string& path,
                                                     std::span<const MeasuredOn> fabrics = {});

/// Warnings about the rows: each of their notes once, with the place of its first row.
[[nodiscard]] std::vector<std::string> warnings_of(std::span<const MeasuredRow> rows);

}  // namespace cclgym
