#include "synthesis/teccl/chunk_classes.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym::synthesis {

namespace {

using ChunkKey = std::pair<int, std::vector<int>>;  // source, targets

std::map<ChunkKey, std::vector<int>> chunks_by_key(const Demand& demand) {
  std::map<ChunkKey, std::vector<int>> classes;
  for (std::size_t chunk = 0; chunk < demand.chunks.size(); ++chunk) {
    classes[{demand.chunks[chunk].source, demand.chunks[chunk].targets}].push_back(
        static_cast<int>(chunk));
  }
  return classes;
}

}  // namespace

std::vector<std::vector<int>> interchangeable_chunks(const Demand& demand) {
  std::vector<std::vector<int>> classes;
  for (auto& [key, chunks] : chunks_by_key(demand)) classes.push_back(chunks);
  std::ranges::sort(classes);
  return classes;
}

std::vector<int> chunk_images(const Demand& demand, const std::vector<int>& ranks) {
  const std::map<ChunkKey, std::vector<int>> classes = chunks_by_key(demand);
  std::vector<int> images(demand.chunks.size(), -1);
  for (const auto& [key, chunks] : classes) {
    ChunkKey image{ranks[at(key.first)], {}};
    for (const int target : key.second) image.second.push_back(ranks[at(target)]);
    std::ranges::sort(image.second);
    const auto found = classes.find(image);
    if (found == classes.end() || found->second.size() != chunks.size()) {
      throw UserError(fmt::format(
          "the symmetry takes rank {} to rank {}, but their chunks have different targets",
          key.first, image.first));
    }
    for (std::size_t k = 0; k < chunks.size(); ++k) images[at(chunks[k])] = found->second[k];
  }
  return images;
}

}  // namespace cclgym::synthesis
