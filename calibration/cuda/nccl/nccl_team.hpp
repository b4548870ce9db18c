// Ranks in threads of this process and of its peers, their communicators, and timed calls.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "calibration/cuda/cuda_device.hpp"
#include "calibration/cuda/nccl/nccl_library.hpp"
#include "calibration/cuda/nccl/team_peers.hpp"

namespace cclgym {

enum class TeamMode { Gpus, Copies, Shared };  ///< nccl_worker_options

struct TeamOptions {
  TeamMode mode = TeamMode::Gpus;
  int ranks = 2;       ///< number over all processes; 0: all GPUs
  std::string nccl;    ///< path of libnccl
  std::string tuner;   ///< path of the tuner plugin; empty: none
  std::string policy;  ///< policy file or CSV; empty: none
  std::size_t communicators = 24;
  /// Mode Copies: allow LL128 over sockets, where NCCL leaves it out.
  bool ll128_everywhere = false;
};

/// Properties for which a communicator is made.
struct TeamConfig {
  std::string algorithm = "default";  ///< "default", "policy" or a name of the tuner's CSV
  std::string protocol = "default";
  int channels = 0;
  friend bool operator==(const TeamConfig&, const TeamConfig&) = default;
};

struct TeamCall {
  std::string collective;
  std::uint64_t bytes = 0;  ///< size of the larger buffer
  bool in_place = false;
};

/// Receives the name of the work that is about to begin. A hanging library call can only be ended
/// with the process, by a watchdog (nccl_worker.cpp).
using Busy = std::function<void(const std::string& what)>;

/// Bytes of the calls that begin the timed ones; no call of a cell has so few.
inline constexpr std::uint64_t kStartBytes = 1;

class NcclTeam {
 public:
  /// Sets NCCL's environment variables, copies and opens the library, makes the ranks' streams.
  /// Throws UserError if the machine or the library does not support the options. With several
  /// processes, join() and run() are called by all of them with equal arguments.
  NcclTeam(TeamOptions options, TeamPeers& peers, Busy busy);
  ~NcclTeam();
  NcclTeam(const NcclTeam&) = delete;
  NcclTeam& operator=(const NcclTeam&) = delete;

  /// Numbers the ranks over all processes, once each has its team. Throws UserError if their number
  /// is not that of the options.
  void join();
  /// Runs a call `warmup` times, once to verify its result, `repeats` times timed one by one, and
  /// once more to verify its result. Throws CellRefused if the team cannot run it, or
  /// std::runtime_error if it failed or its result was wrong; then this process must end. With
  /// several processes, a call of one byte on another communicator is before each timed call on the
  /// stream, so that the ranks begin at almost the same time.
  [[nodiscard]] TeamTimes run(const TeamConfig& config, const TeamCall& call, int warmup,
                              int repeats);

  [[nodiscard]] const TeamOptions& options() const { return options_; }
  [[nodiscard]] const NcclVersion& version() const;
  /// Number of nodes that NCCL sees.
  [[nodiscard]] int nodes() const;
  /// Max channels of a communicator for which the thread blocks of all ranks run at once; 0: no
  /// limit, as each rank has its own GPU.
  [[nodiscard]] int most_channels() const;
  /// Path of rank 0's log, valid while the team exists.
  [[nodiscard]] const std::string& log_path() const { return log_path_; }

 private:
  struct Rank;
  struct Communicator;

  void set_environment();
  void open_libraries();
  void first_communicator_of_each_copy();
  void write_choices(const TeamConfig& config, const std::string& policy);
  [[nodiscard]] Communicator& communicator(const TeamConfig& config);
  [[nodiscard]] Communicator new_communicator(const TeamConfig& config);
  void destroy(const Communicator& communicator);
  [[nodiscard]] bool crowded();
  void destroy_oldest();
  void need_buffers(std::uint64_t bytes);
  /// Runs `work` in one thread per rank. Throws the exception of the first one that failed.
  void in_all_ranks(const std::function<void(std::size_t)>& work);
  [[nodiscard]] const NcclLibrary& library(std::size_t rank) const;
  void enqueue(std::size_t rank, ncclComm_t communicator, const TeamCall& call) const;
  void enqueue_start(std::size_t rank) const;
  void wait(std::size_t rank, ncclComm_t communicator) const;
  void checked_call(std::size_t local, ncclComm_t communicator, const TeamCall& call) const;

  class Meeting;

  TeamOptions options_;
  TeamPeers& peers_;
  Busy busy_;
  std::size_t first_rank_ = 0;  ///< number of this process's first rank
  std::filesystem::path folder_;
  std::string csv_path_;
  std::string log_path_;
  int sms_ = 0;
  std::vector<std::unique_ptr<NcclLibrary>> libraries_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::list<Communicator> communicators_;  ///< most recently used last
  std::unique_ptr<Communicator> starts_;   ///< several processes: its calls begin the timed ones
  std::unique_ptr<Meeting> meeting_;
};

}  // namespace cclgym
