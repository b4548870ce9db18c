// The simple CSV of results and measurements: a header line, then lines of comma-separated fields
// that are never quoted. It reports errors as file:line:column, detects a truncated last line, and
// reads back the same bits; Debian's CSV libraries (libcsv, libfccp) do none of these.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "core/units.hpp"

namespace cclgym {

/// A column of a CSV file with lines of type `Row`: its name and the member that holds it.
template <class Row>
struct CsvColumn {
  std::string_view name;
  std::variant<std::string Row::*, int Row::*, std::uint64_t Row::*, std::int64_t Row::*,
               double Row::*>
      member;
};

/// One line of a file, split into fields, with its place for messages.
class CsvLine {
 public:
  CsvLine(std::string_view text, std::string file, std::size_t number);

  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  /// Throws UserError "file:line:column: …" at a field; index size() is the line's end.
  [[noreturn]] void fail(std::size_t index, const std::string& message) const;

  /// Read field `index` into `value`. Throw UserError naming the column if it does not parse.
  void read(std::size_t index, std::string_view column, std::string& value) const;
  void read(std::size_t index, std::string_view column, int& value) const;
  void read(std::size_t index, std::string_view column, std::uint64_t& value) const;
  void read(std::size_t index, std::string_view column, std::int64_t& value) const;
  void read(std::size_t index, std::string_view column, double& value) const;

 private:
  std::string file_;
  std::size_t number_;
  std::string_view text_;
  std::vector<std::string_view> fields_;
};

/// Throws UserError if a header line is not the expected one, naming its missing and unknown
/// columns.
void check_csv_header(std::string_view found, const std::vector<std::string_view>& names,
                      const SourceLocation& where);

/// The field as written to the file. Throws UserError for text that needs quotes.
[[nodiscard]] std::string csv_field(std::string_view column, const std::string& value);
[[nodiscard]] inline std::string csv_field(std::string_view /*column*/, double value) {
  return format_double(value);
}
[[nodiscard]] std::string csv_field(std::string_view /*column*/, std::integral auto value) {
  return std::to_string(value);
}

template <class Row, std::size_t N>
[[nodiscard]] std::vector<std::string_view> csv_names(
    const std::array<CsvColumn<Row>, N>& columns) {
  std::vector<std::string_view> names;
  for (const CsvColumn<Row>& column : columns) names.push_back(column.name);
  return names;
}

template <class Row, std::size_t N>
[[nodiscard]] std::string csv_header(const std::array<CsvColumn<Row>, N>& columns) {
  std::string line;
  for (const std::string_view name : csv_names(columns)) {
    if (!line.empty()) line += ',';
    line += name;
  }
  return line;
}

template <class Row, std::size_t N>
[[nodiscard]] std::string csv_line(const std::array<CsvColumn<Row>, N>& columns, const Row& row) {
  std::string line;
  for (const CsvColumn<Row>& column : columns) {
    if (&column != &columns.front()) line += ',';
    line +=
        std::visit([&](auto member) { return csv_field(column.name, row.*member); }, column.member);
  }
  return line;
}

/// Contents of a file.
template <class Row>
struct CsvRows {
  std::vector<Row> rows;
  std::vector<SourceLocation> where;  ///< place of each row
  bool truncated =
      false;  ///< the last line has no line break; `rows` has it if keep_unended is set
};

struct CsvOptions {
  bool comments = false;     ///< skip a UTF-8 byte order mark, comment lines (#) and empty lines
  bool keep_unended = true;  ///< treat a last line without a line break like the others
};

/// Parses the text of a complete file; messages name it by `path`. Throws UserError with the place
/// of the error.
template <class Row, std::size_t N>
[[nodiscard]] CsvRows<Row> parse_csv(std::string_view text, const std::string& path,
                                     const std::array<CsvColumn<Row>, N>& columns,
                                     const CsvOptions& options) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  CsvRows<Row> result;
  bool header_seen = false;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    ++number;
    const std::size_t end = text.find('\n', begin);
    const bool ended = end != std::string_view::npos;
    std::string_view line = text.substr(begin, ended ? end - begin : std::string_view::npos);
    begin = ended ? end + 1 : text.size();
    result.truncated = !ended;
    if (!ended && !options.keep_unended) {
      // A prefix of the expected header: the file was still being written. Any other text comes
      // from another program.
      if (!header_seen && !csv_header(columns).starts_with(line)) {
        check_csv_header(line, csv_names(columns), {path, number, 1});
      }
      break;
    }
    // CSV files of spreadsheets begin with a byte order mark.
    if (number == 1 && options.comments && line.starts_with(kByteOrderMark)) {
      line.remove_prefix(kByteOrderMark.size());
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (options.comments && (line.empty() || line.front() == '#')) continue;
    if (!header_seen) {
      check_csv_header(line, csv_names(columns), {path, number, 1});
      header_seen = true;
      continue;
    }
    const CsvLine fields(line, path, number);
    if (fields.size() != N) {
      fields.fail(0, "found " + std::to_string(fields.size()) + " fields; expected " +
                         std::to_string(N) + " (" + csv_header(columns) + ")");
    }
    Row row;
    for (std::size_t i = 0; i < N; ++i) {
      std::visit([&](auto member) { fields.read(i, columns[i].name, row.*member); },
                 columns[i].member);
    }
    result.rows.push_back(std::move(row));
    result.where.push_back({path, number, 1});
  }
  if (text.empty() && !options.keep_unended) result.truncated = true;
  if (!header_seen && !result.truncated) {
    throw UserError({path, number, 0}, "has no header line; expected " + csv_header(columns));
  }
  return result;
}

/// Reads and parses a file of at most 4 GiB.
template <class Row, std::size_t N>
[[nodiscard]] CsvRows<Row> read_csv(const std::string& path,
                                    const std::array<CsvColumn<Row>, N>& columns,
                                    const CsvOptions& options) {
  constexpr std::size_t kLargestFile = std::size_t{1} << 32;
  return parse_csv(read_text_file(path, kLargestFile), path, columns, options);
}

}  // namespace cclgym
