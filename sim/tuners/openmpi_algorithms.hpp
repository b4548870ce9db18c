// OpenMPI's collective algorithms (module coll/tuned of 4.1 and 5.0), and the library's programs
// for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "collectives/contract.hpp"

namespace cclgym {

/// A collective with its names in MPI and in OpenMPI's parameters.
struct OpenMpiCollective {
  CollectiveKind collective;
  std::string_view function;  ///< name in MPI: "MPI_Allreduce"
  /// Name in coll_tuned_<name>_algorithm and coll_tuned_<name>_algorithm_segmentsize: "allreduce".
  std::string_view name;
};
/// The collectives of openmpi_algorithms(). ReduceScatter is MPI_Reduce_scatter with equal counts,
/// not MPI_Reduce_scatter_block, whose algorithms have other numbers and include no ring.
[[nodiscard]] std::span<const OpenMpiCollective> openmpi_collectives();
/// Entry of a collective; nullptr if there is none.
[[nodiscard]] const OpenMpiCollective* find_openmpi_collective(CollectiveKind collective);

/// Effect of coll_tuned_*_algorithm_segmentsize on an algorithm.
enum class OpenMpiSegments : std::uint8_t {
  None,
  Optional,  ///< 0: messages are not divided
  Required   ///< without segments, OpenMPI runs another algorithm (ring instead of segmented ring)
};

/// An algorithm selectable by coll_tuned_<collective>_algorithm, and its program.
struct OpenMpiAlgorithm {
  CollectiveKind collective;
  int number;                  ///< value of the parameter
  std::string_view name;       ///< OpenMPI's name of that value
  std::string_view algorithm;  ///< the library's name
  OpenMpiSegments segments;

  /// True if it can move `bytes` at a time (Config::tile_bytes; 0: entire messages).
  [[nodiscard]] bool takes_segments(std::uint64_t bytes) const {
    return bytes == 0 ? segments != OpenMpiSegments::Required : segments != OpenMpiSegments::None;
  }
};

/// Every OpenMPI algorithm for which the library has a program, by collective and number. Not
/// included: AllReduce 2 (reduces and broadcasts with OpenMPI's choices for these), Broadcast 4,
/// Reduce 6, AllGather 7, and the two-rank algorithms AllGather 6 and AllToAll 5. AllGather 1 and
/// ReduceScatter 1 go through rank 0 with the Gather, Broadcast, Reduce and Scatter that OpenMPI
/// chooses for the size; the library's "linear" uses the direct algorithms. AllToAll 4 without a
/// limit of requests, its default, is AllToAll 1. Fan-outs are OpenMPI's defaults: four chains,
/// radix 4.
[[nodiscard]] std::span<const OpenMpiAlgorithm> openmpi_algorithms();

/// Algorithm with OpenMPI's number; nullptr if OpenMPI or the library does not have it.
[[nodiscard]] const OpenMpiAlgorithm* find_openmpi_algorithm(CollectiveKind collective, int number);
/// Algorithm with the library's name and this segment size; the lowest number if several match.
/// nullptr if OpenMPI has no such algorithm, or if it does not take such segments.
[[nodiscard]] const OpenMpiAlgorithm* find_openmpi_algorithm(CollectiveKind collective,
                                                             std::string_view algorithm,
                                                             std::uint64_t segment_bytes);

}  // namespace cclgym
