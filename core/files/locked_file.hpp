// A file that one process at a time appends whole lines to.
#pragma once

#include <cstddef>
#include <string>

namespace cclgym {

/// Held, open and locked, until it is destroyed. Other processes may read it meanwhile.
class LockedFile {
 public:
  /// Opens or makes `path` and locks it. Throws UserError if it cannot be written, or another
  /// process holds it (waits half a second for one that is just ending).
  explicit LockedFile(const std::string& path);
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  [[nodiscard]] bool empty() const;
  /// Cuts off what is behind so many bytes. Throws UserError if that fails.
  void truncate(std::size_t bytes);
  /// Drops a last line that was cut off in the middle. False: there was none.
  bool drop_unended_line();
  /// Writes to the end at once. Throws UserError if that fails; then no part of the text is left in
  /// the file if that can be helped.
  void append(const std::string& text);

 private:
  void lock();
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string path_;
  int file_ = -1;
};

}  // namespace cclgym
