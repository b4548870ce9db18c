// Paths of the checkout and of the build that a test program belongs to. They are looked up at run
// time: on the compiler's command line, they would make a compiler cache useless for every other
// checkout.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cclgym::test {

/// The build folder: the innermost folder around this program that has a CMakeCache.txt.
inline const std::string& build_folder() {
  static const std::string folder = [] {
    std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe");
    while (!std::filesystem::exists(path / "CMakeCache.txt")) {
      if (path == path.root_path())
        throw std::runtime_error("this test program is outside of a build folder");
      path = path.parent_path();
    }
    return path.string();
  }();
  return folder;
}

/// The checkout that the build folder was configured for.
inline const std::string& source_folder() {
  static const std::string folder = [] {
    constexpr std::string_view kEntry = "CMAKE_HOME_DIRECTORY:INTERNAL=";
    std::ifstream cache(build_folder() + "/CMakeCache.txt");
    for (std::string line; std::getline(cache, line);) {
      if (line.starts_with(kEntry)) return line.substr(kEntry.size());
    }
    throw std::runtime_error(build_folder() + "/CMakeCache.txt does not name its source folder");
  }();
  return folder;
}

/// The absolute path of a file or folder of the checkout, for example "docs/fabrics.md".
inline std::string source_path(std::string_view relative) {
  return (source_folder() + "/").append(relative);
}
/// The absolute path of a file or folder of the build, for example "cclgym".
inline std::string build_path(std::string_view relative) {
  return (build_folder() + "/").append(relative);
}

}  // namespace cclgym::test
