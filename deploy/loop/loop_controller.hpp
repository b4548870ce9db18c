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

/// Joins the ranks' reports of a call, teaches the learner, and proposes its tables. The key of a
/// call is the number of its class.
class LoopController {
 public:
  /// `group` is the leader's. Its first table must be table_text(learner.table()).
  LoopController(LoopGroup& group, std::int32_t ranks, TableLearner learner);

  /// Takes the reports that have arrived. Call it every few milliseconds.
  void step();

  [[nodiscard]] const TableLearner& learner() const { return learner_; }
  /// Calls at which an alarm was raised, by their number.
  [[nodiscard]] const std::vector<std::uint64_t>& alarms() const { return alarms_; }
  [[nodiscard]] std::uint64_t proposals() const { return proposals_; }

 private:
  struct Joined {
    std::int32_t reports = 0;
    LearnerCall call{};
    std::uint32_t table = 0;
  };
  void join(const CallReport& report);
  void propose();

  LoopGroup& group_;
  std::int32_t ranks_;
  TableLearner learner_;
  std::map<std::uint64_t, Joined> joined_;  ///< by call
  std::map<std::uint32_t, std::vector<std::uint16_t>> tables_;
  std::uint64_t newest_ = 0;  ///< call
  std::vector<std::uint64_t> alarms_;
  std::uint64_t proposals_ = 0;
};

}  // namespace cclgym
