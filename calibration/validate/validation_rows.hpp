// The rows of a validation, grouped by call, for both backends.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "collectives/contract.hpp"

namespace cclgym {

/// Medians of one call, by configuration and round.
struct CallRows {
  std::map<std::string, std::map<int, double>> times_s;
  std::string chosen;
  std::string by_default;
  std::string swept;
  /// By configuration: the algorithm, protocol and channels that NCCL's log gives ("ring/LL/4").
  std::map<std::string, std::string> used{};
  std::string followed{};  ///< Validation::followed of this call; empty: unknown

  /// The configuration with what NCCL used, if its name does not say it.
  [[nodiscard]] std::string text_of(const std::string& config) const;
};
using CallKey = std::pair<CollectiveKind, std::uint64_t>;

struct ValidationRows {
  std::map<CallKey, CallRows> calls;
  bool one_gpu = false;  ///< Validation::one_gpu
};

/// Reads the file of a validation; rows with a status other than ok are skipped. Throws UserError
/// at a field that is missing or cannot be read, and at an unknown role.
[[nodiscard]] ValidationRows read_validation_rows(const std::string& path);

}  // namespace cclgym
