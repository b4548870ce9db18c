// OpenMPI's collective algorithms (module coll/tuned of 4.1 and 5.0), and the library's programs
// that stand for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "collectives/contract.hpp"

namespace cclgym {

/// A collective as MPI and OpenMPI's parameters name it.
struct OpenMpiCollective {
  CollectiveKind collective;
  std::string_view function;  ///< "MPI_Allreduce"
  /// What stands in coll_tuned_<name>_algorithm and coll_tuned_<name>_algorithm_segmentsize:
  /// "allreduce".
  std::string_view name;
};
/// Those that the table below has. ReduceScatter is MPI_Reduce_scatter with equal counts, not
/// MPI_Reduce_scatter_block, whose algorithms have other numbers and which has no ring.
[[nodiscard]] std::span<const OpenMpiCollective> openmpi_collectives();
/// nullptr: not among them.
[[nodiscard]] const OpenMpiCollective* find_openmpi_collective(CollectiveKind collective);

/// Does an algorithm look at coll_tuned_*_algorithm_segmentsize?
enum class OpenMpiSegments : std::uint8_t {
  None,
  Optional,  ///< 0: whole messages
  Required   ///< without, it is another algorithm (the segmented ring is the ring)
};

/// An algorithm that can be asked for by coll_tuned_<collective>_algorithm, and its program.
struct OpenMpiAlgorithm {
  CollectiveKind collective;
  int number;                  ///< value of the parameter
  std::string_view name;       ///< OpenMPI's name of that value
  std::string_view algorithm;  ///< of the library
  OpenMpiSegments segments;

  /// Can it move `bytes` at a time (Config::tile_bytes; 0: whole messages)?
  [[nodiscard]] bool takes_segments(std::uint64_t bytes) const {
    return bytes == 0 ? segments != OpenMpiSegments::Required : segments != OpenMpiSegments::None;
  }
};

/// Every algorithm of OpenMPI that the library has a program of, by collective and number. Left out
/// are those that the library has not (AllReduce 2, which reduces and broadcasts by whatever
/// OpenMPI chooses for these; Broadcast 4, Reduce 6, AllGather 7) and those for two ranks
/// (AllGather 6, AllToAll 5). AllGather 1 and ReduceScatter 1 go through rank 0 by the Gather,
/// Broadcast, Reduce and Scatter that OpenMPI chooses for the size; the library's "linear" by the
/// direct ones. AllToAll 4 without a limit of requests, its default, is AllToAll 1. Fan-outs are
/// OpenMPI's defaults: four chains, radix 4.
[[nodiscard]] std::span<const OpenMpiAlgorithm> openmpi_algorithms();

/// By OpenMPI's number; nullptr: there is none such, or the library has not got it.
[[nodiscard]] const OpenMpiAlgorithm* find_openmpi_algorithm(CollectiveKind collective, int number);
/// By the library's name and the segments; the lowest number if several stand for it. nullptr:
/// OpenMPI has no such algorithm, or it takes no such segments.
[[nodiscard]] const OpenMpiAlgorithm* find_openmpi_algorithm(CollectiveKind collective,
                                                             std::string_view algorithm,
                                                             std::uint64_t segment_bytes);

}  // namespace cclgym
