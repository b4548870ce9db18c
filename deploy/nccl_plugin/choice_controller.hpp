// The leader's part of the closed loop in NCCL's plugin: measured collectives go in, tables of
// choices come out.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deploy/loop/loop_group.hpp"
#include "deploy/loop/table_learner.hpp"
#include "deploy/nccl_plugin/loop_table.hpp"

namespace cclgym {

/// A class of calls about which NCCL has asked for the first time.
struct AskedClass {
  std::uint16_t number = 0;
  /// Choice without the loop: the policy's first that NCCL allows, or NCCL's own. An index of
  /// `predicted_us`.
  std::uint8_t config = 0;
  /// NCCL's predicted times by algorithm and protocol; negative: impossible.
  std::array<float, kLoopConfigs> predicted_us{};
  /// Channels of each configuration, as the policy says; 0: NCCL's choice.
  std::array<std::uint8_t, kLoopConfigs> channels{};
};

/// A collective as a rank's profiler measured it.
struct MeasuredCollective {
  std::uint64_t sequence = 0;  ///< counted per collective, equal on all ranks
  std::uint16_t number = 0;    ///< number of the class
  std::uint8_t config = 0;
  double time_s = 0;
  std::uint64_t received_bytes = 0;  ///< 0: not counted
};
[[nodiscard]] CallReport to_report(const MeasuredCollective& measured);
[[nodiscard]] MeasuredCollective from_report(const CallReport& report);

/// Options of the learner in NCCL's plugin, all set by hand. NCCL's predictions are less certain
/// than measured sweeps: for the defaults that users report as mis-tuned, they are wrong by a
/// factor of 2 or more.
[[nodiscard]] LearnerOptions plugin_learner_options();

/// Joins the ranks' reports of a collective, by collective and sequence number, teaches the
/// learner, and proposes its tables. Where no rank can finish before all have begun (AllGather,
/// ReduceScatter, AllReduce), the time is that of the fastest rank: the others waited for the last
/// one to begin. Otherwise it is that of the slowest. Of a tree, only the root's time is that of
/// the call (call_time.hpp), and the root waits as well: the time is the slowest rank's, the least
/// of the last nine calls of the class with this configuration; the first eight teach nothing.
class ChoiceController {
 public:
  /// `group` is the leader's; its first table is empty.
  ChoiceController(LoopGroup& group, std::int32_t ranks,
                   const LearnerOptions& options = plugin_learner_options());

  /// Adds a class; once per class.
  void add(const AskedClass& asked);
  /// Takes the reports that have arrived. Call it every few milliseconds.
  void step();

  [[nodiscard]] const TableLearner& learner() const { return learner_; }
  /// Number of reports taken, and number of calls that all ranks have reported.
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  [[nodiscard]] std::uint64_t learned() const { return learned_; }
  /// True while the ranks have not decided on the learner's last change.
  [[nodiscard]] bool pending() const { return changed_; }
  /// Choices of the learner that differ from those without the loop.
  [[nodiscard]] std::vector<LoopChoice> choices() const;

 private:
  struct Joined {
    std::int32_t reports = 0;
    std::int32_t counted = 0;   ///< reports with bytes
    std::vector<bool> ranks{};  ///< that have reported
    bool mixed = false;         ///< the reports are not about the same call
    MeasuredCollective first{};
    double least_s = 0;
    double most_s = 0;
    double bytes = 0;
  };
  void join(const CallReport& report);
  void learn(const Joined& one);
  [[nodiscard]] std::optional<double> time_of(const Joined& one);  ///< none: not known yet
  void miss(const Joined& one);
  void propose();

  LoopGroup& group_;
  std::int32_t ranks_;
  TableLearner learner_;
  std::vector<AskedClass> classes_{};             ///< by the learner's numbers
  std::map<std::uint16_t, std::size_t> known_{};  ///< learner's number of a class
  std::array<std::map<std::uint64_t, Joined>, kNcclCollectiveNames.size()> joined_{};
  std::array<std::uint64_t, kNcclCollectiveNames.size()> newest_{};
  /// Times of the slowest rank in the last calls by a tree, by class and configuration.
  std::map<std::pair<std::uint16_t, std::uint8_t>, std::deque<double>> trees_{};
  int missed_ = 0;  ///< collectives in a row that some rank did not report
  std::uint64_t taken_ = 0;
  std::uint64_t learned_ = 0;
  std::map<std::uint32_t, std::string> proposed_;  ///< tables since the one in force
  bool changed_ = false;  ///< the learner's table may differ from the one in force
};

}  // namespace cclgym
