// Policy files: a trained policy in one file, independent of the training code. It has named
// records in a versioned, checksummed, little-endian frame (docs/deploy.md, "Policy files").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

/// A text in UTF-8, e.g. about the training of the policy.
struct PolicyFileText {
  std::string name;
  std::string text;
  friend bool operator==(const PolicyFileText&, const PolicyFileText&) = default;
};

/// Whole numbers, e.g. the shape of the network or the mask rules of a machine.
struct PolicyFileTable {
  std::string name;
  std::vector<std::uint32_t> values;
  friend bool operator==(const PolicyFileTable&, const PolicyFileTable&) = default;
};

/// Weights, in row-major order.
struct PolicyFileTensor {
  std::string name;
  std::vector<std::uint32_t> shape;  ///< at most kMostPolicyDimensions, each >= 1
  std::vector<float> values;         ///< one per element of the shape; all finite
  friend bool operator==(const PolicyFileTensor&, const PolicyFileTensor&) = default;
};

/// The records of a file. Names are distinct within a kind.
struct PolicyFile {
  std::vector<PolicyFileText> texts;
  std::vector<PolicyFileTable> tables;
  std::vector<PolicyFileTensor> tensors;

  /// The record of this name; nullptr if there is none.
  [[nodiscard]] const PolicyFileText* text(std::string_view name) const;
  [[nodiscard]] const PolicyFileTable* table(std::string_view name) const;
  [[nodiscard]] const PolicyFileTensor* tensor(std::string_view name) const;
  friend bool operator==(const PolicyFile&, const PolicyFile&) = default;
};

inline constexpr std::uint32_t kPolicyVersion = 1;
inline constexpr std::size_t kMostPolicyBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMostPolicyDimensions = 4;
inline constexpr std::size_t kMostPolicyNameBytes = 200;

/// The bytes of a file. Equal records give equal bytes. Throws std::logic_error for records that
/// parse_policy would refuse.
[[nodiscard]] std::string format_policy(const PolicyFile& file);

/// Parses the output of format_policy. `name` is used in messages. Throws UserError "NAME: byte 24:
/// …" for any error: not a policy file, another version, truncated, bytes left over, a wrong
/// checksum, sizes that do not fit the file, names that are not printable or not unique, weights
/// that are not finite. Never allocates more than a small multiple of `bytes`.
[[nodiscard]] PolicyFile parse_policy(std::string_view bytes, const std::string& name);

/// CRC-32 of zlib and PNG (ISO 3309).
[[nodiscard]] std::uint32_t crc32_of(std::string_view bytes);

}  // namespace cclgym
