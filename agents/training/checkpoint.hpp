// State of a training between two iterations. The next iteration depends on nothing else, so a file
// has the same bytes wherever and whenever it was trained.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agents/network/policy_gradient.hpp"
#include "agents/network/policy_weights.hpp"

namespace cclgym {

struct Checkpoint {
  std::string config_hash;  ///< TrainConfig::hash
  std::uint64_t seed = 0;
  std::uint64_t iteration = 0;  ///< iterations done
  PolicyWeights weights;
  AdamState adam;
  /// ReplayMemory::bytes of DQN, or TrainingExperience::bytes; empty without either, and after the
  /// last iteration.
  std::string replay{};

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// Folder of one seed: DIR/seed-N.
[[nodiscard]] std::string seed_folder(const std::string& folder, std::uint64_t seed);
/// Path of the checkpoint of one seed: DIR/seed-N/checkpoint.bin.
[[nodiscard]] std::string checkpoint_path(const std::string& folder, std::uint64_t seed);

/// The bytes of a file: "CCLGYMCK", version, length, contents, FNV-1a checksum; all little-endian.
[[nodiscard]] std::string write_checkpoint(const Checkpoint& checkpoint);
/// Reads version 2, and version 1, which has the processor time as well and no replay memory.
/// Throws UserError "FILE: ..." if the bytes are of another version, truncated or damaged, or if
/// the weights cannot run (policy_weights_fault).
[[nodiscard]] Checkpoint read_checkpoint(std::string_view bytes, const std::string& file);

/// Writes a temporary file, flushes it to disk and renames it: after a crash at any moment, either
/// the old or the new file exists. Throws UserError.
void save_checkpoint(const Checkpoint& checkpoint, const std::string& path);
/// The same with the bytes of write_checkpoint.
void save_checkpoint_bytes(std::string_view bytes, const std::string& path);
/// The bytes of a file, which are not checked. Throws UserError.
[[nodiscard]] std::string load_checkpoint_bytes(const std::string& path);
[[nodiscard]] Checkpoint load_checkpoint(const std::string& path);

}  // namespace cclgym
