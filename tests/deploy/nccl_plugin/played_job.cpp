#include "deploy/nccl_plugin/played_job.hpp"

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "core/random.hpp"
#include "deploy/nccl_plugin/communicator_loop.hpp"
#include "deploy/nccl_plugin/malloc_counter.hpp"
#include "deploy/nccl_plugin/nccl_names.hpp"
#include "deploy/played_clock.hpp"
#include "support/free_port.hpp"
#include "support/places.hpp"
#include "support/waiting.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names that NCCL looks for
extern "C" {
extern const cclgym_nccl_tuner_v6 ncclTunerPlugin_v6;
extern const cclgym_nccl_profiler ncclProfiler_v6;
}
// NOLINTEND(readability-identifier-naming)

namespace cclgym::test {

namespace {

constexpr std::uint64_t kCommunicator = 0xC0FFEE;
constexpr std::size_t kMostCalls = 40'000;
constexpr int kMostRanks = 8;
constexpr std::size_t kMostLines = 16;
constexpr std::uint64_t kApart = 4;
constexpr std::uint64_t kStride = 8;  // calls between two waits of a paced job
constexpr double kNoise = 0.03;
constexpr double kNever_s = 1e9;

// The memory that the processes share.
struct SharedRank {
  std::atomic<std::uint64_t> made;
  std::array<std::uint8_t, kMostCalls> used;
  std::array<std::uint8_t, kMostCalls> channels;
  std::array<std::array<char, 300>, kMostLines> lines;
  std::size_t line_count;
  long allocations;
  long threads;
  long files;
};
struct SharedJob {
  std::array<SharedRank, kMostRanks> ranks;
  std::atomic<std::uint64_t> learned;  ///< leader: reports from which it has learned
  std::atomic<bool> killed;            ///< PlayedJob::killed is gone
};

std::mutex played_mutex;
std::vector<std::string>& played_lines() {
  static std::vector<std::string> all;
  return all;
}

void play_line(int level, unsigned long /*flags*/, const char* /*file*/, int /*line*/,
               const char* format, ...) {
  char text[1000];
  va_list arguments;
  va_start(arguments, format);
  (void)std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::lock_guard lock(played_mutex);
  played_lines().push_back((level == CCLGYM_NCCL_LOG_WARN ? "WARN " : "INFO ") + std::string(text));
}

long entries_of(const char* folder) {
  const auto all = std::filesystem::directory_iterator(folder);
  return static_cast<long>(std::distance(begin(all), end(all)));
}
long count_threads() { return entries_of("/proc/self/task"); }
long count_files() { return entries_of("/proc/self/fd"); }

// Ranks wait for the slowest, so that they are at most kApart calls apart.
void keep_together(const SharedJob& shared, const PlayedJob& job, std::uint64_t call) {
  while (true) {
    std::uint64_t least = job.calls;
    for (int rank = 0; rank < job.ranks; ++rank) {
      least = std::min(least, shared.ranks[static_cast<std::size_t>(rank)].made.load());
    }
    if (call < least + kApart) return;
    ::usleep(50);
  }
}

bool is_killed(const PlayedJob& job, int rank, std::uint64_t call) {
  return rank == job.killed && call >= job.killed_at;
}

// Number of ranks that report a call.
std::uint64_t reports_of(const PlayedJob& job, std::uint64_t call) {
  std::uint64_t reports = 0;
  for (int rank = 0; rank < job.ranks; ++rank) {
    if (!is_killed(job, rank, call) && job.call(rank, call).made) ++reports;
  }
  return reports;
}

// The loop of a rank in a paced job, and its clock.
class Pace {
 public:
  Pace(SharedJob& shared, const PlayedJob& job, int rank)
      : shared_(shared), job_(job), rank_(rank), loop_(CommunicatorLoop::of(kCommunicator)) {
    loop_->set_limits(
        {.most_wait_s = kNever_s, .overdue_s = 0.05, .drop_s = 0.5, .clock = clock_.reader()},
        kNever_s);
    thread_ = std::thread([this] { watch(); });
  }
  ~Pace() {
    ending_ = true;
    thread_.join();
  }
  Pace(const Pace&) = delete;
  Pace& operator=(const Pace&) = delete;

  void before_call(std::uint64_t call) {
    if (call % kStride == 0) {
      while (shared_.learned < reports_ && !leader_is_gone()) ::usleep(50);
    }
    reports_ += reports_of(job_, call);
    clock_.advance(0.01);
  }

 private:
  [[nodiscard]] bool leader_is_gone() const { return shared_.killed && job_.killed == 0; }

  void watch() {
    while (!ending_) {
      if (rank_ == 0) shared_.learned = loop_->taken();
      if (time_passes()) clock_.advance(0.05);
      ::usleep(500);
    }
  }
  // True if only a rank that is gone could end a wait.
  [[nodiscard]] bool time_passes() const {
    if (!shared_.killed) return false;
    if (rank_ != 0) return leader_is_gone();
    const auto status = loop_->status();
    return status && status->answered + 1 >= static_cast<std::size_t>(job_.ranks);
  }

  SharedJob& shared_;
  const PlayedJob& job_;
  int rank_;
  PlayedClock clock_;
  std::shared_ptr<CommunicatorLoop> loop_;
  std::uint64_t reports_ = 0;  // reports of all ranks before the next call
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

void play_rank(SharedJob& shared, const PlayedJob& job, int rank) {
  SharedRank& own = shared.ranks[static_cast<std::size_t>(rank)];
  const long threads = count_threads();
  const long files = count_files();
  {
    std::optional<Pace> pace;
    if (job.paced) pace.emplace(shared, job, rank);
    PlayedRank played(rank, job.ranks, job.has_profiler, job.paced);
    std::vector<std::unique_ptr<PlayedRank>> others;
    for (int more = 1; more < job.tuners_per_process; ++more) {
      others.push_back(
          std::make_unique<PlayedRank>((rank + more) % job.ranks, job.ranks, true, job.paced));
    }
    for (std::uint64_t call = 0; call < job.calls; ++call) {
      if (pace) pace->before_call(call);
      if (rank == job.killed && call == job.killed_at) {
        shared.killed = true;
        own.made = job.calls;
        (void)::raise(SIGKILL);
      }
      keep_together(shared, job, call);
      const PlayedCall next = job.call(rank, call);
      int channels = 0;
      const long before = malloc_calls_of_this_thread();
      const std::size_t config = played.ask(next, &channels);
      own.allocations += malloc_calls_of_this_thread() != before ? 1 : 0;
      own.used[call] = static_cast<std::uint8_t>(config);
      own.channels[call] = static_cast<std::uint8_t>(channels);
      // All ranks but one begin early and wait in the kernel.
      Random random = Random::stream(call, {static_cast<std::uint64_t>(rank)});
      const bool last =
          call % static_cast<std::uint64_t>(job.ranks) == static_cast<std::uint64_t>(rank);
      const double waits_us = last ? 0 : random.exponential(200);
      if (next.made) {
        played.make(next, config, next.real_us[config] * (1 + random.normal(0, kNoise)) + waits_us);
      }
      own.made = call + 1;
      if (call == 100) {
        own.threads = count_threads() - threads;
        own.files = count_files() - files;
      }
    }
    (void)comes_true([&] { return played_log().size() >= job.lines(rank); });
  }
  for (const std::string& line : played_log()) {
    if (own.line_count == kMostLines) break;
    auto& text = own.lines[own.line_count++];
    std::strncpy(text.data(), line.c_str(), text.size() - 1);
  }
}

}  // namespace

std::vector<std::string> played_log() {
  const std::lock_guard lock(played_mutex);
  return played_lines();
}

PlayedRank::PlayedRank(int rank, int ranks, bool has_profiler, bool linked)
    : ranks_(static_cast<std::size_t>(ranks)),
      tuner_table_(&ncclTunerPlugin_v6),
      profiler_table_(&ncclProfiler_v6) {
  if (!linked) {
    library_ = ::dlopen(build_path("libnccl-tuner-cclgym.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(::dlerror());
    tuner_table_ =
        static_cast<const cclgym_nccl_tuner_v6*>(::dlsym(library_, "ncclTunerPlugin_v6"));
    profiler_table_ =
        static_cast<const cclgym_nccl_profiler*>(::dlsym(library_, "ncclProfiler_v6"));
  }
  if (has_profiler) {
    (void)profiler_table_->init(&profiler_, kCommunicator, &mask_, "played", 1, ranks, rank,
                                play_line);
  }
  cclgym_nccl_nvlink_domains domains{1, ranks, ranks};
  (void)tuner_table_->init(&tuner_, kCommunicator, static_cast<std::size_t>(ranks), 1, play_line,
                           &domains, nullptr);
}

PlayedRank::~PlayedRank() {
  (void)tuner_table_->finalize(tuner_);
  if (profiler_ != nullptr) (void)profiler_table_->finalize(profiler_);
  if (library_ != nullptr) ::dlclose(library_);
}

std::size_t PlayedRank::ask(const PlayedCall& call, int* channels, PlayedTimes* table) const {
  PlayedTimes costs = call.predicted_us;
  int none = 0;
  (void)tuner_table_->get_coll_info(
      tuner_, call.collective, call.bytes, 1, reinterpret_cast<float**>(costs.data()),
      CCLGYM_NCCL_ALGORITHMS, CCLGYM_NCCL_PROTOCOLS, 0, channels == nullptr ? &none : channels);
  if (table != nullptr) *table = costs;
  std::size_t best = kPlayedConfigs;
  for (std::size_t config = 0; config < kPlayedConfigs; ++config) {
    if (costs[config] >= 0 && (best == kPlayedConfigs || costs[config] < costs[best])) {
      best = config;
    }
  }
  return best;
}

void PlayedRank::make(const PlayedCall& call, std::size_t config, double time_us) {
  constexpr std::array kCollectives{"Broadcast", "Reduce", "AllGather", "ReduceScatter",
                                    "AllReduce"};
  constexpr std::array kAlgorithms{"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                   "NVLS_TREE", "PAT"};
  constexpr std::array kProtocols{"LL", "LL128", "SIMPLE"};
  if (profiler_ == nullptr) return;
  const auto collective = static_cast<std::size_t>(call.collective);
  cclgym_nccl_event event{};
  event.kind = CCLGYM_NCCL_EVENT_COLLECTIVE;
  event.collective.sequence = sequences_[collective]++;
  event.collective.collective = kCollectives[collective];
  // Elements of each rank.
  const bool divided =
      call.collective == CCLGYM_NCCL_ALLGATHER || call.collective == CCLGYM_NCCL_REDUCESCATTER;
  event.collective.count = divided ? call.bytes / ranks_ : call.bytes;
  event.collective.datatype = "ncclInt8";
  event.collective.channels = 1;
  event.collective.warps = 16;
  event.collective.algorithm = kAlgorithms[config / CCLGYM_NCCL_PROTOCOLS];
  event.collective.protocol = kProtocols[config % CCLGYM_NCCL_PROTOCOLS];
  void* handle = nullptr;
  (void)profiler_table_->start_event(profiler_, &handle, &event);
  event.kind = CCLGYM_NCCL_EVENT_KERNEL_CHANNEL;
  event.parent = handle;
  event.kernel_channel = {0, 1000};
  void* channel = nullptr;
  (void)profiler_table_->start_event(profiler_, &channel, &event);
  cclgym_nccl_event_state state{};
  state.kernel_channel.stop_ns = 1000 + static_cast<std::uint64_t>(time_us * 1000);
  (void)profiler_table_->record_event_state(channel, CCLGYM_NCCL_KERNEL_CHANNEL_STOP, &state);
  (void)profiler_table_->stop_event(channel);
  (void)profiler_table_->stop_event(handle);
}

PlayedResult play(const PlayedJob& job) {
  if (job.ranks > kMostRanks || job.calls > kMostCalls) throw std::runtime_error("a large job");
  void* memory =
      ::mmap(nullptr, sizeof(SharedJob), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  auto* shared = new (memory) SharedJob;
  std::vector<pid_t> children;
  for (int rank = 0; rank < job.ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (const auto& [name, value] : job.variables) ::setenv(name.c_str(), value.c_str(), 1);
      play_rank(*shared, job, rank);
      ::_exit(0);
    }
    children.push_back(child);
  }
  PlayedResult result;
  for (const pid_t child : children) {
    result.status.push_back(-1);
    if (child > 0) (void)::waitpid(child, &result.status.back(), 0);
  }
  for (int rank = 0; rank < job.ranks; ++rank) {
    const SharedRank& own = shared->ranks[static_cast<std::size_t>(rank)];
    const auto calls = static_cast<std::ptrdiff_t>(job.calls);
    result.used.emplace_back(own.used.begin(), own.used.begin() + calls);
    result.channels.emplace_back(own.channels.begin(), own.channels.begin() + calls);
    auto& log = result.log.emplace_back();
    for (std::size_t i = 0; i < own.line_count; ++i) log.emplace_back(own.lines[i].data());
    result.allocations.push_back(own.allocations);
    result.threads.push_back(own.threads);
    result.files.push_back(own.files);
  }
  ::munmap(memory, sizeof(SharedJob));
  return result;
}

std::string free_rendezvous() { return "127.0.0.1:" + std::to_string(free_port()); }

}  // namespace cclgym::test
