// Groups of features of the observation, which can be switched on one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cclgym {

/// A group that is off is observed as zeros, so that the number of features stays the same.
enum class FeatureGroup : std::uint8_t {
  Size,      ///< size of the call, and numbers of ranks and nodes: the features of PCCL's SVM
  Machine,   ///< the fabric, the collective, the job, and alpha-beta estimates
  Recent,    ///< times of recent calls, also by backend
  Counters,  ///< bytes per NIC in the last call
};
inline constexpr std::size_t kFeatureGroups = 4;
/// "size", "machine", "recent", "counters".
[[nodiscard]] const std::vector<std::string>& feature_group_names();

/// True for each group that is on.
using FeatureGroups = std::array<bool, kFeatureGroups>;
inline constexpr FeatureGroups kAllFeatures{true, true, true, true};

}  // namespace cclgym
