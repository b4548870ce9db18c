// Tables of the closed loop in NCCL's plugin: a choice for some classes of calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/nccl_plugin/nccl_names.hpp"

namespace cclgym {

/// Calls of one collective whose sizes are between two neighbours of a policy's grid
/// (deployed_sizes()) are a class.
inline constexpr std::size_t kLoopSizes = 128;  ///< numbers for sizes per collective
inline constexpr std::size_t kLoopClasses = kNcclCollectiveNames.size() * kLoopSizes;
inline constexpr std::size_t kLoopConfigs =
    std::size_t{CCLGYM_NCCL_ALGORITHMS} * CCLGYM_NCCL_PROTOCOLS;

/// Numbers of classes. Immutable.
class LoopClasses {
 public:
  LoopClasses();
  /// kLoopClasses for collectives that NCCL does not tune.
  [[nodiscard]] std::size_t of(int collective, std::uint64_t bytes) const;

 private:
  std::vector<std::uint64_t> sizes_;
};

/// The choice for a class.
struct LoopChoice {
  std::uint16_t number = 0;  ///< number of the class
  std::uint8_t algorithm = 0;
  std::uint8_t protocol = 0;
  std::uint8_t channels = 0;  ///< 0: NCCL's choice
  friend bool operator==(const LoopChoice&, const LoopChoice&) = default;
};

/// A table as the content that LoopGroup sends: collective, size, algorithm, protocol and channels
/// of each choice, 1 B each.
[[nodiscard]] std::string loop_table_text(std::span<const LoopChoice> choices);

/// A table for look-ups.
class LoopTable {
 public:
  /// Reads loop_table_text without an allocation; false, and an empty table, if it is none.
  bool read(std::string_view text);
  /// Null if the table has no choice for the class. `number` < kLoopClasses.
  [[nodiscard]] const LoopChoice* find(std::size_t number) const {
    return has_[number] ? &choices_[number] : nullptr;
  }

 private:
  std::array<LoopChoice, kLoopClasses> choices_{};
  std::array<bool, kLoopClasses> has_{};
};

}  // namespace cclgym
