// Choice of the tasks that each peer does next. It has no clock and no messages of its own, so that
// tests and simulations drive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace cclgym {

/// Hands out tasks 0 .. n - 1 in batches. A peer is a group of workers that take batches one by
/// one, such as the simulators of a node.
///
/// The few tasks that are so large that they could be the last to end go first, the largest before
/// all; the others follow in their order, so that neighbours, which share compiled programs, come
/// to one worker. Batches take about kBatch_s of work by the costs measured so far, but no more
/// than the remaining work divided by twice the number of workers.
class TaskDispatcher {
 public:
  /// Work in a batch: long beside the time of a message (about 0.1 ms), short beside the time
  /// between two updates of the progress. Set by hand.
  static constexpr double kBatch_s = 0.3;
  /// A task is large if it has more than this part of a worker's share of all work. Set by hand.
  static constexpr double kLargePart = 0.05;

  /// Max tasks in a batch, so that messages stay short.
  static constexpr std::size_t kMaxTasks = 4096;

  struct Batch {
    std::size_t peer = 0;
    std::vector<std::size_t> tasks;
  };

  /// `costs` are the estimated costs of the tasks, in any unit, positive.
  explicit TaskDispatcher(std::vector<double> costs);

  /// Adds a peer and returns its number: 0, 1, …
  std::size_t add_peer(std::size_t workers, double now_s);
  /// The next batch and the peer that gets it; nullopt if no peer should get more now.
  [[nodiscard]] std::optional<Batch> next();
  /// Reports the end of a task that took `seconds`. Returns false if it had ended already: a late
  /// duplicate from a peer that was thought lost. The result may come from any peer.
  bool finish(std::size_t task, double seconds);

  /// Reports a sign of life. A peer that was lost gets tasks again.
  void heard(std::size_t peer, double now_s);
  /// Hands the tasks of the peer out again, to others.
  void lose(std::size_t peer);
  /// Loses the peers that were last heard more than `timeout_s` ago, and returns them.
  std::vector<std::size_t> lose_silent(double now_s, double timeout_s);
  [[nodiscard]] bool is_lost(std::size_t peer) const { return peers_[peer].lost; }
  /// Number of peers that are not lost.
  [[nodiscard]] std::size_t peers_left() const { return ready_.size(); }

  /// Gives up the tasks `end`, end + 1, …: they need no result.
  void give_up_from(std::size_t end);
  /// True if all tasks that need a result have ended.
  [[nodiscard]] bool done() const { return left_ == 0; }

 private:
  enum class State : std::uint8_t { Waiting, HandedOut, Ended };
  struct Peer {
    std::size_t workers = 1;
    std::size_t batches = 0;  ///< handed out, not ended
    double heard_s = 0;
    bool lost = false;
  };
  struct BatchLeft {
    std::size_t peer = 0;
    std::size_t tasks = 0;
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  [[nodiscard]] double load(std::size_t peer) const;
  void set_batches(std::size_t peer, std::size_t batches);
  void order_tasks();
  [[nodiscard]] std::optional<std::size_t> first_waiting();
  void take_first(std::size_t task);

  std::vector<double> costs_;
  std::vector<State> states_;
  std::vector<std::size_t> batch_of_;  ///< index in batches_, or kNone
  std::vector<BatchLeft> batches_;
  std::vector<Peer> peers_;
  std::set<std::pair<double, std::size_t>> ready_;  ///< load and number of peers that are not lost
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;           ///< position in order_
  std::deque<std::size_t> again_;  ///< tasks of lost peers
  std::size_t workers_ = 0;        ///< workers of all peers that are not lost
  std::size_t waiting_ = 0;        ///< tasks that are not handed out
  double waiting_cost_ = 0;        ///< their cost
  std::size_t left_ = 0;           ///< tasks before end_ that have not ended
  std::size_t end_ = 0;            ///< tasks from here on need no result
  double measured_s_ = 0;          ///< recent work, with older work fading
  double measured_cost_ = 0;       ///< its estimated cost
};

}  // namespace cclgym
