// A file of constants for NCCL's own cost model, for communicators of one size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/nccl_plugin/nccl_tuner_abi.h"

namespace cclgym {

/// A constant and its place in cclgym_nccl_constants.
struct TunerConstant {
  std::string table;      ///< "base_latency", …
  std::size_t place = 0;  ///< index among all numbers of the tables
  double value = 0;       ///< us or GB/s
};

/// Contents of a file of lines "TABLE,KEY,...,VALUE":
///   base_latency,ALGORITHM,PROTOCOL,US          hw_latency,LINK,ALGORITHM,PROTOCOL,US
///   ll_max_bw|ring_ll128_bw|tree_ll128_bw|tree_bw|nvls_tree_bw,GENERATION,NODES,GBPS
///   machine,RANKS,NODES          restricts the file to communicators of this size
/// with names as in the CSV of choices; LINK nvlink, pci or net; GENERATION volta, ampere, hopper
/// or blackwell; NODES 1, 2 or 4 (4 stands for more than 2). Empty lines and comments after # are
/// ignored.
struct TunerConstants {
  std::vector<TunerConstant> values;
  std::size_t ranks = 0;  ///< 0: any
  std::size_t nodes = 0;

  [[nodiscard]] bool fits(std::size_t of_ranks, std::size_t of_nodes) const {
    return ranks == 0 || (ranks == of_ranks && nodes == of_nodes);
  }
  /// Overwrites the constants that the file gives.
  void apply(cclgym_nccl_constants& constants) const;
};

/// Throws UserError "NAME:LINE: …" for a malformed line, a constant that is given twice, or a value
/// that is not a finite number >= 0.
[[nodiscard]] TunerConstants parse_tuner_constants(std::string_view text, const std::string& name);

}  // namespace cclgym
