// Process groups of ranks whose traces are not given.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cclgym {

/// The group of `rank` in a job of `world` ranks, from the group of one rank: if its n ranks have
/// distance s from each other, the job is a mesh whose groups of this kind are the ranks b, b + s,
/// …, b + (n - 1) s, as Megatron-LM and PyTorch's device meshes number them. nullopt if the known
/// ranks have no equal distance, are not such a group of that mesh, or do not divide the job.
[[nodiscard]] std::optional<std::vector<std::int32_t>> mesh_group(
    const std::vector<std::int32_t>& known, std::int32_t rank, std::int32_t world);

/// The `size` ranks of a list that PyTorch cut ("[0, 2, 4, ..., 62]", "[0, 1, ...]"), if its first
/// ranks have equal distances and the last one, if it is there, is where they lead to; else
/// nullopt.
[[nodiscard]] std::optional<std::vector<std::int32_t>> completed_ranks(std::string_view cut,
                                                                       std::int64_t size);

}  // namespace cclgym
