#include "experiments/run/rows_ahead.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "core/hash.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kTitleBegin = "cclgym rows ahead of ";
constexpr std::size_t kLargestJournal = std::size_t{1} << 36U;

// Position, checksum and row, without a line break.
std::string journal_line(std::size_t position, std::string_view row) {
  const std::string checked = fmt::format("{} {}", position, row);
  return fmt::format("{} {} {}", position, hex_digits(fnv1a(checked)), row);
}

struct JournalRow {
  std::size_t position = 0;
  std::string_view row;
};

// nullopt unless the line is exactly what journal_line() writes.
std::optional<JournalRow> parse_line(std::string_view line) {
  JournalRow found;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), found.position);
  if (error != std::errc{}) return std::nullopt;
  const auto row_at = static_cast<std::size_t>(end - line.data()) + 18;  // 16 digits, 2 spaces
  if (line.size() < row_at) return std::nullopt;
  found.row = line.substr(row_at);
  if (journal_line(found.position, found.row) != line) return std::nullopt;
  return found;
}

}  // namespace

RowsAhead::RowsAhead(std::string path, std::string title, const Accept& accept, bool fresh,
                     const std::string& advice)
    : path_(std::move(path)), title_(std::string(kTitleBegin) + std::move(title)) {
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) return;
  file_ = std::make_unique<LockedFile>(path_);
  if (file_->read(0, std::min(file_->size(), kTitleBegin.size())) !=
      kTitleBegin.substr(0, std::min(file_->size(), kTitleBegin.size()))) {
    throw UserError({path_, 1, 1}, fmt::format("found another file; expected rows of results, "
                                               "which begin with {}; move it away",
                                               quoted(kTitleBegin)));
  }
  if (fresh) {
    remove();
  } else {
    read(accept, advice);
  }
}

void RowsAhead::read(const Accept& accept, const std::string& advice) {
  const std::string text = read_text_file(path_, kLargestJournal);
  std::string_view rest = text;
  const auto next_line = [&]() -> std::optional<std::string_view> {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return line;
  };
  const std::optional<std::string_view> title = next_line();
  if (!title) {  // killed while writing the title
    remove();
    return;
  }
  if (*title != title_) {
    throw UserError(
        fmt::format("{}: has rows of another experiment or version: it begins with {}, "
                    "expected {}; {}",
                    path_, quoted(*title, 200), quoted(title_, 200), advice));
  }
  end_ = text.size() - rest.size();
  while (const std::optional<std::string_view> line = next_line()) {
    const std::optional<JournalRow> found = parse_line(*line);
    if (!found || !accept(found->position, found->row)) break;
    const std::size_t line_end = text.size() - rest.size();
    places_[found->position] = {line_end - 1 - found->row.size(), found->row.size()};
    end_ = line_end;
  }
  if (end_ < text.size()) file_->truncate(end_);
}

void RowsAhead::open() {
  if (file_) return;
  file_ = std::make_unique<LockedFile>(path_);
  file_->truncate(0);
  file_->append(title_ + "\n");
  end_ = title_.size() + 1;
}

void RowsAhead::add(std::span<const TaskReply> rows) {
  if (rows.empty()) return;
  open();
  std::string text;
  for (const TaskReply& row : rows) {
    text += journal_line(row.index, row.text) + "\n";
    places_[row.index] = {end_ + text.size() - 1 - row.text.size(), row.text.size()};
  }
  file_->append(text);
  end_ += text.size();
}

std::string RowsAhead::take(std::size_t position) {
  const auto found = places_.find(position);
  std::string row = file_->read(found->second.start, found->second.bytes);
  places_.erase(found);
  return row;
}

void RowsAhead::forget_before(std::size_t position) {
  places_.erase(places_.begin(), places_.lower_bound(position));
}

void RowsAhead::remove() {
  places_.clear();
  if (!file_) return;
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  file_.reset();
}

}  // namespace cclgym
