// Releases of NCCL whose default choice is modelled.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace cclgym {

/// A release of NCCL, e.g. 2.21.5.
struct NcclVersion {
  int major = 2;
  int minor = 30;
  int patch = 7;

  friend auto operator<=>(const NcclVersion&, const NcclVersion&) = default;
  [[nodiscard]] std::string to_string() const;  ///< "2.21.5"
};

/// The newest release against whose source the model was checked.
inline constexpr NcclVersion kNewestNccl{2, 30, 7};

/// Releases that make the same choices except for single constants.
enum class NcclFamily : std::uint8_t {
  V2_8,   ///< 2.8.4, the papers' baseline
  V2_18,  ///< 2.18 to 2.23
  V2_24,  ///< 2.24 to 2.28
  V2_29   ///< 2.29 and newer
};

[[nodiscard]] NcclFamily family(const NcclVersion& version);
[[nodiscard]] std::string_view to_string(NcclFamily family);  ///< "2.18-2.23"

/// Parses "2.8.4", "2.8.4-1", "2.18", "2.21.5". Without a patch number, 2.8 means its last release
/// and others patch 0 (2.29 means its first, 2.29.2). Supported are 2.8.4 and 2.18 or newer;
/// releases newer than kNewestNccl are modelled as kNewestNccl. Throws UserError naming the nearest
/// supported release.
[[nodiscard]] NcclVersion parse_nccl_version(std::string_view text);

/// True for releases that parse_nccl_version supports.
[[nodiscard]] bool is_modelled_nccl(std::string_view text);
/// The supported release that is nearest to one of the releases 2.x: 2.18 for 2.14.3. Throws
/// UserError for other texts.
[[nodiscard]] NcclVersion nearest_modelled_nccl(std::string_view text);

}  // namespace cclgym
