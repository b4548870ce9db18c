// One line of a CSV with measured times, read by the names of its columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/files/csv.hpp"

namespace cclgym {

/// Index of each column.
class MeasuredHeader {
 public:
  /// Throws UserError at `where` if a column is missing, unknown or repeated, or if the median has
  /// two columns.
  MeasuredHeader(std::string_view line, const SourceLocation& where);

  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] std::size_t index(std::string_view name) const;

 private:
  std::vector<std::string> names_;
};

/// A line under its header, which must outlive it. The functions throw UserError at the field.
class MeasuredLine {
 public:
  MeasuredLine(const MeasuredHeader& header, std::string_view text, const std::string& file,
               std::size_t number);

  [[nodiscard]] bool has(std::string_view column) const {
    return header_.index(column) != MeasuredHeader::kNowhere;
  }
  /// The field; empty if there is no such column.
  [[nodiscard]] std::string text(std::string_view column) const;
  /// True if the line has a text in this column.
  [[nodiscard]] bool given(std::string_view column) const { return !text(column).empty(); }
  /// A number > 0.
  [[nodiscard]] double positive(std::string_view column, std::string_view unit) const;
  /// A time in the range that a collective can take; any other time must have another unit.
  [[nodiscard]] double microseconds(std::string_view column) const;
  /// A number of bytes > 0.
  [[nodiscard]] std::uint64_t bytes(std::string_view column) const;
  /// A whole number from `least` to `most`.
  [[nodiscard]] int count(std::string_view column, int least,
                          int most = std::numeric_limits<int>::max()) const;
  /// Name of the column with the median time.
  [[nodiscard]] std::string_view median_column() const;
  /// Throws with the column's name in front of the message: "ranks is 1; expected >= 2".
  [[noreturn]] void fail(std::string_view column, const std::string& message) const;
  /// Throws with the message alone, which names what it refuses.
  [[noreturn]] void refuse(std::string_view column, const std::string& message) const;

 private:
  const MeasuredHeader& header_;
  CsvLine line_;
};

}  // namespace cclgym
