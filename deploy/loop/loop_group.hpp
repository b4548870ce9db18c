// The closed loop on one rank of a communicator: tables that change at the same call on all ranks,
// and reports of measured calls to the leader (docs/closed-loop.md).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/random.hpp"
#include "deploy/agreement/member.hpp"
#include "deploy/loop/bounded_queue.hpp"
#include "deploy/loop/call_history.hpp"
#include "deploy/loop/rank_links.hpp"

namespace cclgym {

/// A call as one rank measured it.
struct CallReport {
  std::uint64_t call = 0;  ///< number of the call
  std::uint64_t key = 0;   ///< class of the call, as in begin_call()
  std::uint32_t table = 0;
  std::int32_t rank = 0;  ///< set by report()
  double time_s = 0;
  /// Counts of the node's network interfaces during the call; 0: nothing was counted.
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_packets = 0;
  std::uint64_t received_packets = 0;
};

struct LoopOptions {
  double most_wait_s = 10;  ///< a call that waits longer for a verdict is not made
  double overdue_s = 0.05;  ///< after this wait, a rank asks for the verdict itself
  double drop_s = 0.5;      ///< the leader drops a proposal that is not answered
  /// Clock of these limits, s; several threads read it. Empty: the system's. Messages and their
  /// repetition always follow the system's.
  std::function<double()> clock{};
};

/// The ranks of a group, by rank, and the socket at which this rank's address listens.
struct LoopMembers {
  std::vector<RankAddress> addresses{};
  std::uint64_t token = 0;  ///< equal on all ranks
  ListeningSocket listener{};
};

/// Finds the other ranks; may take its time. Throws UserError if they do not come. `ending` becomes
/// true when the group is no longer wanted; the result is then ignored, and so is an error.
using FindMembers = std::function<LoopMembers(const std::atomic<bool>& ending)>;

/// Events so far, on this rank.
struct LoopStatus {
  bool connected = false;  ///< the addresses of the other ranks are known
  std::uint64_t calls = 0;
  std::uint32_t table = 0;      ///< table of the last call
  std::uint64_t changes = 0;    ///< changes of tables that this rank has carried out
  std::uint32_t committed = 0;  ///< leader: newest table that is known to be decided
  std::uint64_t dropped = 0;    ///< leader: proposals that were aborted
  std::size_t answered = 0;     ///< leader: ranks that have answered the newest proposal
  std::uint64_t waits = 0;      ///< calls that waited for a verdict
  double longest_wait_s = 0;
  std::string off{};  ///< reason why tables do not change any more; empty: they do
};

/// begin_call() belongs to the thread that makes the communicator's calls; the others may be called
/// from any thread. A thread of the object speaks with the other ranks.
class LoopGroup {
 public:
  /// Table 0 is `first`, which must be the same on all ranks. Throws UserError if the system gives
  /// no socket or thread.
  LoopGroup(std::int32_t rank, std::vector<RankAddress> addresses, std::uint64_t token,
            ListeningSocket listener, std::string first, const LoopOptions& options = {});
  /// The same, but the object's thread finds the other ranks first. Calls are counted from the
  /// start, with table 0; proposals begin when the ranks are known. If they do not come, changes
  /// are off. Throws std::system_error if the system gives no thread.
  LoopGroup(std::int32_t rank, std::int32_t ranks, FindMembers find, std::string first,
            const LoopOptions& options = {});
  ~LoopGroup();
  LoopGroup(const LoopGroup&) = delete;
  LoopGroup& operator=(const LoopGroup&) = delete;

  /// Counts the next call, whose class is `key`, and gives the number of its table. Without a
  /// change it does not wait, lock or allocate. nullopt if there was no verdict within most_wait_s:
  /// this rank must not make the call, since others may use another table.
  [[nodiscard]] std::optional<std::uint32_t> begin_call(std::uint64_t key);
  /// Content of a table that begin_call() gave; it stays until the next call of begin_call().
  [[nodiscard]] const std::string& table(std::uint32_t number) const;

  /// Sends a measured call to the leader, later. Does not wait; drops the report if too many wait.
  void report(const CallReport& call);
  /// Sends the reports now, instead of within 20 ms. Does not wait for other ranks.
  void send_now();

  /// Leader: proposes that calls use this table, from the call `ahead` calls after the next one on;
  /// 0: after as many calls as are made until all ranks can have promised. Returns the number of
  /// the table; nullopt if the change before has no verdict yet, or if the mechanism is off.
  std::optional<std::uint32_t> propose(std::string table, std::uint64_t ahead = 0);
  /// Leader: true if no proposal waits for its verdict.
  [[nodiscard]] bool settled() const;
  /// Leader: moves the reports that arrived to the end of `reports`.
  void take_reports(std::vector<CallReport>& reports);

  /// Switches changes off for all ranks, e.g. because calls are not counted alike: the present
  /// table stays, on all ranks.
  void switch_off(const std::string& reason);
  [[nodiscard]] LoopStatus status() const;

 private:
  using Clock = RankLinks::Clock;
  struct Outgoing {
    Frame frame;
    RankLinks::Way way = RankLinks::Way::Tree;
  };

  [[nodiscard]] std::optional<std::uint32_t> wait_for_verdict();
  void find_members(const FindMembers& find);
  void run();
  void wake();
  void handle(Frame& frame);
  void handle_agreement(Frame& frame);
  void send_reports();
  void lead();
  [[nodiscard]] std::uint64_t calls_until_promised() const;
  void notice_verdict();
  void queue(FrameKind kind, std::int32_t target, std::string payload,
             RankLinks::Way way = RankLinks::Way::Tree);
  void queue_all(std::vector<AgreementMessage>& messages, RankLinks::Way way);
  void stay(const std::string& reason);
  [[nodiscard]] CallMark mark() const;
  [[nodiscard]] double now_s() const;
  [[nodiscard]] std::string table_payload(std::uint32_t number) const;

  std::int32_t rank_;
  std::int32_t ranks_;
  LoopOptions options_;
  CallHistory history_;
  mutable std::mutex mutex_;  ///< guards all that follows up to links_, except pass()
  std::condition_variable changed_;
  AgreementMember member_;
  std::map<std::uint32_t, std::string> tables_;
  std::uint32_t newest_table_ = 0;
  std::deque<Frame> deferred_{};  ///< proposals whose mark this rank has not reached
  std::vector<Outgoing> outgoing_{};
  std::vector<CallReport> arrived_{};
  LoopStatus status_{};
  Random random_;
  bool proposing_ = false;  ///< leader: a proposal has no verdict yet
  double started_s_ = now_s();
  double proposed_s_ = 0;
  Clock::time_point remind_at_{};
  double remind_pause_s_ = 0;     ///< grows: a new ballot overtakes the one before
  std::vector<bool> answered_{};  ///< leader: ranks that hold or refuse the proposal
  int unanswered_ = 0;            ///< proposals in a row that some rank did not answer
  std::atomic<bool> ending_ = false;
  BoundedQueue<CallReport, 4096> reports_;
  /// Set once, with a lock; null until the ranks are known. Used by the thread, except wake().
  std::unique_ptr<RankLinks> links_{};
  std::thread thread_;
};

}  // namespace cclgym
