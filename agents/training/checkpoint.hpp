// The state of a training between two iterations: all that the next one depends on.
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
  double cpu_s = 0;             ///< spent so far, by all threads
  PolicyWeights weights;
  AdamState adam;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// The bytes of a file: "CCLGYMCK", version, length, contents, FNV-1a checksum; all little-endian.
[[nodiscard]] std::string write_checkpoint(const Checkpoint& checkpoint);
/// Throws UserError "FILE: …" if the bytes are none of a checkpoint of this version, are cut off or
/// damaged, or the weights in them cannot be run (policy_weights_fault).
[[nodiscard]] Checkpoint read_checkpoint(std::string_view bytes, const std::string& file);

/// Writes a file beside, flushes it to the disk, and lets it replace the old one: after a crash at
/// any moment there is the old or the new one. Throws UserError.
void save_checkpoint(const Checkpoint& checkpoint, const std::string& path);
[[nodiscard]] Checkpoint load_checkpoint(const std::string& path);

}  // namespace cclgym
