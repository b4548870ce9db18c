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

}  // namespace

RowChoices::RowChoices(std::string_view text, const std::string& name, std::size_t ranks,
                       std::size_t nodes) {
  constexpr int kMost = 1 << 24;  // maximum number of ranks, nodes and operations
  std::size_t line_number = 0;
  std::size_t read = 0;
  std::size_t kept = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty() || line.starts_with(kColumns[0])) continue;
    const SourceLocation where{.file = name, .line = line_number};
    if (++read > kMostTunerRows) throw UserError(where, "more than 65,536 lines");
    const Fields fields(line, where);
    const int collective = fields.name(0, nccl_collective_of(fields[0]),
                                       {kNcclCollectiveNames.begin(), kNcclCollectiveNames.end()});
    Row row;
    constexpr std::uint64_t kMostBytes = std::numeric_limits<std::uint64_t>::max();
    row.least_bytes = fields.number<std::uint64_t>(1, 0, kMostBytes);
    row.most_bytes = fields.number<std::uint64_t>(2, row.least_bytes, kMostBytes);
    row.choice.algorithm = static_cast<std::int8_t>(
        fields.name(3, nccl_algorithm_of_csv(fields[3]), names_of_algorithms()));
    row.choice.protocol = static_cast<std::int8_t>(
        fields.name(4, nccl_protocol_of(fields[4]), {"ll", "ll128", "simple"}));
    const int channels = fields.number(5, -1, kMostTunerChannels);
    row.choice.channels = static_cast<std::uint8_t>(std::max(channels, 0));
    const int row_nodes = fields.number(6, -1, kMost);
    const int row_ranks = fields.number(7, -1, kMost);
    if (fields.has(8)) row.pipe_ops = fields.number(8, -1, kMost);
    if (fields.has(9) && fields[9] != "-1") {
      fields.fail(9, "-1, because only its own rank knows whether a buffer is registered");
    }
    const auto same = [](int wanted, std::size_t own) {
      return wanted < 0 || static_cast<std::size_t>(wanted) == own;
    };
    if (!same(row_nodes, nodes) || !same(row_ranks, ranks)) continue;
    rows_[static_cast<std::size_t>(collective)].push_back(row);
    ++kept;
  }
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

}  // namespace cclgym
