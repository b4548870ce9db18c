// Validation of a policy on real hardware: its choice, the default and the best measured
// configuration.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/backends/mpi_backend.hpp"
#include "calibration/measure/sweep.hpp"

namespace cclgym {

/// A call, and the configurations to compare for it.
struct ValidationCall {
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::uint64_t bytes = 0;
  MpiConfig chosen;                ///< the policy's choice
  std::vector<MpiConfig> configs;  ///< distinct; chosen, the default and swept are among them
  /// The fastest configuration of a sweep on the same hardware: the choice of a table made from it.
  std::optional<MpiConfig> swept{};
};

/// Measures each configuration of each call `rounds` times. The measurements of one call and round
/// follow each other in random order, so that compared times are close together. The columns are
/// the backend's, round, and role ("chosen", "default" and "swept", joined by '+' if a
/// configuration has several roles; otherwise "other").
[[nodiscard]] SweepPlan validation_plan(const MpiSweep& sweep, const TextMap& environment,
                                        const std::vector<ValidationCall>& calls, int rounds);

/// Roles of a configuration in the comparison of a call.
struct ValidationRoles {
  bool chosen = false;
  bool by_default = false;
  bool swept = false;
};
/// A configuration of a call: its cell without round and role.
struct ValidationLane {
  std::vector<std::string> cell;
  ValidationRoles roles;
};
/// The plan of validation_plan for the cells of any backend: `columns` and round, role. Each call
/// and round is a block of the sweep's random order.
[[nodiscard]] SweepPlan interleaved_plan(std::vector<std::string> columns,
                                         const std::vector<std::vector<ValidationLane>>& calls,
                                         int rounds);

/// A ratio of times paired by round: geometric mean and 95 % interval.
struct PairedRatio {
  double mean = 1;
  double low = 1;
  double high = 1;
};

/// Results of one call.
struct ValidatedCall {
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::uint64_t bytes = 0;
  std::string chosen;   ///< "ring in 32KiB"; of NCCL "policy (ring/LL/4)", with what it used
  std::string best;     ///< the configuration with the shortest time
  double chosen_s = 0;  ///< median of the rounds' medians
  double default_s = 0;
  double best_s = 0;
  PairedRatio ratio{};  ///< chosen / default
  std::string swept;    ///< the fastest configuration of the sweep; empty: unknown
  std::optional<PairedRatio> swept_ratio{};  ///< swept / default
  int rounds = 0;
  int configs = 0;

  [[nodiscard]] double over_best() const { return chosen_s / best_s; }
};

struct Validation {
  std::string label;
  std::vector<ValidatedCall> calls;  ///< by collective and size
  /// Geometric mean over the calls of chosen / default, paired by round; 95 % interval from
  /// resampled calls and, within those, resampled rounds.
  PairedRatio ratio{};
  /// Ratios swept / default and chosen / swept over the calls whose fastest configuration in a
  /// sweep is known. This is the obvious baseline: a table of the sweep needs neither simulator nor
  /// agent.
  std::size_t swept_calls = 0;
  std::optional<PairedRatio> swept_ratio{};
  std::optional<PairedRatio> chosen_over_swept{};
  double swept_within_tenth = 0;  ///< share of swept_calls whose swept configuration takes at most
                                  ///< 1.1 x the best time
  double over_best = 1;           ///< geometric mean of chosen / best
  double default_over_best = 1;   ///< geometric mean of default / best
  double within_tenth = 0;  ///< share of the calls whose choice takes at most 1.1 x the best time
  double default_within_tenth = 0;
  /// NCCL only: number of calls by the relation of NCCL's last decision to the policy's choice (the
  /// worker's as_asked; "left to NCCL" if the policy does not choose).
  std::map<std::string, int> followed{};
  bool one_gpu = false;  ///< true if all ranks were on one GPU, so that no time is one of links
  /// The call with the max chosen / default. There is at least one call.
  [[nodiscard]] const ValidatedCall& worst() const;
};

/// Reads the rows that a sweep over validation_plan wrote. Calls without rows of both the choice
/// and the default are left out. Rows of MPI and of NCCL are told apart by their columns. Throws
/// UserError if the file is not of this kind, has an unknown role, or no call is left.
[[nodiscard]] Validation read_validation(const std::string& path, const std::string& label,
                                         std::uint64_t seed = 1);

/// Tables of the totals, of each collective and of each call.
[[nodiscard]] std::string validation_text(const std::vector<Validation>& parts);
/// CSV with one line per call.
[[nodiscard]] std::string validation_csv(const std::vector<Validation>& parts);
/// The results with plots as a self-contained HTML page. Equal inputs give equal bytes.
[[nodiscard]] std::string validation_html(const std::vector<Validation>& parts);

}  // namespace cclgym
