// A job whose ranks are processes that load the plugin and call it as NCCL does, on a made-up
// machine.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deploy/nccl_plugin/nccl_profiler_abi.h"
#include "deploy/nccl_plugin/nccl_tuner_abi.h"

namespace cclgym::test {

inline constexpr std::size_t kPlayedConfigs =
    std::size_t{CCLGYM_NCCL_ALGORITHMS} * CCLGYM_NCCL_PROTOCOLS;
using PlayedTimes = std::array<float, kPlayedConfigs>;  ///< us; negative: impossible

struct PlayedCall {
  int collective = CCLGYM_NCCL_ALLREDUCE;
  std::size_t bytes = 0;
  PlayedTimes predicted_us{};  ///< NCCL's cost table
  PlayedTimes real_us{};
  bool made = true;  ///< false: NCCL only asks
};

struct PlayedJob {
  int ranks = 4;
  std::uint64_t calls = 0;
  /// Call number of a rank.
  std::function<PlayedCall(int rank, std::uint64_t call)> call{};
  /// Environment of the ranks.
  std::vector<std::pair<std::string, std::string>> variables{};
  int killed = -1;  ///< rank that is killed before call `killed_at`
  std::uint64_t killed_at = 0;
  bool has_profiler = true;
  int tuners_per_process = 1;  ///< more: further ranks of the communicator, which only exist
  /// True: the outcome does not depend on the speed of the machine. Every few calls the ranks wait
  /// until the leader has learned from all calls before, and the ranks have decided on what
  /// follows. The loop's clock advances by 10 ms per call, and when the ranks that live have
  /// nothing to wait for but one that was killed. The plugin's tables are those that are linked
  /// into this program. False: the ranks load the plugin, as NCCL does.
  bool paced = false;
  /// Number of lines for which a rank waits after its last call.
  std::function<std::size_t(int rank)> lines = [](int) { return std::size_t{0}; };
};

/// Tuner and profiler of one rank, by the plugin's newest tables. Lines of the log go to log().
class PlayedRank {
 public:
  /// `linked`: PlayedJob::paced.
  PlayedRank(int rank, int ranks, bool has_profiler, bool linked);
  ~PlayedRank();
  PlayedRank(const PlayedRank&) = delete;
  PlayedRank& operator=(const PlayedRank&) = delete;

  /// NCCL's choice (an index of the table) after the tuner's answer.
  [[nodiscard]] std::size_t ask(const PlayedCall& call, int* channels = nullptr,
                                PlayedTimes* table = nullptr) const;
  /// Makes the call: NCCL's events.
  void make(const PlayedCall& call, std::size_t config, double time_us);
  [[nodiscard]] void* tuner() const { return tuner_; }
  [[nodiscard]] int mask() const { return mask_; }

 private:
  std::size_t ranks_;
  void* library_ = nullptr;
  const cclgym_nccl_tuner_v6* tuner_table_;
  const cclgym_nccl_profiler* profiler_table_;
  void* tuner_ = nullptr;
  void* profiler_ = nullptr;
  int mask_ = -1;
  std::array<std::uint64_t, 5> sequences_{};
};

/// Lines of this process's log so far.
[[nodiscard]] std::vector<std::string> played_log();

struct PlayedResult {
  /// By rank and call: NCCL's choice, as an index of the table.
  std::vector<std::vector<std::uint8_t>> used;
  std::vector<std::vector<std::uint8_t>> channels;
  std::vector<std::vector<std::string>> log;  ///< by rank
  std::vector<long> allocations;              ///< by rank: questions during which it allocated
  /// By rank: threads, and open files, that the plugin has added after the first calls.
  std::vector<long> threads;
  std::vector<long> files;
  std::vector<int> status;  ///< by rank: how its process ended, as waitpid gives it
};
/// Plays the job to its end.
[[nodiscard]] PlayedResult play(const PlayedJob& job);

/// "127.0.0.1:PORT" with a port that is free now.
[[nodiscard]] std::string free_rendezvous();

}  // namespace cclgym::test
