#include "core/text_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "core/error.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

std::string read_text_file(const std::string& path, std::size_t max_bytes) {
  const std::string shown = quoted(path, 200);
  if (path.empty()) throw UserError("an empty file name; expected the path of a file");
  if (path.find('\0') != std::string::npos) throw UserError(shown + ": not a file name");
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw UserError(shown + ": no such file");
  }
  if (std::filesystem::is_directory(status)) {
    throw UserError(shown + ": is a folder; expected a file");
  }
  errno = 0;
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  if (!file) throw UserError(shown + ": cannot be opened: " + reason(errno));
  std::string contents;
  std::size_t used = 0;
  // Grows with what is there instead of trusting the size that the file system tells: a pipe or a
  // device has none.
  while (true) {
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    contents.resize(used + kBlock);
    const std::size_t got = std::fread(contents.data() + used, 1, kBlock, file.get());
    used += got;
    if (used > max_bytes) {
      throw UserError(shown + ": too large; expected at most " + format_bytes(max_bytes));
    }
    if (got < kBlock) break;
  }
  if (std::ferror(file.get()) != 0) {
    throw UserError(shown + ": cannot be read: " + reason(errno));
  }
  contents.resize(used);
  return contents;
}

void write_text_file(const std::string& path, std::string_view text) {
  const std::string shown = quoted(path, 200);
  const std::string temporary = path + ".partial";
  const auto fail = [&](int error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw UserError(shown + ": cannot be written: " + reason(error));
  };
  errno = 0;
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) fail(errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int write_error = errno;
  if (std::fclose(file) != 0 || !written) fail(written ? errno : write_error);
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) fail(error.value());
}

}  // namespace cclgym
