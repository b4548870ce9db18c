#include "core/files/locked_file.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "core/files/text_file.hpp"
#include "core/limits/resource_error.hpp"

namespace cclgym {

LockedFile::LockedFile(const std::string& path) : path_(path) {
  // Only a regular file can have rows to resume from; reading a pipe would block.
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) {
    throw UserError(path_ + ": not a regular file; expected a file that a run can append to");
  }
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) fail("cannot be opened for writing", errno);
  try {
    lock();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

LockedFile::~LockedFile() { ::close(file_); }

bool LockedFile::empty() const { return ::lseek(file_, 0, SEEK_END) == 0; }

void LockedFile::lock() {
  // Workers of a run that was just killed may still hold the file for a few milliseconds.
  constexpr int kTries = 25;
  for (int i = 0; i < kTries; ++i) {
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
    if (errno != EWOULDBLOCK && errno != EINTR) fail("cannot be locked", errno);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw UserError(path_ +
                  ": another run is writing this file; wait for it or choose another folder");
}

void LockedFile::truncate(std::size_t bytes) {
  if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) fail("cannot be shortened", errno);
}

bool LockedFile::drop_unended_line() {
  constexpr std::size_t kLargestFile = std::size_t{1} << 32;
  const std::string text = read_text_file(path_, kLargestFile);
  if (text.empty() || text.ends_with('\n')) return false;
  const std::size_t last_break = text.rfind('\n');
  truncate(last_break == std::string::npos ? 0 : last_break + 1);
  return last_break != std::string::npos;
}

void LockedFile::append(const std::string& text) {
  const off_t start = ::lseek(file_, 0, SEEK_END);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(file_, text.data() + done, text.size() - done);
    if (written < 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      // Disk full: keep complete rows only. If this also fails, the next run drops the partial row.
      [[maybe_unused]] const int ignored = ::ftruncate(file_, start);
      fail("cannot be written", error);
    }
    done += static_cast<std::size_t>(written);
  }
}

std::size_t LockedFile::size() const {
  return static_cast<std::size_t>(std::max<off_t>(0, ::lseek(file_, 0, SEEK_END)));
}

std::string LockedFile::read(std::size_t start, std::size_t bytes) const {
  std::string text(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(file_, text.data() + done, bytes - done, static_cast<off_t>(start + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot be read", errno);
    if (got == 0) throw UserError(path_ + ": has become shorter while it was in use");
    done += static_cast<std::size_t>(got);
  }
  return text;
}

void LockedFile::fail(const std::string& what, int error) const {
  throw_file_error(fmt::format("{}: {}", path_, what), error);
}

}  // namespace cclgym
