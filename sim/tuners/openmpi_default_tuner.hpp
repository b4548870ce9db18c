// OpenMPI's default choice as a tuner: "openmpi-default", "openmpi-default:4.1".
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// Number of the algorithm that OpenMPI 4.1 and 5.0 choose by default (coll_tuned_decision_fixed.c)
/// for a commutative operation; 0 for collectives that are not in openmpi_collectives(). `bytes` is
/// a call's size (Call::bytes). OpenMPI never chooses segments by default.
[[nodiscard]] int openmpi_default_algorithm(CollectiveKind collective, int ranks,
                                            std::uint64_t bytes);

/// Configures each call as OpenMPI would, on all ranks of the fabric: protocol Simple, one channel,
/// undivided messages. `argument` is the release, 4.1 or 5.0, optionally with a third number
/// ("4.1.4"), or empty; both releases choose the same. Elements are assumed to have four bytes:
/// AllReduce of fewer elements than ranks uses recursive doubling where OpenMPI's ring would.
///
/// If the library lacks OpenMPI's choice, it takes the nearest program (docs/collectives.md,
/// "OpenMPI's algorithms").
///
/// Throws UserError at site.where on another release; choose() throws UserError for collectives
/// that are not in openmpi_collectives().
[[nodiscard]] std::unique_ptr<const Tuner> make_openmpi_default_tuner(std::string_view argument,
                                                                      const TunerSite& site);

}  // namespace cclgym
