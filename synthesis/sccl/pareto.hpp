// Pareto-optimal synchronous schedules of a collective (SCCL, Algorithm 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "synthesis/sccl/bounds.hpp"
#include "synthesis/sccl/solve_steps.hpp"

namespace cclgym::synthesis {

/// Reason why no schedule with as many steps has fewer rounds per chunk.
enum class RoundsProof : std::uint8_t {
  Cut,         ///< rounds_cut, for every number of chunks and steps
  Relaxation,  ///< relaxed_rounds, for every number of chunks
  Search,      ///< every smaller R/C with R <= S + k was proven infeasible
  None         ///< the deadline came, or the conflicts were used up
};
[[nodiscard]] std::string to_string(RoundsProof proof);

/// A triple (C, S, R). Chunks are counted as in make_demand.
struct StepTriple {
  int chunks = 0;
  int steps = 0;
  int rounds = 0;
  friend bool operator==(const StepTriple&, const StepTriple&) = default;
};

struct ParetoPoint {
  StepTriple triple{};
  StepSchedule schedule{};  ///< schedule of the collective itself: reductions, if it reduces
  bool min_steps = false;   ///< no schedule has fewer steps
  RoundsProof proof = RoundsProof::None;
};

struct ParetoOptions {
  int extra_rounds = 4;  ///< k: schedules have at most this many rounds more than steps
  int max_steps = 16;
  std::size_t max_points = 0;  ///< the search ends with so many points; 0: no limit
  bool relaxation = true;      ///< use relaxed_rounds as a bound
  Deadline deadline{};
  std::int64_t max_conflicts = 0;  ///< limit of each search (StepSearchOptions)
  int seed = 0;
  /// Called before each search, with the lower bound on R/C. May be empty.
  std::function<void(const StepTriple&, const Rational& bound)> on_search{};
  /// Called with each answer that a search has proven or found. May be empty.
  std::function<void(const StepTriple&, const StepAnswer&)> keep{};
  /// Answer that an earlier search kept, Unknown if there is none; a schedule that does not pass
  /// the check is searched for again. May be empty.
  std::function<StepAnswer(const StepTriple&)> recall{};
};

struct ParetoFront {
  std::vector<ParetoPoint> points{};  ///< by steps, ascending
  /// Proven infeasible by search. Each also excludes more chunks, fewer steps and fewer rounds;
  /// triples that another one excludes are left out.
  std::vector<StepTriple> refuted{};
  std::vector<StepTriple> open{};  ///< neither found nor refuted
  int min_steps = 0;               ///< lower bound on the steps
  RoundsCut cut{};                 ///< lower bound on R/C
  /// True if the front is that of all k-synchronous schedules: the last point reaches the cut, and
  /// nothing is open.
  bool complete = false;
};

/// Enumerates S from min_steps on and, for each S, R up to S + k with more and more chunks, until
/// there is no such schedule; it stops when R/C reaches the cut, at max_steps or after the
/// deadline, and then returns what it has. ReduceScatter and Reduce are found on the reversed
/// instance. Unless the deadline comes, the front does not depend on what was kept. Throws
/// UserError for AllReduce (a ReduceScatter and an AllGather), AllToNext and Custom, an unreachable
/// rank, and options out of range.
[[nodiscard]] ParetoFront pareto_front(const Instance& instance, CollectiveKind collective,
                                       int root = 0, const ParetoOptions& options = {});

}  // namespace cclgym::synthesis
