// A file to which one process at a time appends complete lines.
#pragma once

#include <cstddef>
#include <string>

namespace cclgym {

/// An open, locked file; the lock lasts until destruction. Other processes may read the file.
class LockedFile {
 public:
  /// Opens or creates `path` and locks it. Throws UserError if it cannot be written, or if another
  /// process holds it (after waiting half a second for a process that is ending).
  explicit LockedFile(const std::string& path);
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  [[nodiscard]] bool empty() const;
  /// Truncates the file to `bytes` bytes. Throws UserError on failure.
  void truncate(std::size_t bytes);
  /// Drops an incomplete last line. Returns false if there was none.
  bool drop_unended_line();
  /// Appends the text at once. Throws UserError on failure; then it also tries to remove the part
  /// already written.
  void append(const std::string& text);
  /// Size in bytes.
  [[nodiscard]] std::size_t size() const;
  /// The `bytes` bytes from `start` on. Throws UserError if the file is shorter.
  [[nodiscard]] std::string read(std::size_t start, std::size_t bytes) const;

 private:
  void lock();
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string path_;
  int file_ = -1;
};

}  // namespace cclgym
