#include "synthesis/strategies/step_front.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/flows/step_relaxation.hpp"
#include "synthesis/sccl/solve_steps.hpp"

namespace cclgym::synthesis {

namespace {

std::string text_of(const Rational& value) {
  return value.denominator() == 1 ? fmt::format("{}", value.numerator())
                                  : fmt::format("{}/{}", value.numerator(), value.denominator());
}

int longest_distance(const Instance& instance, const Demand& demand) {
  const std::vector<std::vector<int>> distance = instance.distances();
  int longest = 0;
  for (const ChunkDemand& chunk : demand.chunks) {
    for (const int target : chunk.targets) {
      const int steps = distance[at(chunk.source)][at(target)];
      if (steps < 0) {
        throw UserError(fmt::format("rank {} cannot reach rank {}", chunk.source, target));
      }
      longest = std::max(longest, steps);
    }
  }
  return longest;
}

class FrontSearch {
 public:
  FrontSearch(const Instance& instance, CollectiveKind collective, const StepFrontOptions& options)
      : instance_(instance),
        collective_(collective),
        options_(options),
        start_(std::chrono::steady_clock::now()) {
    const bool symmetric = options.group.empty() && (collective == CollectiveKind::AllGather ||
                                                     collective == CollectiveKind::AllToAll);
    if (!symmetric) return;
    const std::vector<InstanceGroup> groups = semiregular_groups(instance);
    if (!groups.empty()) symmetries_ = groups.front();
  }

  StepFront run() {
    const Demand one = demand_of(1);
    front_.min_steps = longest_distance(instance_, one);
    Rational best{0};
    for (int steps = front_.min_steps; steps <= front_.min_steps + options_.max_extra_steps;
         ++steps) {
      const Rational bound = bound_of(one, steps);
      if (best != Rational(0) && bound >= best) {
        if (best <= options_.min_rounds) break;
        continue;
      }
      const bool found = search(steps, bound, best);
      if (found) best = front_.points.back().rounds;
      if (best != Rational(0) && best <= options_.min_rounds) break;
      if (left_s() <= 0) {
        front_.notes.push_back(
            fmt::format("the time limit ended the search of step schedules at {} steps", steps));
        break;
      }
    }
    front_.complete = !front_.points.empty() && front_.points.back().rounds <= options_.min_rounds;
    for (const StepFrontPoint& point : front_.points) {
      front_.complete = front_.complete && point.rounds == point.min_rounds;
    }
    return std::move(front_);
  }

 private:
  [[nodiscard]] Demand demand_of(int chunks) const {
    return make_demand(collective_, instance_.ranks, chunks, options_.root, options_.group);
  }

  [[nodiscard]] double left_s() const {
    return options_.time_limit_s -
           std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  Rational bound_of(const Demand& demand, int steps) {
    const StepRelaxation relaxation =
        step_relaxation(instance_, demand, steps,
                        {.symmetries = symmetries_, .time_limit_s = std::max(left_s(), 0.1)});
    return std::max(relaxation.rounds, options_.min_rounds);
  }

  // Finds the schedule with the fewest rounds per chunk for these steps: at the bound for the
  // smallest numbers of chunks, otherwise as near to it as possible. Adds it if it is better than
  // `best` (0: any).
  bool search(int steps, const Rational& bound, const Rational& best) {
    struct Size {
      Rational rounds_per_chunk;
      int chunks;
      int rounds;
    };
    std::vector<Size> sizes;
    for (int chunks = 1; chunks <= options_.max_chunks; ++chunks) {
      const Rational exact = bound * chunks;
      const auto least =
          static_cast<int>((exact.numerator() + exact.denominator() - 1) / exact.denominator());
      for (int rounds = std::max(least, steps); rounds <= std::max(least, steps) + 1; ++rounds) {
        const Rational ratio(rounds, chunks);
        if (best == Rational(0) || ratio < best) sizes.push_back({ratio, chunks, rounds});
      }
    }
    std::stable_sort(sizes.begin(), sizes.end(), [](const Size& a, const Size& b) {
      return a.rounds_per_chunk < b.rounds_per_chunk;
    });
    Rational tried{0};
    int attempts = 0;
    for (const Size& size : sizes) {
      // A multiple of a size whose search failed needs much more time, and rarely helps.
      if (tried == size.rounds_per_chunk && attempts >= 3) continue;
      attempts = tried == size.rounds_per_chunk ? attempts + 1 : 1;
      tried = size.rounds_per_chunk;
      const double slice_s = std::min(left_s(), std::max(1.0, options_.time_limit_s / 4));
      if (slice_s <= 0) return false;
      StepAnswer answer = solve_steps(instance_, demand_of(size.chunks), steps, size.rounds,
                                      {.time_limit_s = slice_s});
      if (answer.status != SatResult::Satisfiable) continue;
      if (options_.on_progress) {
        options_.on_progress(
            fmt::format("{} chunks, {} steps, {} rounds: found (bound {} rounds "
                        "per chunk)",
                        size.chunks, steps, size.rounds, text_of(bound)));
      }
      front_.points.push_back({.chunks = size.chunks,
                               .rounds = size.rounds_per_chunk,
                               .min_rounds = bound,
                               .schedule = std::move(answer.schedule)});
      return true;
    }
    return false;
  }

  const Instance& instance_;
  CollectiveKind collective_;
  const StepFrontOptions& options_;
  std::chrono::steady_clock::time_point start_;
  std::vector<InstanceSymmetry> symmetries_;
  StepFront front_;
};

}  // namespace

StepFront step_front(const Instance& instance, CollectiveKind collective,
                     const StepFrontOptions& options) {
  return FrontSearch(instance, collective, options).run();
}

}  // namespace cclgym::synthesis
