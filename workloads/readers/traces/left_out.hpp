// Communication of traces that a job cannot make as calls: it keeps its measured duration.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/graph/job_graph.hpp"

namespace cclgym {

/// Collects communication that is left out of the calls of a job, by reason, and its share of the
/// time of its traces.
class LeftOutCalls {
 public:
  /// Makes the operation of this program time of its own: a computation of its measured duration
  /// that counts as communication.
  void leave_out(JobOp& op, const std::string& file, std::string_view name,
                 const std::string& reason);
  /// Time of all communication in the traces, and of all steps if it is known, s: the whole of the
  /// shares.
  void add_communication(double seconds) { communication_s_ += seconds; }
  void add_step(double seconds) { step_s_ += seconds; }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// One note per reason, the one with the most time first; `word` is JobGraph::origin_word.
  [[nodiscard]] std::vector<std::string> notes(std::string_view word) const;

 private:
  struct Row {
    std::string reason{};
    std::string file{};
    std::string name{};
    std::int64_t origin = 0;  ///< JobOp::origin of the first one
    std::int64_t count = 0;
    double seconds = 0;
  };
  std::vector<Row> rows_;
  std::map<std::string, std::size_t, std::less<>> row_of_;  ///< by reason
  double communication_s_ = 0;
  double step_s_ = 0;
};

/// Leaves out calls and messages that other members of their groups do not make: ranks were traced
/// for different times, or their traces describe different calls. Calls of a group are matched in
/// their order by collective, root and size (but for AllToAll, whose parts may differ); of several
/// matches, one with the most calls. check_job() finds no call without counterpart afterwards.
void leave_out_unmatched_calls(JobGraph& job, LeftOutCalls& left_out);

}  // namespace cclgym
