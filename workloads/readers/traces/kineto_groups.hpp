// Process groups of ranks whose traces are not given.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace cclgym {

/// The group of `rank` in a job of `world` ranks, from the group of one rank: if its n ranks have
/// distance s from each other, the job is a mesh whose groups of this kind are the ranks b, b + s,
/// …, b + (n - 1) s, as Megatron-LM and PyTorch's device meshes number them. nullopt if the known
/// ranks have no equal distance, are not such a group of that mesh, or do not divide the job.
[[nodiscard]] std::optional<std::vector<std::int32_t>> mesh_group(
    const std::vector<std::int32_t>& known, std::int32_t rank, std::int32_t world);

}  // namespace cclgym
