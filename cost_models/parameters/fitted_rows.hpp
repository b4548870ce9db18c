// The key `fitted_to` of a parameter set: the measured rows that the set was fitted to.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"

namespace cclgym {

/// Rows of one system. A row belongs to them if every member below admits it.
struct FittedRows {
  std::string system;                   ///< as the rows name it: "Polaris"
  std::set<int> ranks{};                ///< empty: any
  std::set<std::string> collectives{};  ///< "allreduce"; empty: any
  std::set<std::uint64_t> sizes{};      ///< B, as the rows have them; empty: any
  std::set<std::string> configs{};      ///< as the rows have them; empty: any
  SourceLocation where{};

  /// True if a row with these values may be among them. An empty config matches any.
  [[nodiscard]] bool hold(std::string_view row_system, int row_ranks,
                          std::string_view row_collective, std::uint64_t row_bytes,
                          std::string_view row_config) const;
  /// True if both describe the same rows, wherever they were read from.
  [[nodiscard]] bool same_rows(const FittedRows& other) const;
};

/// Keys of an item of `fitted_to`.
[[nodiscard]] const std::vector<OptionSpec>& fitted_rows_options();

/// Reads the list, which may be empty (fitted to nothing). Throws UserError at the place of the
/// fault. Collectives are not looked up here: this layer does not know them.
[[nodiscard]] std::vector<FittedRows> read_fitted_rows(const YamlValue& list);

/// The key `fitted_to` with this list, as lines of a parameter set.
[[nodiscard]] std::string fitted_rows_yaml(const std::vector<FittedRows>& list);

}  // namespace cclgym
