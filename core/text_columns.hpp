// Aligned columns of text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cclgym {

/// A column of texts under up to two lines of heading.
struct Column {
  std::string heading{};
  std::string unit{};  ///< second line of the heading
  bool left = false;   ///< aligned to the left, not to the right
  std::vector<std::string> cells{};

  /// Characters of the widest text. Names may be in any script: characters, not bytes, count.
  [[nodiscard]] std::size_t width() const;
};

/// Characters of a line, with two spaces in front of each column.
[[nodiscard]] std::size_t total_width(const std::vector<Column>& columns);

/// Lines of equally long columns, of which there is at least one, under two lines of heading.
[[nodiscard]] std::string format_columns(const std::vector<Column>& columns);

/// Values of one column with the same number of decimals, so that their points are aligned: as many
/// as the smallest value needs for three significant digits, within bounds. Nothing is "-".
[[nodiscard]] Column number_column(std::string heading, std::string unit,
                                   const std::vector<std::optional<double>>& values, int fewest,
                                   int most);

}  // namespace cclgym
