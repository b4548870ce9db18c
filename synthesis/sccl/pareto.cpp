#include "synthesis/sccl/pareto.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "synthesis/sccl/collective_steps.hpp"
#include "synthesis/sccl/inversion.hpp"

namespace cclgym::synthesis {
namespace {

void check_options(const ParetoOptions& options) {
  if (options.extra_rounds < 0) {
    throw UserError(fmt::format("{} extra rounds; expected at least 0", options.extra_rounds));
  }
}

/// True if a schedule `easy` exists whenever `hard` does: chunks can be left out, and a step of
/// several rounds can be split.
bool implied(const StepTriple& easy, const StepTriple& hard) {
  return easy.chunks <= hard.chunks && easy.steps >= hard.steps && easy.rounds >= hard.rounds;
}

/// Drops the refuted triples that another one refutes, too.
void keep_strongest(std::vector<StepTriple>& refuted) {
  std::vector<StepTriple> kept;
  for (const StepTriple& triple : refuted) {
    const bool weaker = std::ranges::any_of(refuted, [&](const StepTriple& other) {
      return other != triple && implied(other, triple);
    });
    if (!weaker) kept.push_back(triple);
  }
  refuted = std::move(kept);
}

class ParetoSearch {
 public:
  ParetoSearch(const Instance& instance, CollectiveKind collective, int root,
               const ParetoOptions& options)
      : copied_(inverse_collective(collective)),
        inverted_(copied_ != collective),
        instance_(instance),
        root_(root),
        options_(options) {}

  ParetoFront run() {
    const Demand one_chunk = make_demand(copied_, instance_.ranks, 1, root_);
    const Instance copying = inverted_ ? instance_.reversed() : instance_;
    front_.min_steps = min_steps(copying, one_chunk);
    front_.cut = rounds_cut(copying, one_chunk);
    for (int steps = front_.min_steps; steps <= options_.max_steps; ++steps) {
      std::optional<Rational> relaxed;
      if (options_.relaxation) {
        // Kept answers are those of triples that start from this bound, so it gets some time in any
        // case.
        relaxed = relaxed_rounds(copying, one_chunk, steps, options_.deadline.within(1, 20));
      }
      search_steps(steps, relaxed);
      if (reaches_cut() || front_.points.size() == options_.max_points) break;
      if (options_.deadline.over()) break;
    }
    front_.complete = reaches_cut() && front_.open.empty();
    keep_strongest(front_.refuted);
    return front_;
  }

 private:
  [[nodiscard]] bool reaches_cut() const {
    return !front_.points.empty() && front_.points.back().proof == RoundsProof::Cut;
  }

  // Finds the smallest R/C for a number of steps, if it is below that of fewer steps. For each
  // number of rounds, it adds chunks until no schedule has as many.
  void search_steps(int steps, const std::optional<Rational>& relaxed) {
    const Rational lower = relaxed && front_.cut.rounds < *relaxed ? *relaxed : front_.cut.rounds;
    std::optional<Rational> best;
    if (!front_.points.empty()) best = ratio_of(front_.points.back().triple);
    std::optional<ParetoPoint> point;
    bool undecided = false;
    // The bound is often reached: one search instead of many.
    const std::optional<StepTriple> ideal = ideal_triple(steps, lower);
    if (ideal && (!best || lower < *best)) {
      StepAnswer answer = answer_of(*ideal, lower);
      if (answer.status == SatResult::Unsatisfiable) front_.refuted.push_back(*ideal);
      if (answer.status == SatResult::Satisfiable) {
        best = lower;
        point = point_of(*ideal, std::move(answer.schedule));
      }
    }
    for (int rounds = steps; best != lower && rounds <= steps + options_.extra_rounds; ++rounds) {
      StepTriple triple{best ? chunks_below(rounds, *best) : 1, steps, rounds};
      for (; ratio_of(triple) >= lower; ++triple.chunks) {
        StepAnswer answer = answer_of(triple, lower);
        if (answer.status == SatResult::Unsatisfiable) front_.refuted.push_back(triple);
        if (answer.status == SatResult::Unknown) front_.open.push_back(triple);
        undecided = undecided || answer.status == SatResult::Unknown;
        if (answer.status != SatResult::Satisfiable) break;
        best = ratio_of(triple);
        point = point_of(triple, std::move(answer.schedule));
      }
    }
    if (!point) return;
    if (best == front_.cut.rounds) {
      point->proof = RoundsProof::Cut;
    } else if (best == lower) {
      point->proof = RoundsProof::Relaxation;
    } else if (!undecided) {
      point->proof = RoundsProof::Search;
    }
    front_.points.push_back(std::move(*point));
  }

  // Smallest number of chunks with which so many rounds take less than `ratio` per chunk.
  static int chunks_below(int rounds, const Rational& ratio) {
    const Rational chunks = Rational(rounds) / ratio;
    return static_cast<int>(chunks.numerator() / chunks.denominator()) + 1;
  }

  // The triple with the fewest rounds that takes exactly `ratio` rounds per chunk, if its rounds
  // are within the limit.
  [[nodiscard]] std::optional<StepTriple> ideal_triple(int steps, const Rational& ratio) const {
    const std::int64_t max_rounds = steps + options_.extra_rounds;
    if (ratio.numerator() > max_rounds) return std::nullopt;
    const std::int64_t times = (steps + ratio.numerator() - 1) / ratio.numerator();
    if (times * ratio.numerator() > max_rounds) return std::nullopt;
    return StepTriple{static_cast<int>(times * ratio.denominator()), steps,
                      static_cast<int>(times * ratio.numerator())};
  }

  ParetoPoint point_of(const StepTriple& triple, StepSchedule schedule) const {
    return {.triple = triple,
            .schedule = std::move(schedule),
            .min_steps = triple.steps == front_.min_steps};
  }

  static Rational ratio_of(const StepTriple& triple) {
    return Rational(triple.rounds, triple.chunks);
  }

  // The kept answer, or that of a search within the time that is left.
  StepAnswer answer_of(const StepTriple& triple, const Rational& lower) const {
    const Demand demand = make_demand(copied_, instance_.ranks, triple.chunks, root_);
    if (options_.recall) {
      StepAnswer kept = options_.recall(triple);
      if (kept.status == SatResult::Unsatisfiable || is_schedule(demand, triple, kept)) return kept;
    }
    if (options_.deadline.over()) return {};
    if (options_.on_search) options_.on_search(triple, lower);
    // One hard case must not take the time of all others.
    const StepSearchOptions search{.deadline = options_.deadline.after_part(1.0 / 3),
                                   .max_conflicts = options_.max_conflicts,
                                   .seed = options_.seed};
    StepAnswer answer =
        inverted_ ? solve_reduction_steps(instance_, demand, triple.steps, triple.rounds, search)
                  : solve_steps(instance_, demand, triple.steps, triple.rounds, search);
    if (options_.keep && answer.status != SatResult::Unknown) options_.keep(triple, answer);
    return answer;
  }

  [[nodiscard]] bool is_schedule(const Demand& demand, const StepTriple& triple,
                                 const StepAnswer& kept) const {
    if (kept.status != SatResult::Satisfiable) return false;
    const StepSchedule& schedule = kept.schedule;
    if (schedule.steps() != triple.steps || schedule.total_rounds() > triple.rounds) return false;
    return (inverted_ ? check_reduction(instance_, demand, schedule)
                      : check_schedule(instance_, demand, schedule))
        .empty();
  }

  CollectiveKind copied_;
  bool inverted_;
  Instance instance_;
  int root_;
  ParetoOptions options_;
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
