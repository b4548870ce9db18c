// OpenMPI's default choice as a tuner: "openmpi-default",
// "openmpi-default:4.1".
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// The number of the algorithm that OpenMPI 4.1 and 5.0 choose by themselves
/// (coll_tuned_decision_fixed.c), for an operation that commutes; 0 for collectives other than
/// openmpi_collectives(). `bytes` is a call's size (Call::bytes). Segments it never chooses.
[[nodiscard]] int openmpi_default_algorithm(CollectiveKind collective, int ranks,
                                            std::uint64_t bytes);

/// Configures each call as OpenMPI would, on all ranks of the fabric: protocol Simple, one channel,
/// whole messages. `argument` is the release, 4.1 or 5.0, also with a third number ("4.1.4"), or
/// nothing: they choose alike. Elements are taken to be of four bytes: AllReduce of fewer elements
/// than ranks goes by recursive doubling where OpenMPI's ring would.
///
/// Where the library has not what OpenMPI chooses, it takes the nearest: for AllReduce
/// nonoverlapping (2) tree; for Broadcast and Reduce chain (2) pipeline, as OpenMPI does, which
/// chooses them with one chain; for Broadcast split_binary_tree (4) and Reduce in-order_binary (6)
/// binary-tree; on numbers of ranks that are no power of two, for AllReduce recursive_doubling
/// tree, rabenseifner ring, ReduceScatter recursive_halving and butterfly ring, Reduce rabenseifner
/// binomial-tree, Broadcast scatter_allgather scatter-allgather-ring. (On those, OpenMPI itself
/// gathers by bruck instead of recursive_doubling, and round a ring instead of by neighbours on an
/// odd number.)
///
/// Throws UserError at site.where on another release; choose() throws one for collectives other
/// than openmpi_collectives().
[[nodiscard]] std::unique_ptr<const Tuner> make_openmpi_default_tuner(std::string_view argument,
                                                                      const TunerSite& site);

}  // namespace cclgym
