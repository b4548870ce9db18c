#include "deploy/nccl_plugin/tuner_rows.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/split.hpp"

namespace cclgym {

namespace {

constexpr std::array<std::string_view, 10> kColumns{
    "collective_type", "min_bytes", "max_bytes", "algorithm",  "protocol",
    "channels",        "nNodes",    "nRanks",    "numPipeOps", "regBuff"};
constexpr std::size_t kNeededColumns = 8;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

// Reads and checks the fields of a line.
class Fields {
 public:
  Fields(std::string_view line, SourceLocation where) : where_(std::move(where)) {
    for (const std::string_view field : split(line, ',')) fields_.push_back(trim(field));
    while (!fields_.empty() && fields_.back().empty()) fields_.pop_back();
    if (fields_.size() < kNeededColumns || fields_.size() > kColumns.size()) {
      throw UserError(where_, std::to_string(fields_.size()) + " columns; expected " +
                                  std::to_string(kNeededColumns) + " to " +
                                  std::to_string(kColumns.size()));
    }
  }

  [[nodiscard]] std::string_view operator[](std::size_t column) const { return fields_[column]; }
  [[nodiscard]] bool has(std::size_t column) const { return column < fields_.size(); }
  [[noreturn]] void fail(std::size_t column, const std::string& expected) const {
    throw UserError(where_, std::string(kColumns[column]) + " is " + quoted(fields_[column]) +
                                "; expected " + expected);
  }

  template <class Number>
  [[nodiscard]] Number number(std::size_t column, Number least, Number most) const {
    Number value{};
    const std::string_view text = fields_[column];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
      fail(column, std::to_string(least) + " .. " + std::to_string(most));
    }
    return value;
  }
  [[nodiscard]] int name(std::size_t column, std::optional<int> found,
                         const std::vector<std::string>& names) const {
    if (found) return *found;
    throw UserError(where_, unknown_name_message(kColumns[column], fields_[column], names));
  }

 private:
  SourceLocation where_;
  std::vector<std::string_view> fields_;
};

std::vector<std::string> names_of_algorithms() {
  std::vector<std::string> names;
  for (const NcclAlgorithmNames& own : kNcclAlgorithmNames) names.emplace_back(own.csv);
  return names;
}

// Removes the first line of a text, and returns it without its comment.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return trim(line.substr(0, line.find('#')));
}

}  // namespace

struct RowChoices::Line {
  Row row;
  std::size_t collective = 0;
  int nodes = -1;
  int ranks = -1;

  Line(std::string_view line, const SourceLocation& where) {
    constexpr int kMost = 1 << 24;  // maximum number of ranks, nodes and operations
    const Fields fields(line, where);
    collective = static_cast<std::size_t>(
        fields.name(0, nccl_collective_of(fields[0]),
                    {kNcclCollectiveNames.begin(), kNcclCollectiveNames.end()}));
    constexpr std::uint64_t kMostBytes = std::numeric_limits<std::uint64_t>::max();
    row.least_bytes = fields.number<std::uint64_t>(1, 0, kMostBytes);
    row.most_bytes = fields[2] == "-1"
                         ? kMostBytes
                         : fields.number<std::uint64_t>(2, row.least_bytes, kMostBytes);
    row.choice.algorithm = static_cast<std::int8_t>(
        fields.name(3, nccl_algorithm_of_csv(fields[3]), names_of_algorithms()));
    row.choice.protocol = static_cast<std::int8_t>(
        fields.name(4, nccl_protocol_of(fields[4]), {"ll", "ll128", "simple"}));
    const int channels = fields.number(5, -1, kMostTunerChannels);
    row.choice.channels = static_cast<std::uint8_t>(std::max(channels, 0));
    nodes = fields.number(6, -1, kMost);
    ranks = fields.number(7, -1, kMost);
    if (fields.has(8)) row.pipe_ops = fields.number(8, -1, kMost);
    if (fields.has(9) && fields[9] != "-1") {
      fields.fail(9, "-1, because only its own rank knows whether a buffer is registered");
    }
  }
};

RowChoices::RowChoices(std::string_view text, const std::string& name, std::size_t ranks,
                       std::size_t nodes) {
  std::optional<UserError> first_error;
  SourceLocation where{.file = name};
  std::size_t read = 0;
  std::size_t kept = 0;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    ++where.line;
    if (line.empty() || line.starts_with(kColumns[0])) continue;
    if (++read > kMostTunerRows) throw UserError(where, "more than 65,536 lines");
    try {
      const Line found(line, where);
      const auto same = [](int wanted, std::size_t own) {
        return wanted < 0 || static_cast<std::size_t>(wanted) == own;
      };
      if (!same(found.nodes, nodes) || !same(found.ranks, ranks)) continue;
      rows_[found.collective].push_back(found.row);
      ++kept;
    } catch (const UserError& error) {
      skipped_.push_back(std::string(error.what()) + "; the line is skipped");
      if (!first_error) first_error = error;
    }
  }
  if (first_error && skipped_.size() == read) throw UserError(*first_error);
  description_ = name + ": " + std::to_string(kept) + " of " + std::to_string(read) +
                 " lines are for " + std::to_string(ranks) + " ranks on " + std::to_string(nodes) +
                 " nodes";
}

std::span<const TunerChoice> RowChoices::wanted(int collective, std::uint64_t bytes,
                                                int pipe_ops) const {
  if (collective < 0 || static_cast<std::size_t>(collective) >= rows_.size()) return {};
  for (const Row& row : rows_[static_cast<std::size_t>(collective)]) {
    if (bytes < row.least_bytes || bytes > row.most_bytes) continue;
    if (row.pipe_ops >= 0 && row.pipe_ops != pipe_ops) continue;
    return {&row.choice, 1};
  }
  return {};
}

bool is_tuner_csv(std::string_view text, std::string_view name) {
  if (name.ends_with(".csv") || name.ends_with(".conf")) return true;
  std::string_view line;
  while (!text.empty() && line.empty()) line = take_line(text);
  return line.find_first_of(":{[") == std::string_view::npos &&
         split(line, ',').size() >= kNeededColumns;
}

}  // namespace cclgym
