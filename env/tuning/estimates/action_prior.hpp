// V_prior(s, a) of SCCL (section 12.3): what alpha and beta say about every action.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "env/tuning/actions/tuning_action.hpp"
#include "env/tuning/estimates/plan_estimates.hpp"

namespace cclgym {

/// Estimates T(s, a) = S(a) alpha + (R(a) / C(a)) bytes beta of the actions of a machine: S counts
/// steps within and between nodes, each with the protocol's latency there, and (R / C) beta is the
/// load of the busiest link by the program's own messages, with the protocol's bytes on the wire.
/// Synthesised programs have the S and R / C of their schedules. Thread-safe.
class ActionPrior {
 public:
  /// Machines with more ranks have no estimates: their programs take too long to lower.
  static constexpr int kMostRanks = 128;

  ActionPrior(std::shared_ptr<const CallSite> site, std::shared_ptr<const TuningActions> actions,
              const FabricFeatures& fabric);

  /// Times of a call, s; 0 if nothing is known.
  struct Times {
    double best_s = 0;     ///< time of the best action
    double default_s = 0;  ///< time of the default
  };
  [[nodiscard]] Times times(const Call& call);
  /// Least time of the actions with a level of Knob::Algorithm, s; 0 if nothing is known.
  [[nodiscard]] double level_s(const Call& call, std::int32_t level);
  /// Legal action with the least PlanEstimate, knobs() numbers; of equal ones, the first. Tuners
  /// and synthesised programs are no candidates. Empty if nothing is known.
  [[nodiscard]] std::span<const std::int32_t> advice(const Call& call);
  /// Its number among the legal actions of the collective; nullopt if nothing is known.
  [[nodiscard]] std::optional<std::size_t> advised_number(const Call& call);
  /// PlanEstimate of a configuration, s; 0 if nothing is known.
  [[nodiscard]] double estimate_s(const Call& call, const PlainConfig& config);
  /// Least PlanEstimate of the actions with each level of Knob::Algorithm after the tuners and each
  /// protocol (three numbers per level), then that of the default, s; 0 if nothing is known.
  void estimates(const Call& call, std::span<double> out_s);
  /// Time of one configuration, s; 0 if nothing is known.
  [[nodiscard]] double time_s(const Call& call, const PlainConfig& config);

 private:
  /// T = alpha_s + s_per_B bytes.
  struct Line {
    double alpha_s = 0;
    double s_per_B = 0;
    [[nodiscard]] double time_s(double bytes) const { return alpha_s + s_per_B * bytes; }
  };
  using Lines = std::map<std::int32_t, std::vector<Line>>;  ///< by level of Knob::Algorithm

  /// Estimate of an action.
  struct Advised {
    PlanEstimate estimate;
    Protocol protocol = Protocol::Simple;
    std::size_t number = 0;  ///< among the legal actions
    std::span<const std::int32_t> action;
  };
  [[nodiscard]] const Advised* best_advised(const Call& call);
  [[nodiscard]] double known_estimate_s(const Call& call, const PlainConfig& config);
  [[nodiscard]] const std::vector<Advised>& advised_of(CollectiveKind collective);
  [[nodiscard]] const Lines& lines_of(CollectiveKind collective);
  [[nodiscard]] std::optional<Line> line(CollectiveKind collective, const PlainConfig& config);
  [[nodiscard]] double tuned_s(const Call& call, std::size_t tuner);
  [[nodiscard]] std::optional<double> least_s(const Call& call, std::int32_t level,
                                              const std::vector<Line>& lines);

  std::shared_ptr<const CallSite> site_;
  std::shared_ptr<const TuningActions> actions_;
  FabricFeatures fabric_;
  std::mutex mutex_;
  PlanLoads loads_;
  PlanEstimates estimates_;
  std::map<CollectiveKind, Lines> lines_;
  std::map<CollectiveKind, std::vector<Advised>> advised_;
  /// Number of the advised action, by call; bounded.
  std::map<std::tuple<CollectiveKind, std::uint64_t>, std::size_t> advice_;
  /// Times of tuners, by call; bounded.
  std::map<std::tuple<CollectiveKind, int, std::uint64_t, std::size_t>, double> tuned_;
  std::map<std::tuple<CollectiveKind, int, std::uint64_t>, Times> times_;
};

}  // namespace cclgym
