// Tasks on the nodes of a run, as rank 0 sees them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ranks/host_channel.hpp"
#include "core/ranks/messages.hpp"
#include "core/ranks/rank_link.hpp"
#include "core/tasks/run_tasks.hpp"

namespace cclgym {

/// State of the host of a node.
struct RankNode {
  std::size_t leader = 0;  ///< rank that speaks for it
  std::string name;        ///< "rank 4 on node7"
  std::optional<Greeting> greeting{};
  bool lost = false;
  double heard_s = 0;
};

/// Gives the tasks of this process to the hosts of all nodes.
class RankPlace : public TaskPlace {
 public:
  RankPlace(RankLink& link, HostChannel& own_host);

  [[nodiscard]] std::size_t ranks() const override { return node_of_rank_.size(); }
  /// Tells the other ranks the timeout, waits until all hosts have the tasks, and returns: rank 0
  /// runs the command itself. Throws UserError if a host has another version or other tasks, and
  /// the error of a host that failed.
  void serve(const TaskSet& set, const TaskOptions& options) override;
  /// The nodes, after the begin of a round.
  [[nodiscard]] std::unique_ptr<Peers> peers(const TaskSet& set,
                                             const TaskOptions& options) override;

  /// A message with its node, except signs of life.
  struct Received {
    std::size_t node = 0;
    MessageKind kind = MessageKind::Alive;
    std::string parts;  ///< message after its kind; reason of the end with kind End
  };
  /// Messages that have arrived; kind End means that the node's host has ended. Waits for at most
  /// 1 ms.
  [[nodiscard]] std::vector<Received> receive();
  void send(std::size_t node, const std::string& message);
  [[nodiscard]] std::vector<RankNode>& nodes() { return nodes_; }
  [[nodiscard]] std::uint32_t round() const { return round_; }
  /// Silence in seconds after which a peer is thought lost; other threads may ask.
  [[nodiscard]] double peer_timeout_s() const { return peer_timeout_s_; }
  /// Tells all ranks that the run has ended. True if all answer; waits for a silent one as long as
  /// the tasks' options say.
  [[nodiscard]] bool end_ranks();

 private:
  void wait_for_hosts(const TaskSet& set);
  void settle_hello(const Received& received, const TaskSet& set);

  RankLink& link_;
  HostChannel& own_host_;
  std::vector<RankNode> nodes_;
  std::vector<std::size_t> node_of_rank_;
  Backoff backoff_;
  std::uint32_t round_ = 0;
  std::atomic<double> peer_timeout_s_{60};
  std::vector<char> ended_;  ///< by rank: true if it has answered the end
  double looked_s_ = 0;      ///< time of the last look whether the own host runs
  bool own_host_runs_ = true;
  bool own_end_told_ = false;
};

}  // namespace cclgym
