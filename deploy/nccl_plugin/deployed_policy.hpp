// A policy file for NCCL's tuner: in addition to the policy, the machines of a job and the policy's
// observations there at a grid of sizes. `cclgym deploy` writes it; docs/deploy.md describes the
// records.
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

/// The policy's observations of one collective on one machine.
struct DeployedGrid {
  std::vector<std::uint64_t> sizes;  ///< ascending, B
  std::uint32_t calls = 0;           ///< calls per size, including the call to decide
  std::uint32_t features = 0;
  /// [sizes][calls][features]: the observation before each of the calls.
  std::vector<float> seen;
};

struct DeployedMachine {
  std::string label;  ///< machine whose mask rules apply: "ndv4 nodes=2"
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;
  /// Indexed by NCCL's number of the collective; empty if the collective is left to NCCL.
  std::array<std::optional<DeployedGrid>, kNcclCollectiveNames.size()> grids;
};

inline constexpr std::size_t kMostDeployedMachines = 1024;
inline constexpr std::size_t kMostDeployedSizes = 4096;

/// Replaces the machines of a file.
void set_machines(PolicyFile& file, const std::vector<DeployedMachine>& machines);
/// The machines of a file; empty if the policy has none. `name` is used in messages. Throws
/// UserError "NAME: …" if records are missing or inconsistent.
[[nodiscard]] std::vector<DeployedMachine> read_machines(const PolicyFile& file,
                                                         const std::string& name);

/// The sizes at which a policy is evaluated: steps of 2^(1/4) from 8 B to 16 GiB, each rounded to
/// the nearest byte.
[[nodiscard]] std::vector<std::uint64_t> deployed_sizes();

/// Index in ascending `sizes` of the size used for a call of `bytes`: the largest that does not
/// exceed it, or the first if there is none.
[[nodiscard]] std::size_t place_of_size(const std::vector<std::uint64_t>& sizes,
                                        std::uint64_t bytes);

}  // namespace cclgym
