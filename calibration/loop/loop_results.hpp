// Results of a loop: the agent's times against those of the other policies, and how soon changes of
// the machine were noticed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/loop/loop_run.hpp"
#include "calibration/validate/validation.hpp"

namespace cclgym {

/// The agent, or the trained policy, against another policy. Times are paired: every call was made
/// by each policy, one after the other.
struct LoopComparison {
  std::string subject{};  ///< kAgentLane or kPolicyLane
  std::string lane{};     ///< the other policy
  std::string state{};    ///< state of the machine; empty: the entire loop
  std::size_t calls = 0;
  /// Sum of the subject's times / sum of the other's, and the geometric mean of the ratios by call;
  /// 95 % intervals from resampled blocks of kBlockIterations iterations.
  PairedRatio total{};
  PairedRatio mean{};
};
/// Iterations that are resampled together, since neighbouring calls meet the same state.
inline constexpr std::int64_t kBlockIterations = 5;

/// How one lane's alarms fit the changes.
struct LoopDetection {
  std::string lane{};
  std::size_t changes = 0;
  std::size_t soon = 0;          ///< changes with an alarm within kSoonCalls calls of the lane
  std::vector<double> delays{};  ///< calls of the lane from a change to its first alarm, if any
  std::size_t false_alarms = 0;  ///< alarms other than the first after a change
  std::size_t calls = 0;
};
inline constexpr std::int64_t kSoonCalls = 20;

struct LoopResults {
  /// The agent's first; the entire loop first, for each lane.
  std::vector<LoopComparison> comparisons{};
  std::vector<LoopDetection> detections{};
  double seconds = 0;
  std::size_t late = 0;  ///< calls that a rank started late
};

/// Throws UserError if the record has no call of the agent with one of another policy.
[[nodiscard]] LoopResults loop_results(const LoopRecord& record, const std::string& start,
                                       std::uint64_t seed = 1);

/// Tables of the results.
[[nodiscard]] std::string loop_text(const LoopRecord& record, const LoopResults& results);
/// The same with plots over time, as a self-contained page. Equal inputs give equal bytes.
[[nodiscard]] std::string loop_html(const std::string& name, const LoopRecord& record,
                                    const LoopResults& results);

}  // namespace cclgym
