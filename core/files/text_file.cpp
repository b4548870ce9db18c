#include "core/files/text_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/limits/resource_error.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// Writes the entire text and closes the descriptor. Returns 0 or the error's number.
int write_and_close(int file, std::string_view text) {
  int error = 0;
  while (error == 0 && !text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (::close(file) != 0 && error == 0) error = errno;
  return error;
}

// The target at the end of a chain of symbolic links, which need not exist.
std::filesystem::path end_of_links(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as in Linux
  std::error_code error;
  for (int link = 0; link < kMostLinks; ++link) {
    const std::filesystem::path next = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / next;  // an absolute `next` replaces the entire path
  }
  return path;
}

// Creates a file with an unused name in the folder of `target`. Returns its descriptor and path; -1
// and errno if it cannot be created. The length of the name does not depend on `target`, whose name
// may already have the maximum length.
std::pair<int, std::string> create_beside(const std::filesystem::path& target) {
  constexpr int kMostAttempts = 10'000;
  std::string temporary;
  int file = -1;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const std::string name =
        ".cclgym-" + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".partial";
    temporary = (target.parent_path() / name).string();
    file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) break;
  }
  return {file, temporary};
}

// The path as shown in messages. Throws UserError if it cannot be the path of a file.
std::string checked_name(const std::string& path) {
  std::string shown = quoted(path, 200);
  if (path.empty()) throw UserError("an empty file name; expected the path of a file");
  if (path.find('\0') != std::string::npos) throw UserError(shown + ": not a file name");
  return shown;
}

// Returns the status of a path to read. Throws UserError if it does not exist or is a folder.
std::filesystem::file_status status_to_read(const std::string& path, const std::string& shown) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw UserError(shown + " does not exist");
  }
  if (std::filesystem::is_directory(status)) {
    throw UserError(shown + " is a folder; expected a file");
  }
  return status;
}

[[noreturn]] void refuse_size(const std::string& shown, std::size_t max_bytes) {
  throw UserError(shown + ": too large; expected at most " + format_bytes(max_bytes));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

std::string read_text_file(const std::string& path, std::size_t max_bytes) {
  const std::string shown = checked_name(path);
  (void)status_to_read(path, shown);
  errno = 0;
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rbe"), close);
  if (!file) throw UserError(shown + ": cannot be opened: " + reason(errno));
  struct stat found {};
  if (::fstat(::fileno(file.get()), &found) == 0 && S_ISREG(found.st_mode) &&
      static_cast<std::size_t>(found.st_size) > max_bytes) {
    refuse_size(shown, max_bytes);
  }
  std::string contents;
  std::size_t used = 0;
  // The buffer grows with the data instead of trusting the file's size: a pipe or a device has
  // none.
  while (true) {
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    contents.resize(used + kBlock);
    const std::size_t got = std::fread(contents.data() + used, 1, kBlock, file.get());
    used += got;
    if (used > max_bytes) refuse_size(shown, max_bytes);
    if (got < kBlock) break;
  }
  if (std::ferror(file.get()) != 0) {
    throw UserError(shown + ": cannot be read: " + reason(errno));
  }
  contents.resize(used);
  return contents;
}

std::string read_regular_file(const std::string& path, std::size_t max_bytes) {
  const std::string shown = checked_name(path);
  const auto refuse_kind = [&shown] {
    throw UserError(shown + ": not a regular file (a pipe or a device, say); expected a file");
  };
  // Checked before opening: opening can have an effect on some devices.
  const std::filesystem::file_status status = status_to_read(path, shown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) refuse_kind();
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.number() < 0) throw UserError(shown + ": cannot be opened: " + reason(errno));
  // Another file may have replaced this one since the check.
  struct stat found {};
  if (::fstat(file.number(), &found) != 0) {
    throw UserError(shown + ": cannot be read: " + reason(errno));
  }
  if (!S_ISREG(found.st_mode)) refuse_kind();
  const auto size = static_cast<std::size_t>(found.st_size);
  if (size > max_bytes) refuse_size(shown, max_bytes);
  std::string contents(size, '\0');
  std::size_t used = 0;
  while (used < size) {
    const ssize_t got = ::read(file.number(), contents.data() + used, size - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw UserError(shown + ": cannot be read: " + reason(errno));
    if (got == 0) break;  // the file was shortened while it was read
    used += static_cast<std::size_t>(got);
  }
  contents.resize(used);
  return contents;
}

void write_text_file(const std::string& path, std::string_view text) {
  const std::string shown = checked_name(path);
  const auto fail = [&shown](int error) { throw_file_error(shown + ": cannot be written", error); };
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) fail(errno);
  if (exists && S_ISDIR(old.st_mode)) throw UserError(shown + " is a folder; expected a file");
  if (exists && !S_ISREG(old.st_mode)) {
    const int file = ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (file < 0) fail(errno);
    if (const int error = write_and_close(file, text); error != 0) fail(error);
    return;
  }
  const std::filesystem::path target = end_of_links(path);
  const auto [file, temporary] = create_beside(target);
  if (file < 0) fail(errno);
  int error = exists && ::fchmod(file, old.st_mode & 07777U) != 0 ? errno : 0;
  if (const int other = write_and_close(file, text); error == 0) error = other;
  if (error == 0 && std::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail(error);
  }
}

void check_writable(const std::string& path) {
  const std::string shown = checked_name(path);
  std::error_code ignored;
  const std::filesystem::file_status old = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(old)) throw UserError(shown + " is a folder; expected a file");
  if (std::filesystem::exists(old) && !std::filesystem::is_regular_file(old)) return;
  const std::filesystem::path target = end_of_links(path);
  const std::filesystem::path folder = target.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    throw UserError(shown + ": the folder " + quoted(folder.string(), 200) + " does not exist");
  }
  const auto [file, temporary] = create_beside(target);
  if (file < 0) throw_file_error(shown + ": cannot be written", errno);
  ::close(file);
  ::unlink(temporary.c_str());
}

void check_writable_folder(const std::string& path) {
  namespace fs = std::filesystem;
  const std::string shown = checked_name(path);
  std::error_code error;
  std::vector<fs::path> missing;  // the folder first, then its parents
  for (fs::path at = path; !at.empty() && !fs::exists(fs::symlink_status(at, error));
       at = at.parent_path()) {
    missing.push_back(at);
  }
  std::vector<fs::path> made;
  std::error_code failed;
  for (auto at = missing.rbegin(); at != missing.rend() && !failed; ++at) {
    if (fs::create_directory(*at, failed)) made.push_back(*at);
  }
  int probe_error = 0;
  if (!failed) {
    const auto [file, temporary] = create_beside(fs::path(path) / "probe");
    if (file < 0) {
      probe_error = errno;
    } else {
      ::close(file);
      ::unlink(temporary.c_str());
    }
  }
  for (auto at = made.rbegin(); at != made.rend(); ++at) fs::remove(*at, error);
  if (failed) throw UserError(shown + ": the folder cannot be made: " + failed.message());
  if (probe_error != 0) throw_file_error(shown + ": cannot be written", probe_error);
}

}  // namespace cclgym
