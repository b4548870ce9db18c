// A policy on real hardware: its choice, the default and the best that was measured, side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/backends/mpi_backend.hpp"
#include "calibration/measure/sweep.hpp"

namespace cclgym {

/// A call, and the ways to carry it out that are measured against each other.
struct ValidationCall {
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::uint64_t bytes = 0;
  MpiConfig chosen;                ///< by the policy
  std::vector<MpiConfig> configs;  ///< distinct; chosen, the default and swept are among them
  /// The fastest way of a sweep on the same hardware: what a table of that sweep would choose.
  std::optional<MpiConfig> swept{};
};

/// `rounds` times each way of each call, those of a call and round one after the other in random
/// order: what is compared is never far apart in time. Columns: those of the backend, round, role
/// ("chosen", "default" and "swept", joined by '+' where one way is several of them; else "other").
[[nodiscard]] SweepPlan validation_plan(const MpiSweep& sweep, const TextMap& environment,
                                        const std::vector<ValidationCall>& calls, int rounds);

/// A ratio of times that were paired by round: geometric mean, and its 95 % interval.
struct PairedRatio {
  double mean = 1;
  double low = 1;
  double high = 1;
};

/// What a call came to.
struct ValidatedCall {
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::uint64_t bytes = 0;
  std::string chosen;   ///< "ring in 32KiB"
  std::string best;     ///< the one with the least time
  double chosen_s = 0;  ///< median of the rounds' medians
  double default_s = 0;
  double best_s = 0;
  PairedRatio ratio{};                       ///< of chosen / default
  std::string swept;                         ///< the fastest way of the sweep; empty: not known
  std::optional<PairedRatio> swept_ratio{};  ///< of swept / default
  int rounds = 0;
  int configs = 0;

  [[nodiscard]] double over_best() const { return chosen_s / best_s; }
};

struct Validation {
  std::string label;
  std::vector<ValidatedCall> calls;  ///< by collective and size
  /// Geometric mean over the calls of chosen / default, paired by round; 95 % interval from
  /// resampled calls, and of those resampled rounds.
  PairedRatio ratio{};
  /// The same of swept / default and of chosen / swept, over the calls whose fastest way in a sweep
  /// is known. The obvious baseline: a table of the sweep needs neither simulator nor agent.
  std::size_t swept_calls = 0;
  std::optional<PairedRatio> swept_ratio{};
  std::optional<PairedRatio> chosen_over_swept{};
  double swept_within_tenth = 0;  ///< share of swept_calls where swept takes at most 1.1 x the best
  double over_best = 1;           ///< geometric mean of chosen / best
  double default_over_best = 1;   ///< of default / best
  double within_tenth = 0;  ///< share of the calls where the choice takes at most 1.1 x the best
  double default_within_tenth = 0;
  /// The call with the greatest chosen / default. There is at least one call.
  [[nodiscard]] const ValidatedCall& worst() const;
};

/// From the rows that a sweep over validation_plan wrote. Calls without rows of both the choice and
/// the default are left out. Throws UserError if the file is none such, has a role that is none of
/// the above, or no call is left.
[[nodiscard]] Validation read_validation(const std::string& path, const std::string& label,
                                         std::uint64_t seed = 1);

/// Tables: the whole, by collective, each call.
[[nodiscard]] std::string validation_text(const std::vector<Validation>& parts);
/// One line a call.
[[nodiscard]] std::string validation_csv(const std::vector<Validation>& parts);
/// The same with plots as one HTML page that opens without a network. Same input, same bytes.
[[nodiscard]] std::string validation_html(const std::vector<Validation>& parts);

}  // namespace cclgym
