// The processes of a worker that a launcher has started on several nodes or GPUs.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "calibration/cuda/worker_lines.hpp"
#include "core/ranks/rank_link.hpp"

namespace cclgym {

/// Exchange of short texts between the processes. All processes call the same functions in the same
/// order. Waits without limit: a watchdog or the launcher ends a process whose peers have died.
class TeamPeers {
 public:
  /// A process alone.
  TeamPeers() = default;
  /// The processes of a link, which must outlive this object.
  explicit TeamPeers(RankLink& link);

  [[nodiscard]] std::size_t process() const { return process_; }
  [[nodiscard]] std::size_t processes() const { return processes_; }
  [[nodiscard]] bool first() const { return process_ == 0; }
  [[nodiscard]] bool alone() const { return processes_ == 1; }
  [[nodiscard]] int nodes() const { return nodes_; }
  /// Number of processes on the node of this one, and this one's number among them.
  [[nodiscard]] std::size_t on_node() const { return on_node_; }
  [[nodiscard]] std::size_t place_on_node() const { return place_on_node_; }

  /// The text of process 0, on all processes.
  [[nodiscard]] std::string from_first(const std::string& own);
  /// The texts of all processes in order, on all processes.
  [[nodiscard]] std::vector<std::string> of_all(const std::string& own);
  /// True if it is true on any process.
  [[nodiscard]] bool any(bool own);

 private:
  [[nodiscard]] std::string next_from(std::size_t process);

  RankLink* link_ = nullptr;
  std::size_t process_ = 0;
  std::size_t processes_ = 1;
  int nodes_ = 1;
  std::size_t on_node_ = 1;
  std::size_t place_on_node_ = 0;
  std::vector<std::deque<std::string>> inboxes_;  ///< by sender
};

/// Devices of a process: an equal share of those that it sees, or the only one, as launchers show
/// each process its own. Throws UserError if the share is not equal.
[[nodiscard]] std::vector<int> devices_of_process(int devices, const TeamPeers& peers);

/// The ranks of a team over its processes.
struct TeamSpan {
  std::size_t first = 0;  ///< number of this process's first rank
  std::size_t total = 0;  ///< number of ranks on all processes
};
[[nodiscard]] TeamSpan span_of_process(std::size_t own_ranks, TeamPeers& peers);

/// The error of the first process that has one, with its number, on all processes; empty if none
/// has. The own text is empty for no error.
[[nodiscard]] std::string shared_error(const std::string& own, TeamPeers& peers);

/// Times of a call, s, by repeat: of the slowest rank and of the fastest one.
struct TeamTimes {
  std::vector<double> longest_s;
  std::vector<double> shortest_s;
};
/// Times over the ranks of all processes; `own_s` are those of this process by rank and repeat.
[[nodiscard]] TeamTimes merged_times(const std::vector<std::vector<double>>& own_s,
                                     TeamPeers& peers);

/// serve() on process 0. Each request is measured by all processes; `measure` of the others returns
/// nothing of use, and may throw CellRefused where process 0 does. Returns the exit code when the
/// input of process 0 has ended. After an exit code other than 0 the other processes still wait.
int serve_together(TeamPeers& peers, std::istream& requests, std::ostream& answers,
                   const std::function<WorkerAnswer(const WorkerRequest&)>& measure);

}  // namespace cclgym
