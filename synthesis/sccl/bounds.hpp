// Lower bounds on the steps and rounds of synchronous schedules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "synthesis/demand.hpp"
#include "synthesis/instance.hpp"

namespace cclgym::synthesis {

/// A non-negative fraction in lowest terms.
struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  [[nodiscard]] std::string to_string() const;  ///< "7/6", or "3" for a whole number
  friend bool operator==(const Fraction&, const Fraction&) = default;
};
[[nodiscard]] Fraction make_fraction(std::int64_t numerator, std::int64_t denominator);
[[nodiscard]] bool operator<(const Fraction& one, const Fraction& other);

/// Steps that every schedule needs: the maximum distance from a chunk's source to a target (a_l in
/// SCCL, section 3.6). Throws UserError if a target cannot be reached.
[[nodiscard]] int min_steps(const Instance& instance, const Demand& demand);

/// A set of ranks that must receive more chunks than may enter it in one round.
struct RoundsCut {
  Fraction rounds{};         ///< chunks that must enter / chunks that may enter per round
  std::vector<int> ranks{};  ///< the receiving side, ascending
  /// Limits that together cover all hops into the set, ascending: what may enter per round.
  std::vector<int> limits{};
};

/// Largest cut bound on the rounds (b_l in SCCL, section 3.6): of all sets of ranks up to 16 ranks,
/// otherwise of single ranks and their complements. The capacity of a cut is bounded from above by
/// limits that together cover all hops into the set. For a demand with one chunk per rank or pair,
/// it bounds R/C for every C.
[[nodiscard]] RoundsCut rounds_cut(const Instance& instance, const Demand& demand);

/// Lower bound on R/C of all schedules of `steps` steps, for every number of copies C of the
/// demand's chunks: the linear relaxation in which fractions of chunks are held and sent. The dual
/// solution is rounded to fractions and the bound is that of the rounded one, in exact arithmetic,
/// so that it holds whatever the solver's errors. Nothing if the demand cannot be met in so many
/// steps; also nothing if the program would be too large or the solver gives no solution.
[[nodiscard]] std::optional<Fraction> relaxed_rounds(const Instance& instance, const Demand& demand,
                                                     int steps);

}  // namespace cclgym::synthesis
