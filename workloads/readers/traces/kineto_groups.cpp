#include "workloads/readers/traces/kineto_groups.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "workloads/readers/traces/trace_reader.hpp"

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

std::optional<std::vector<std::int32_t>> completed_ranks(std::string_view cut, std::int64_t size) {
  const std::size_t dots = cut.find(", ...");
  if (dots == std::string_view::npos || size < 2 || size > kMostTraceRanks) return std::nullopt;
  const std::string_view rest = cut.substr(dots + std::string_view(", ...").size());
  const auto front = parse_rank_list(std::string(cut.substr(0, dots)) + "]");
  const auto back =
      parse_rank_list("[" + std::string(rest.starts_with(", ") ? rest.substr(2) : rest));
  const auto count = static_cast<std::size_t>(size);
  if (!front || !back || front->size() < 2 || front->size() + back->size() > count) {
    return std::nullopt;
  }
  const std::int64_t distance = std::int64_t{(*front)[1]} - (*front)[0];
  if (distance < 1 || (*front)[0] + distance * (size - 1) >= kMostTraceRanks) return std::nullopt;
  std::vector<std::int32_t> ranks = mesh_ranks((*front)[0], distance, count);
  const bool fits = std::equal(front->begin(), front->end(), ranks.begin()) &&
                    std::equal(back->rbegin(), back->rend(), ranks.rbegin());
  if (!fits) return std::nullopt;
  return ranks;
}

}  // namespace cclgym
