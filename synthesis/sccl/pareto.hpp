// Pareto-optimal synchronous schedules of a collective (SCCL, Algorithm 1).
#pragma once

#include <cstdint>
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
  None         ///< the time limit was reached
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
  bool relaxation = true;  ///< use relaxed_rounds as a bound
  double time_limit_s = 60;
  int seed = 0;
};

struct ParetoFront {
  std::vector<ParetoPoint> points{};  ///< by steps, ascending
  std::vector<StepTriple> refuted{};  ///< proven infeasible by search
  std::vector<StepTriple> open{};     ///< neither found nor refuted within the time limit
  int min_steps = 0;                  ///< lower bound on the steps
  RoundsCut cut{};                    ///< lower bound on R/C
  /// True if the front is that of all k-synchronous schedules: the last point reaches the cut, and
  /// nothing is open.
  bool complete = false;
};

/// Enumerates S from min_steps on and, for each S, R/C from the lower bound on; it stops when R/C
/// reaches the cut, at max_steps or at the time limit, and then returns what it has. ReduceScatter
/// and Reduce are found on the reversed instance. Throws UserError for AllReduce (a ReduceScatter
/// and an AllGather), AllToNext and Custom, an unreachable rank, and options out of range.
[[nodiscard]] ParetoFront pareto_front(const Instance& instance, CollectiveKind collective,
                                       int root = 0, const ParetoOptions& options = {});

}  // namespace cclgym::synthesis
