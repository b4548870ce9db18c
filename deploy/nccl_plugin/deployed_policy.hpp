// A policy file with what NCCL's tuner needs to decide by it: the machines of a job, and what the
// policy sees there at a grid of sizes. `cclgym deploy` writes it; docs/deploy.md has the records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "deploy/nccl_plugin/nccl_names.hpp"
#include "deploy/runtime/policy_file.hpp"

namespace cclgym {

/// What the policy sees of one collective on one machine.
struct DeployedGrid {
  std::vector<std::uint64_t> sizes;  ///< ascending, B
  std::uint32_t calls = 0;           ///< that each size was made, the one at hand included
  std::uint32_t features = 0;
  /// [sizes][calls][features]: the observation before each of the calls.
  std::vector<float> seen;
};

struct DeployedMachine {
  std::string label;  ///< "ndv4 servers=2": whose mask rules count
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;
  /// By NCCL's number of the collective; nothing: it is left to NCCL.
  std::array<std::optional<DeployedGrid>, kNcclCollectiveNames.size()> grids;
};

inline constexpr std::size_t kMostDeployedMachines = 1024;
inline constexpr std::size_t kMostDeployedSizes = 4096;

/// Replaces the machines of a file.
void set_machines(PolicyFile& file, const std::vector<DeployedMachine>& machines);
/// The machines of a file; empty: it is a policy without any. `name` is used in messages. Throws
/// UserError "NAME: …" at records that are missing or do not fit each other.
[[nodiscard]] std::vector<DeployedMachine> read_machines(const PolicyFile& file,
                                                         const std::string& name);

/// The sizes at which a policy is asked: steps of 2^(1/4) from 8 B to 16 GiB, each rounded to the
/// nearest byte.
[[nodiscard]] std::vector<std::uint64_t> deployed_sizes();

/// The place in ascending `sizes` that a call of `bytes` belongs to: the last that is not larger,
/// or the first.
[[nodiscard]] std::size_t place_of_size(const std::vector<std::uint64_t>& sizes,
                                        std::uint64_t bytes);

}  // namespace cclgym
