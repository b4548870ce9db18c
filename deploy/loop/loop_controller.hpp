// The leader's part of the closed loop: measured calls go in, tables come out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "deploy/loop/loop_group.hpp"
#include "deploy/loop/table_learner.hpp"

namespace cclgym {

/// A table as the content that LoopGroup sends: the configuration of each class, 2 B each.
[[nodiscard]] std::string table_text(const std::vector<std::uint16_t>& table);
/// Reads table_text; empty if `classes` does not fit.
[[nodiscard]] std::vector<std::uint16_t> read_table(const std::string& text, std::size_t classes);

/// A call that all ranks reported, with the configuration of its table.
struct JoinedCall {
  std::uint64_t number = 0;
  LearnerCall call{};
};

/// Whoever makes the tables: a learner beside the leader, or another process. The key of a call is
/// the number of its class.
class LoopLeader {
 public:
  /// `group` is the leader's. `first` is its first table.
  LoopLeader(LoopGroup& group, std::int32_t ranks, std::vector<std::uint16_t> first);

  /// Calls whose reports have all arrived, in their order, each once. A call of which a report is
  /// missing is left out after a while.
  [[nodiscard]] std::vector<JoinedCall> take();
  /// Proposes a table unless it is the one that was decided last; to be repeated, since a proposal
  /// may have to wait for the one before, or be dropped.
  void offer(const std::vector<std::uint16_t>& table);

  [[nodiscard]] std::uint64_t proposals() const { return proposals_; }

 private:
  struct Joining {
    std::int32_t reports = 0;
    LearnerCall call{};
    std::uint32_t table = 0;
  };
  void join(const CallReport& report);

  LoopGroup& group_;
  std::int32_t ranks_;
  std::map<std::uint64_t, Joining> joining_{};  ///< by call
  std::map<std::uint32_t, std::vector<std::uint16_t>> tables_{};
  std::uint64_t newest_ = 0;  ///< call
  std::uint64_t proposals_ = 0;
};

/// Teaches the learner the joined reports of the ranks, and proposes its tables.
class LoopController {
 public:
  /// `group` is the leader's. Its first table must be table_text(learner.table()).
  LoopController(LoopGroup& group, std::int32_t ranks, TableLearner learner);

  /// Takes the reports that have arrived. Call it every few milliseconds.
  void step();

  [[nodiscard]] const TableLearner& learner() const { return learner_; }
  /// Number of calls from which the learner has learned.
  [[nodiscard]] std::uint64_t learned() const { return learned_; }
  /// Calls at which an alarm was raised, by their number.
  [[nodiscard]] const std::vector<std::uint64_t>& alarms() const { return alarms_; }
  [[nodiscard]] std::uint64_t proposals() const { return leader_.proposals(); }

 private:
  TableLearner learner_;
  LoopLeader leader_;
  std::uint64_t learned_ = 0;
  std::vector<std::uint64_t> alarms_;
};

}  // namespace cclgym
