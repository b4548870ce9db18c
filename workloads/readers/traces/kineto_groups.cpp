#include "workloads/readers/traces/kineto_groups.hpp"

#include <cstddef>

namespace cclgym {

namespace {

std::vector<std::int32_t> mesh_ranks(std::int64_t first, std::int64_t distance, std::size_t count) {
  std::vector<std::int32_t> ranks(count);
  for (std::size_t i = 0; i < count; ++i) {
    ranks[i] = static_cast<std::int32_t>(first + static_cast<std::int64_t>(i) * distance);
  }
  return ranks;
}

}  // namespace

std::optional<std::vector<std::int32_t>> mesh_group(const std::vector<std::int32_t>& known,
                                                    std::int32_t rank, std::int32_t world) {
  if (known.empty()) return std::nullopt;
  if (known.size() == 1) return std::vector<std::int32_t>{rank};
  const std::int64_t distance = std::int64_t{known[1]} - known[0];
  const std::int64_t block = distance * static_cast<std::int64_t>(known.size());
  if (distance < 1 || block > world || world % block != 0) return std::nullopt;
  const auto first_of = [&](std::int64_t member) {
    return member / block * block + member % distance;
  };
  if (mesh_ranks(first_of(known[0]), distance, known.size()) != known) return std::nullopt;
  return mesh_ranks(first_of(rank), distance, known.size());
}

}  // namespace cclgym
