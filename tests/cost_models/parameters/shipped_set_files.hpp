// The parameter sets that the project ships, as files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/places.hpp"

namespace cclgym::test {

/// The built-in sets and the netlab's set.
inline std::vector<std::string> shipped_set_files() {
  std::vector<std::string> files;
  const std::filesystem::path root = source_folder();
  for (const char* folder : {"cost_models/parameters", "experiments/netlab"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root / folder)) {
      if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
    }
  }
  return files;
}

}  // namespace cclgym::test
