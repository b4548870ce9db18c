// Chunks that are interchangeable, and their images under the automorphisms of a fabric.
#pragma once

#include <vector>

#include "synthesis/demand.hpp"

namespace cclgym::synthesis {

/// Chunks of equal ChunkDemands, ascending, in the order of their first chunks.
[[nodiscard]] std::vector<std::vector<int>> interchangeable_chunks(const Demand& demand);

/// Image of every chunk under a permutation of the ranks: the chunk of the same number in the class
/// with the permuted source and targets. Throws UserError if the demand has no such chunk.
[[nodiscard]] std::vector<int> chunk_images(const Demand& demand, const std::vector<int>& ranks);

}  // namespace cclgym::synthesis
