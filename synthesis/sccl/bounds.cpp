#include "synthesis/sccl/bounds.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/flows/step_relaxation.hpp"

namespace cclgym::synthesis {
namespace {

constexpr int kMaxExhaustiveRanks = 16;

/// Chunks that can enter a set of ranks per round, or more: limits are chosen greedily until every
/// hop into the set belongs to one of them. Also returns the limits.
std::int64_t entering_capacity(const Instance& instance, const std::vector<char>& inside,
                               std::vector<int>& chosen) {
  chosen.clear();
  const auto enters = [&](const Hop& hop) {
    return inside[at(hop.target)] != 0 && inside[at(hop.source)] == 0;
  };
  std::vector<char> open(instance.hops.size(), 0);
  std::vector<std::int64_t> uncovered(instance.limits.size(), 0);
  int left = 0;
  for (std::size_t hop = 0; hop < open.size(); ++hop) {
    if (!enters(instance.hops[hop])) continue;
    open[hop] = 1;
    ++left;
    for (const int limit : instance.hops[hop].limits) ++uncovered[at(limit)];
  }
  std::int64_t capacity = 0;
  while (left > 0) {
    std::size_t best = instance.limits.size();
    for (std::size_t limit = 0; limit < uncovered.size(); ++limit) {
      if (uncovered[limit] == 0) continue;
      const bool better =
          best == instance.limits.size() || uncovered[limit] * instance.limits[best].units >
                                                uncovered[best] * instance.limits[limit].units;
      if (better) best = limit;
    }
    // A hop without a limit carries any number of chunks.
    if (best == instance.limits.size()) return -1;
    capacity += instance.limits[best].units;
    chosen.push_back(static_cast<int>(best));
    for (const int hop : instance.limits[best].hops) {
      if (!open[at(hop)]) continue;
      open[at(hop)] = 0;
      --left;
      for (const int limit : instance.hops[at(hop)].limits) --uncovered[at(limit)];
    }
  }
  return capacity;
}

}  // namespace

int min_steps(const Instance& instance, const Demand& demand) {
  const std::vector<std::vector<int>> distance = instance.distances();
  int steps = 0;
  for (const ChunkDemand& chunk : demand.chunks) {
    for (const int target : chunk.targets) {
      const int hops = distance[at(chunk.source)][at(target)];
      if (hops < 0) {
        throw UserError(fmt::format("rank {} cannot reach rank {} on '{}'", chunk.source, target,
                                    instance.name));
      }
      steps = std::max(steps, hops);
    }
  }
  return steps;
}

RoundsCut rounds_cut(const Instance& instance, const Demand& demand) {
  RoundsCut best;
  std::vector<char> inside(at(instance.ranks), 0);
  std::vector<int> chosen;
  const auto consider = [&] {
    std::int64_t chunks = 0;
    for (const ChunkDemand& chunk : demand.chunks) {
      if (inside[at(chunk.source)]) continue;
      chunks += std::any_of(chunk.targets.begin(), chunk.targets.end(),
                            [&](int target) { return inside[at(target)] != 0; })
                    ? 1
                    : 0;
    }
    if (chunks == 0) return;
    const std::int64_t capacity = entering_capacity(instance, inside, chosen);
    if (capacity <= 0) return;
    const Rational rounds(chunks, capacity);
    if (rounds <= best.rounds) return;
    best.rounds = rounds;
    best.limits = chosen;
    std::sort(best.limits.begin(), best.limits.end());
    best.ranks.clear();
    for (int rank = 0; rank < instance.ranks; ++rank) {
      if (inside[at(rank)]) best.ranks.push_back(rank);
    }
  };
  if (instance.ranks <= kMaxExhaustiveRanks) {
    for (unsigned set = 1; set + 1 < 1U << static_cast<unsigned>(instance.ranks); ++set) {
      for (std::size_t rank = 0; rank < inside.size(); ++rank) {
        inside[rank] = static_cast<char>(set >> rank & 1U);
      }
      consider();
    }
    return best;
  }
  for (const int others : {0, 1}) {
    for (std::size_t rank = 0; rank < inside.size(); ++rank) {
      std::fill(inside.begin(), inside.end(), static_cast<char>(others));
      inside[rank] = static_cast<char>(1 - others);
      consider();
    }
  }
  return best;
}

std::optional<Rational> relaxed_rounds(const Instance& instance, const Demand& demand, int steps,
                                       const Deadline& deadline) {
  constexpr std::size_t kMaxSends = 20'000;
  if (steps < 1 || demand.chunks.size() * instance.hops.size() > kMaxSends / at(steps)) {
    return std::nullopt;
  }
  try {
    return step_relaxation(instance, demand, steps, {.deadline = deadline}).rounds;
  } catch (const UserError&) {
    return std::nullopt;  // too few steps, or no proof before the deadline
  }
}

}  // namespace cclgym::synthesis
