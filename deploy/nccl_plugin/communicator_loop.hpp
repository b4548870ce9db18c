// The closed loop of one communicator in NCCL's plugin (docs/closed-loop.md): the tuner and the
// profiler of a rank meet here.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "deploy/loop/bounded_queue.hpp"
#include "deploy/loop/loop_group.hpp"
#include "deploy/loop/network_counters.hpp"
#include "deploy/loop/rendezvous.hpp"
#include "deploy/nccl_plugin/choice_controller.hpp"
#include "deploy/nccl_plugin/kernel_times.hpp"
#include "deploy/nccl_plugin/loop_table.hpp"
#include "deploy/nccl_plugin/plugin_log.hpp"
#include "deploy/nccl_plugin/tuner_choices.hpp"

namespace cclgym {

/// True if CCLGYM_LOOP is set.
[[nodiscard]] bool loop_wanted();

/// NCCL asks by one thread at a time; the profiler's thread calls take(). The constructor and
/// add_*() do not wait for other ranks.
class CommunicatorLoop {
 public:
  /// The loop of a communicator of this process, which its tuner and its profiler share. The first
  /// caller makes it.
  [[nodiscard]] static std::shared_ptr<CommunicatorLoop> of(std::uint64_t communicator);
  explicit CommunicatorLoop(std::uint64_t communicator) : communicator_(communicator) {}
  ~CommunicatorLoop();
  CommunicatorLoop(const CommunicatorLoop&) = delete;
  CommunicatorLoop& operator=(const CommunicatorLoop&) = delete;

  /// The loop starts when both were called. It stays off, with a line in the log, if one is called
  /// twice (two ranks of the communicator in this process; false) or one is missing at the first
  /// ask.
  bool add_tuner(std::size_t ranks, const PluginLog& log) noexcept;
  bool add_profiler(const TimedCommunicator& own, const PluginLog& log) noexcept;

  /// Other limits than the usual ones, for the loop's start. Call it before add_*().
  void set_limits(const LoopOptions& limits, double most_meeting_s);
  /// Leader: number of the ranks' reports that it had taken when the ranks had last decided on all
  /// changes that follow from them.
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  /// State of the loop; nullopt before its start.
  [[nodiscard]] std::optional<LoopStatus> status() const;

  enum class Answer : std::uint8_t {
    None,   ///< the loop has no choice: policy, CSV or NCCL choose
    Taken,  ///< the choice is in the cost table
    Leave   ///< the table of this call is unknown: the call must be left to NCCL
  };
  /// Counts a question of NCCL's, and answers it from the present table. `choices` may be null;
  /// from it the leader takes what would be chosen without the loop. While tables do not change, it
  /// does not lock or allocate.
  [[nodiscard]] Answer ask(int collective, std::uint64_t bytes, int pipe_ops,
                           const CostTable& costs, const TunerChoices* choices,
                           int* channels) noexcept;

  /// KernelTimes::Taker: reports measured collectives; on the leader, learns and proposes.
  void take(std::span<const KernelTimes::Row> rows) noexcept;

 private:
  void start();
  [[nodiscard]] bool refuse_second() noexcept;
  void off(const std::string& reason) noexcept;
  [[nodiscard]] LoopMembers find_members(const std::atomic<bool>& ending);
  [[nodiscard]] std::optional<std::uint32_t> begin(LoopGroup& group, std::uint64_t key);
  void note_class(std::size_t number, std::span<const TunerChoice> wanted, const CostTable& costs);
  [[nodiscard]] std::optional<MeasuredCollective> measured(const KernelTimes::Row& row) const;
  void look_around(LoopGroup& group);

  std::uint64_t communicator_;
  std::mutex mutex_;  ///< guards up to group_
  PluginLog log_{};
  std::size_t tuner_ranks_ = 0;
  std::optional<TimedCommunicator> own_{};
  RendezvousPoint point_{};
  RendezvousOptions meeting_{};
  LoopOptions limits_{};
  std::shared_ptr<RendezvousServer> server_{};
  std::atomic<LoopGroup*> started_ = nullptr;  ///< group_, if calls are counted
  std::atomic<bool> off_ = false;              ///< calls are not counted
  std::atomic<bool> said_off_ = false;
  std::atomic<std::uint64_t> taken_ = 0;

  LoopClasses classes_;
  // Used by the thread that asks.
  bool lost_ = false;
  std::uint32_t number_ = 0;
  LoopTable table_;
  std::array<bool, kLoopClasses> noted_{};
  // Used by the profiler's thread.
  std::shared_ptr<const NetworkCounters> counters_{};
  std::uint64_t received_bytes_ = 0;  ///< at the last report
  bool said_connected_ = false;
  int ticks_ = 0;
  std::unique_ptr<BoundedQueue<AskedClass, 64>> asked_{};  ///< on the leader
  std::unique_ptr<LoopGroup> group_{};
  std::unique_ptr<ChoiceController> controller_{};  ///< on the leader
};

}  // namespace cclgym
