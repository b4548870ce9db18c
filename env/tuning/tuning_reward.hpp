// Rewards of a tuner.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "env/tuning/workload/workload.hpp"

namespace cclgym {

enum class RewardKind : std::uint8_t {
  LogSpeedup,    ///< ln(default time / time)
  NegativeTime,  ///< -time, us
  Rolling,       ///< LogSpeedup; its mean over the last W calls while the network is shared
  Tail,       ///< LogSpeedup minus weight * ln(p99 / median) of the last 100 calls' time / expected
  AlphaBeta,  ///< -time with SCCL's bonuses for few steps and little data, us
  StepTime,   ///< ln(default time / time) of an iteration at its end, else 0
};

struct RewardOptions {
  RewardKind kind = RewardKind::LogSpeedup;
  int window = 10;            ///< W of Rolling
  double tail_weight = 0.1;   ///< weight of Tail
  double alpha_weight = 0.1;  ///< lambda_alpha of AlphaBeta
  double beta_weight = 0.1;   ///< lambda_beta of AlphaBeta
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
  double default_s = 0;     ///< time of the default under the same conditions
  double expected_s = 0;    ///< time of the same configuration without noise
  int steps = 0;            ///< S of the configuration
  double alpha_s = 0;       ///< latency of a step
  double beta_s = -1;       ///< (R / C) L beta of the program; negative: not known
  double least_steps = 0;   ///< a_l: minimum number of steps of any program
  double least_beta_s = 0;  ///< b_l L: minimum time of any program to move its data
  bool shared_network = false;
  CallContext context{};
};

/// State of rewards over calls. Does not allocate after construction.
class TuningReward {
 public:
  static constexpr int kMostWindow = 1000;
  static constexpr std::size_t kTailCalls = 100;

  explicit TuningReward(const RewardOptions& options);

  /// Forgets everything, for a new episode.
  void start();
  [[nodiscard]] double reward(const RewardInput& input);

 private:
  [[nodiscard]] double rolling(double log_speedup, bool shared);
  [[nodiscard]] double tail(double ratio);
  [[nodiscard]] double alpha_beta(const RewardInput& input) const;
  [[nodiscard]] double step_time(const RewardInput& input);

  RewardOptions options_;
  std::vector<double> recent_;  ///< ring buffer of log speedups
  std::size_t recent_count_ = 0;
  std::array<double, kTailCalls> ratios_{};  ///< ring buffer of time / expected
  std::array<double, kTailCalls> sorted_{};
  std::size_t ratio_count_ = 0;
  /// Time reached by the compute and communication streams in the iteration, s.
  struct Streams {
    double compute_s = 0;
    double communication_s = 0;
    void call(const CallContext& context, double time_s);
    [[nodiscard]] double end_s() const;
  };
  Streams chosen_;
  Streams reference_;
};

}  // namespace cclgym
