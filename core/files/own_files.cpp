#include "core/files/own_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/error.hpp"

namespace cclgym {

namespace fs = std::filesystem;

namespace {

// True if the file begins with the text. Reads only as many bytes as the text has.
bool begins_with(const fs::path& path, const std::string& text) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string begin(text.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return file.gcount() == static_cast<std::streamsize>(text.size()) && begin == text;
}

[[noreturn]] void refuse(const fs::path& path, const OwnFiles& files) {
  throw UserError(quoted(path.string(), 200) + ": not written by " + files.writer +
                  ", which would write over it; choose another folder");
}

}  // namespace

void refuse_foreign_files(const std::string& folder, const OwnFiles& files) {
  std::error_code error;
  const fs::path mark = fs::path(folder) / files.mark;
  if (fs::exists(fs::symlink_status(mark, error))) {
    if (!begins_with(mark, files.mark_begins)) refuse(mark, files);
    return;
  }
  for (const std::string& name : files.others) {
    const fs::path path = fs::path(folder) / name;
    if (fs::exists(fs::symlink_status(path, error))) refuse(path, files);
  }
}

}  // namespace cclgym
