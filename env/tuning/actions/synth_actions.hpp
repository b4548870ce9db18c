// Synthesised schedules as actions: the front of each collective on one machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/contract.hpp"
#include "core/error.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// A schedule with SCCL's costs (C, S, R), and its programs.
struct FrontSchedule {
  int chunks = 1;               ///< C
  int steps = 1;                ///< S
  double rounds_per_chunk = 1;  ///< R / C
  double s_per_B = 0;           ///< (R / C) beta, per byte of the call
  /// A program with some copies of the schedule, each with its part of every chunk.
  struct Copies {
    int count = 1;
    std::string program;  ///< name in the library
  };
  std::vector<Copies> copies;

  /// T = S alpha + (R / C) L beta (SCCL, section 2.4), s.
  [[nodiscard]] double time_s(double bytes, double alpha_s) const {
    return steps * alpha_s + s_per_B * bytes;
  }
};

/// Schedules of a collective, by steps ascending and then by rounds per chunk descending: the first
/// is for small calls, the last for large ones.
struct CollectiveFront {
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::vector<FrontSchedule> points;
  int min_steps = 0;       ///< bound for all schedules; 0: not known
  double min_s_per_B = 0;  ///< bound, per byte of the call; 0: not known
  double min_rounds = 0;   ///< bound on R / C; 0: not known

  /// Point with the least T; the first of equal ones.
  [[nodiscard]] std::size_t best(double bytes, double alpha_s) const;
};

/// An item "synth:KIND" of the option `programs`. Its levels of Knob::Algorithm are "synth-KIND-1",
/// "synth-KIND-2", …; level k of a collective is point k of its front, so that the levels are the
/// same on every machine.
struct SynthActions {
  std::string item;  ///< "synth:pareto"
  SourceLocation where{};
  std::vector<CollectiveFront> fronts;

  static constexpr std::size_t kLevels = 4;
  /// Name of its levels without the number: "synth-pareto".
  [[nodiscard]] std::string level_prefix() const;
  /// Front of a collective; null if there is none.
  [[nodiscard]] const CollectiveFront* front(CollectiveKind collective) const;
};

/// Synthesises programs for the collectives of the site and adds them to `library`. A schedule is
/// left out if another one has no more steps, no more rounds per chunk and no more thread blocks
/// per GPU. If more than kLevels are left, the first and the last are kept, and others in equal
/// distances. A collective for which synthesis has no program has no front. Throws UserError at
/// `where` if the text after "synth:" is not a kind.
[[nodiscard]] SynthActions make_synth_actions(const std::string& item, const SourceLocation& where,
                                              const TunerSite& site, AlgorithmLibrary& library);

}  // namespace cclgym
