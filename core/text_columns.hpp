// Aligned columns of text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

/// A column of texts under up to two lines of heading.
struct Column {
  std::string heading{};
  std::string unit{};  ///< second line of the heading
  bool left = false;   ///< left-aligned; otherwise right-aligned
  std::vector<std::string> cells{};

  /// Width of the widest text in characters, not bytes, because names may be in any script.
  [[nodiscard]] std::size_t width() const;
};

/// Width of a line in characters, with two spaces before each column.
[[nodiscard]] std::size_t total_width(const std::vector<Column>& columns);

/// Lines of columns under two lines of heading. There is at least one column, and all have the same
/// number of cells.
[[nodiscard]] std::string format_columns(const std::vector<Column>& columns);

/// A column of values with the same number of decimals, so that their points are aligned: as many
/// as the smallest value needs for three significant digits, but at least `fewest` and at most
/// `most`. A missing value is "-".
[[nodiscard]] Column number_column(std::string heading, std::string unit,
                                   const std::vector<std::optional<double>>& values, int fewest,
                                   int most);

/// The text with its lines cut or wrapped to a width. A line "  NAME  A; B; C" keeps the parts that
/// fit and the number of the others: "  NAME  A; … 2 more". Others are wrapped at spaces, and
/// continue with four spaces.
[[nodiscard]] std::string fitted_lines(std::string_view text, std::size_t width);

}  // namespace cclgym
