// Replays the seeds of every fuzz target through its entry function, without clang and libFuzzer:
//   replay_seeds FOLDER    with one folder of files per target
// A fault ends the process by a signal, after the name of the seed was printed. Fails if a target
// has no seeds, if a folder has no target, or if one seed asks for over a gigabyte.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/allocations.hpp"

namespace {

struct Target {
  const char* name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

#include "targets.inc"

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

std::vector<std::filesystem::path> sorted(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  if (!std::filesystem::is_directory(folder)) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

int replay(const Target& target, const std::filesystem::path& folder) {
  const auto seeds = sorted(folder / target.name);
  if (seeds.empty()) {
    fmt::print("{}: no seeds\n", target.name);
    return 1;
  }
  int faults = 0;
  for (const auto& path : seeds) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    fmt::print(stderr, "{}\n", path.string());  // the last one before a signal is the culprit
    const std::size_t before = cclgym::test::allocated_bytes();
    (void)target.run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    const std::size_t asked = cclgym::test::allocated_bytes() - before;
    if (asked > kMostBytes) {
      fmt::print("{}: asks for {} bytes of memory\n", path.string(), asked);
      ++faults;
    }
  }
  fmt::print("{}: {} seeds\n", target.name, seeds.size());
  return faults;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  const std::filesystem::path folder = words[1];
  int faults = 0;
  for (const Target& target : kTargets) faults += replay(target, folder);
  for (const auto& path : sorted(folder)) {
    const bool known = std::any_of(
        std::begin(kTargets), std::end(kTargets),
        [&path](const Target& target) { return path.filename().string() == target.name; });
    if (!known) {
      fmt::print("{}: no target\n", path.string());
      ++faults;
    }
  }
  return faults == 0 ? 0 : 1;
}
