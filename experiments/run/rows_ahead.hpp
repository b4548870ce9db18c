// Rows of results that were computed before rows that precede them: results.csv.ahead.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/files/locked_file.hpp"
#include "core/tasks/task.hpp"

namespace cclgym {

/// A journal of rows with their positions, beside a results file. Each row is written as soon as it
/// is known, so that a run that is killed loses none. A row is a line with its position, a checksum
/// and the row; a line that is incomplete or whose checksum differs ends the journal.
class RowsAhead {
 public:
  /// True if a row may be that of this position.
  using Accept = std::function<bool(std::size_t position, std::string_view row)>;

  /// Reads the journal `path` if it exists, and locks it. `title` is its first line: it names the
  /// run that the rows belong to. Throws UserError, whose message ends with `advice`, if the title
  /// differs. `fresh` deletes a journal of any run instead.
  RowsAhead(std::string path, std::string title, const Accept& accept, bool fresh,
            const std::string& advice);

  /// Writes rows at once; makes the file if necessary. Throws UserError if that fails.
  void add(std::span<const TaskReply> rows);
  [[nodiscard]] bool has(std::size_t position) const { return places_.count(position) > 0; }
  [[nodiscard]] std::size_t size() const { return places_.size(); }
  /// Forgets the row of a position, and returns it.
  [[nodiscard]] std::string take(std::size_t position);
  /// Forgets the rows before a position.
  void forget_before(std::size_t position);
  /// Deletes the journal.
  void remove();

 private:
  struct Place {
    std::size_t start = 0;
    std::size_t bytes = 0;
  };
  void open();
  void read(const Accept& accept, const std::string& advice);

  std::string path_;
  std::string title_;
  std::unique_ptr<LockedFile> file_;
  std::size_t end_ = 0;  ///< size of the file
  std::map<std::size_t, Place> places_;
};

}  // namespace cclgym
