// Rewards of a tuner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "env/tuning/workload/iteration_clock.hpp"
#include "env/tuning/workload/workload.hpp"

namespace cclgym {

enum class RewardKind : std::uint8_t {
  LogSpeedup,        ///< ln(default time / time); the default is another call, with its own noise
  PairedLogSpeedup,  ///< the same with the noise of the call itself, which no real system knows
  NegativeTime,      ///< -time, us
  Rolling,    ///< LogSpeedup; its mean over the class's last W calls while the network is shared
  Tail,       ///< LogSpeedup with a term for the tail
  AlphaBeta,  ///< -time with SCCL's bonuses for few steps and little data, us
  /// ln(default time / time) of an iteration at its end, else 0. With a job: ln(time of the job's
  /// step before the choice / after it)
  StepTime,
};

struct RewardOptions {
  RewardKind kind = RewardKind::LogSpeedup;
  int window = 10;            ///< W of Rolling
  double tail_weight = 0;     ///< weight of the term for the tail; 0.1 by default for Tail
  double alpha_weight = 0.1;  ///< lambda_alpha of AlphaBeta
  double beta_weight = 0.1;   ///< lambda_beta of AlphaBeta
  double step_weight = 0;     ///< weight of the step's reward, in addition to that of its calls
  double fan_out_weight = 0;  ///< weight of the bonus for bytes that are spread over NICs
  std::string over{};         ///< tuner whose time takes the place of the default; empty: default
  SourceLocation over_where{};
};

/// Keys of `reward`.
[[nodiscard]] const std::vector<OptionSpec>& reward_options();
/// Reads a name or a mapping {name: rolling, window: 20}. Throws UserError at the location of the
/// mistake.
[[nodiscard]] RewardOptions read_reward(const YamlValue& value);

/// Result of a call, from which its reward is computed.
struct RewardInput {
  double time_s = 0;
  double default_s = 0;        ///< time of the default in the same condition, with its own noise
  double paired_s = 0;         ///< time of the default with the noise of the call
  double expected_s = 0;       ///< time of the same configuration without noise
  double typical_s = 0;        ///< time of the default without noise; the scale of the tail
  std::size_t call_class = 0;  ///< size_class of the call
  int steps = 0;               ///< S of the configuration
  double alpha_s = 0;          ///< latency of a step
  double beta_s = -1;          ///< (R / C) L beta of the program; negative: not known
  double least_steps = 0;      ///< a_l: minimum number of steps of any program
  double least_beta_s = 0;     ///< b_l L: minimum time of any program to move its data
  double fan_out = 0;          ///< NicShares::fan_out of the call
  bool shared_network = false;
  CallContext context{};
  /// Time of the job's step before and after the choice; 0: the workload is not a job.
  double step_before_s = 0;
  double step_after_s = 0;
};

/// State of rewards over calls. Does not allocate after construction.
class TuningReward {
 public:
  static constexpr int kMostWindow = 1000;
  static constexpr std::size_t kTailCalls = 100;
  static constexpr std::size_t kLeastTailCalls = 20;

  explicit TuningReward(const RewardOptions& options);

  /// Forgets everything, for a new episode.
  void start();
  [[nodiscard]] double reward(const RewardInput& input);

 private:
  /// The last values of each class of calls.
  class ClassWindows {
   public:
    /// No memory if `size` is 0.
    explicit ClassWindows(std::size_t size);
    void start();
    void add(std::size_t call_class, double value);
    /// Values in the order of their ring buffer.
    [[nodiscard]] std::span<const double> values(std::size_t call_class) const;

   private:
    std::size_t size_;
    std::vector<double> values_;        ///< [kCallClasses x size]
    std::vector<std::uint64_t> count_;  ///< by class
  };

  [[nodiscard]] double call_reward(const RewardInput& input);
  [[nodiscard]] double rolling(const RewardInput& input);
  [[nodiscard]] double tail(const RewardInput& input);
  [[nodiscard]] double alpha_beta(const RewardInput& input) const;
  [[nodiscard]] double step_reward(const RewardInput& input);

  RewardOptions options_;
  bool in_us_;           ///< true if rewards are times, false if they are logarithms
  ClassWindows recent_;  ///< log speedups
  ClassWindows times_;   ///< time / typical time
  std::vector<double> sorted_;
  IterationClock chosen_;
  IterationClock reference_;
};

}  // namespace cclgym
