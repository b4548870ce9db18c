#include "synthesis/sccl/pareto.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <numeric>

#include "core/error.hpp"
#include "synthesis/sccl/collective_steps.hpp"

namespace cclgym::synthesis {
namespace {

using ParetoClock = std::chrono::steady_clock;

void check_options(const ParetoOptions& options) {
  if (options.extra_rounds < 0) {
    throw UserError(fmt::format("{} extra rounds; expected at least 0", options.extra_rounds));
  }
  if (!(options.time_limit_s > 0)) {
    throw UserError(
        fmt::format("the time limit is {} s; expected more than 0", options.time_limit_s));
  }
}

/// Pairs of chunks and rounds for a number of steps with R/C from `lower` up to below `upper`, by
/// ascending R/C, then ascending chunks.
std::vector<StepTriple> candidates(int steps, int extra_rounds, const Fraction& lower,
                                   const Fraction* upper) {
  std::vector<StepTriple> result;
  for (int rounds = steps; rounds <= steps + extra_rounds; ++rounds) {
    for (int chunks = 1;; ++chunks) {
      const Fraction ratio = make_fraction(rounds, chunks);
      if (ratio < lower) break;
      if (upper == nullptr || ratio < *upper) result.push_back({chunks, steps, rounds});
    }
  }
  std::sort(result.begin(), result.end(), [](const StepTriple& one, const StepTriple& other) {
    const Fraction first = make_fraction(one.rounds, one.chunks);
    const Fraction second = make_fraction(other.rounds, other.chunks);
    return first == second ? one.chunks < other.chunks : first < second;
  });
  return result;
}

class ParetoSearch {
 public:
  ParetoSearch(const Instance& instance, CollectiveKind collective, int root,
               const ParetoOptions& options)
      : copied_(inverse_collective(collective)),
        inverted_(copied_ != collective),
        instance_(instance),
        root_(root),
        options_(options),
        deadline_(ParetoClock::now() + std::chrono::duration_cast<ParetoClock::duration>(
                                           std::chrono::duration<double>(options.time_limit_s))) {}

  ParetoFront run() {
    const Demand one_chunk = make_demand(copied_, instance_.ranks, 1, root_);
    const Instance copying = inverted_ ? instance_.reversed() : instance_;
    front_.min_steps = min_steps(copying, one_chunk);
    front_.cut = rounds_cut(copying, one_chunk);
    for (int steps = front_.min_steps; steps <= options_.max_steps; ++steps) {
      std::optional<Fraction> relaxed;
      if (options_.relaxation) relaxed = relaxed_rounds(copying, one_chunk, steps);
      search_steps(steps, relaxed);
      if (reaches_cut()) break;
      if (left_s() <= 0) return front_;
    }
    front_.complete = reaches_cut() && front_.open.empty();
    return front_;
  }

 private:
  [[nodiscard]] double left_s() const {
    return std::chrono::duration<double>(deadline_ - ParetoClock::now()).count();
  }

  [[nodiscard]] bool reaches_cut() const {
    return !front_.points.empty() && front_.points.back().proof == RoundsProof::Cut;
  }

  // Finds the smallest R/C for a number of steps, if it is below that of fewer steps.
  void search_steps(int steps, const std::optional<Fraction>& relaxed) {
    const Fraction lower = relaxed && front_.cut.rounds < *relaxed ? *relaxed : front_.cut.rounds;
    Fraction upper;
    if (!front_.points.empty()) {
      const StepTriple& last = front_.points.back().triple;
      upper = make_fraction(last.rounds, last.chunks);
    }
    bool undecided = false;
    for (const StepTriple& triple : candidates(steps, options_.extra_rounds, lower,
                                               front_.points.empty() ? nullptr : &upper)) {
      const double left = left_s();
      if (left <= 0) {
        front_.open.push_back(triple);
        undecided = true;
        continue;
      }
      // One hard case must not take the time of all others.
      const StepSearchOptions search{.time_limit_s = left / 3, .seed = options_.seed};
      const Demand demand = make_demand(copied_, instance_.ranks, triple.chunks, root_);
      StepAnswer answer =
          inverted_ ? solve_reduction_steps(instance_, demand, steps, triple.rounds, search)
                    : solve_steps(instance_, demand, steps, triple.rounds, search);
      if (answer.status == SatResult::Unsatisfiable) front_.refuted.push_back(triple);
      if (answer.status == SatResult::Unknown) {
        front_.open.push_back(triple);
        undecided = true;
      }
      if (answer.status != SatResult::Satisfiable) continue;
      ParetoPoint point{.triple = triple, .min_steps = steps == front_.min_steps};
      point.schedule = std::move(answer.schedule);
      const Fraction ratio = make_fraction(triple.rounds, triple.chunks);
      if (ratio == front_.cut.rounds) {
        point.proof = RoundsProof::Cut;
      } else if (ratio == lower) {
        point.proof = RoundsProof::Relaxation;
      } else if (!undecided) {
        point.proof = RoundsProof::Search;
      }
      front_.points.push_back(std::move(point));
      return;
    }
  }

  CollectiveKind copied_;
  bool inverted_;
  Instance instance_;
  int root_;
  ParetoOptions options_;
  ParetoClock::time_point deadline_;
  ParetoFront front_;
};

}  // namespace

std::string to_string(RoundsProof proof) {
  switch (proof) {
    case RoundsProof::Cut:
      return "cut";
    case RoundsProof::Relaxation:
      return "relaxation";
    case RoundsProof::Search:
      return "search";
    case RoundsProof::None:
      break;
  }
  return "none";
}

ParetoFront pareto_front(const Instance& instance, CollectiveKind collective, int root,
                         const ParetoOptions& options) {
  check_options(options);
  return ParetoSearch(instance, collective, root, options).run();
}

}  // namespace cclgym::synthesis
