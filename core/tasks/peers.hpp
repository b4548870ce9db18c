// Groups of workers that a run hands its tasks to: the simulators of this process, or of the nodes
// of an MPI run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/tasks/task.hpp"
#include "core/tasks/task_host.hpp"

namespace cclgym {

struct PeerEvent {
  enum class Kind { Replies, Alive, Lost };
  std::size_t peer = 0;
  Kind kind = Kind::Alive;
  std::vector<TaskReply> replies{};
  std::string text{};  ///< reason of a loss
};

class Peers {
 public:
  Peers() = default;
  virtual ~Peers() = default;
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Number of workers of each peer.
  [[nodiscard]] virtual std::vector<std::size_t> workers() const = 0;
  /// Name of a peer for messages.
  [[nodiscard]] virtual std::string name(std::size_t peer) const = 0;
  virtual void send(std::size_t peer, std::vector<TaskOrder> tasks) = 0;
  /// Waits for events, for at most a second.
  [[nodiscard]] virtual std::vector<PeerEvent> wait() = 0;
};

/// The simulators that this process forks, as one peer.
class LocalPeers : public Peers {
 public:
  /// `common` is TaskSet::common.
  LocalPeers(const std::function<Task()>& make_task, const TaskHost::Setup& setup,
             const std::string& common);
  [[nodiscard]] std::vector<std::size_t> workers() const override { return {workers_}; }
  [[nodiscard]] std::string name(std::size_t /*peer*/) const override { return "this process"; }
  void send(std::size_t peer, std::vector<TaskOrder> tasks) override;
  [[nodiscard]] std::vector<PeerEvent> wait() override;

 private:
  std::size_t workers_;
  TaskHost host_;
};

}  // namespace cclgym
