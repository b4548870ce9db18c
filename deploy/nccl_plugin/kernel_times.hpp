// Kernel times of a communicator's collectives, from NCCL's profiler events, for a CSV and for the
// closed loop.
//
// Events come from NCCL's own threads, which must not wait: they claim a slot, record times and put
// the finished collective into a queue of fixed capacity. A thread of this object writes the file.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "deploy/loop/bounded_queue.hpp"
#include "deploy/nccl_plugin/nccl_profiler_abi.h"

namespace cclgym {

/// The communicator whose collectives are recorded, on one rank.
struct TimedCommunicator {
  std::uint64_t id = 0;  ///< equal on all ranks
  int rank = 0;
  int ranks = 0;
  int nodes = 0;
};

/// Path from a pattern: %r is the rank, %c the communicator (16 hex digits), %% a %.
[[nodiscard]] std::string times_path(std::string_view pattern, const TimedCommunicator& of);

/// The first line of the CSV.
inline constexpr std::string_view kTimesHeader =
    "communicator,rank,ranks,nodes,sequence,collective,bytes,algorithm,protocol,channels,warps,"
    "start_ns,time_us\n";

class KernelTimes {
 public:
  using Name = std::array<char, 20>;
  /// A collective whose kernels have ended. Names are in lower case.
  struct Row {
    std::uint64_t sequence = 0;  ///< counted per collective, equal on all ranks
    std::uint64_t bytes = 0;
    std::uint64_t start_ns = 0;
    std::uint64_t stop_ns = 0;
    Name collective{};
    Name algorithm{};
    Name protocol{};
    std::uint8_t channels = 0;
    std::uint8_t warps = 0;
  };
  /// Is given the collectives that have ended since, every few milliseconds; may be none.
  using Taker = std::function<void(std::span<const Row>)>;

  /// Opens the file for appending; an empty path: no file. Throws UserError "PATH: …" if it cannot
  /// be opened. The object's thread calls `taker`, if there is one, which must not throw.
  KernelTimes(const std::string& path, const TimedCommunicator& of, Taker taker = {});
  /// Writes the remaining rows.
  ~KernelTimes();
  KernelTimes(const KernelTimes&) = delete;
  KernelTimes& operator=(const KernelTimes&) = delete;

  // These may be called from any thread and do not wait. They return NCCL's handle; null if the
  // event is not recorded.
  [[nodiscard]] void* start_collective(const cclgym_nccl_collective_event& event) noexcept;
  [[nodiscard]] static void* start_channel(void* collective,
                                           const cclgym_nccl_kernel_channel_event& event) noexcept;
  /// `handle` is any handle that start_* returned; only the handle of a channel has an effect.
  static void stop_channel(void* handle, std::uint64_t stop_ns) noexcept;

  /// Number of collectives in the file or queued for it, and number dropped for lack of room.
  [[nodiscard]] std::uint64_t recorded() const { return recorded_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

  /// Maximum number of collectives with running kernels, and maximum number waiting to be written.
  static constexpr std::size_t kSlots = 1024;
  static constexpr std::size_t kWaiting = 8192;

 private:
  static constexpr std::size_t kChannels = 64;
  static constexpr std::size_t kTries = 16;
  struct Slot;
  /// First member of the objects behind NCCL's handles, for calls that pass no context.
  struct Handle {
    Slot* slot = nullptr;
    bool channel = false;
    std::atomic<bool> running{false};  ///< for a channel: started and not yet stopped
  };
  struct Slot {
    Handle self;
    KernelTimes* owner = nullptr;
    std::atomic<bool> busy{false};
    std::atomic<int> left{0};  ///< number of channels that have not stopped yet
    std::atomic<std::uint64_t> start_ns{0};
    std::atomic<std::uint64_t> stop_ns{0};
    Row row;
    std::array<Handle, kChannels> channels;
  };

  [[nodiscard]] static Name lower_name(const char* text) noexcept;
  void write_all();
  void write_rows();
  [[nodiscard]] bool open_file(const std::string& path);  ///< true if the file is new
  void write_text(std::string_view text) const;

  TimedCommunicator of_;
  Taker taker_;
  int file_ = -1;
  std::string prefix_;  ///< first fields of every line
  std::unique_ptr<Slot[]> slots_;
  BoundedQueue<Row, kWaiting> finished_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> recorded_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::mutex mutex_;  ///< guards ending_
  std::condition_variable ended_;
  bool ending_ = false;
  std::thread writer_;
};

}  // namespace cclgym
