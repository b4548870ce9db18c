// State of a training between two iterations. The next iteration depends on nothing else.
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
  double cpu_s = 0;             ///< total of all threads so far
  PolicyWeights weights;
  AdamState adam;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// The bytes of a file: "CCLGYMCK", version, length, contents, FNV-1a checksum; all little-endian.
[[nodiscard]] std::string write_checkpoint(const Checkpoint& checkpoint);
/// Throws UserError "FILE: ..." if the bytes are not a checkpoint of this version, if they are
/// truncated or damaged, or if the weights cannot run (policy_weights_fault).
[[nodiscard]] Checkpoint read_checkpoint(std::string_view bytes, const std::string& file);

/// Writes a temporary file, flushes it to disk and renames it: after a crash at any moment, either
/// the old or the new file exists. Throws UserError.
void save_checkpoint(const Checkpoint& checkpoint, const std::string& path);
[[nodiscard]] Checkpoint load_checkpoint(const std::string& path);

}  // namespace cclgym
