// Tests of the profiler plugin: events as NCCL's threads send them, and the resulting CSV.
#include "deploy/nccl_plugin/kernel_times.hpp"

#include <algorithm>
#include <atomic>
#include <set>
#include <sstream>
#include <thread>

#include "agents/export/deployed_times.hpp"
#include "core/error.hpp"
#include "deploy/nccl_plugin/tuner_testing.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

class Profiler {
 public:
  Profiler(const Plugin& plugin, int version, int rank = 3, std::uint64_t id = 0xabcd)
      : own_(*plugin.table<cclgym_nccl_profiler>("ncclProfiler_v" + std::to_string(version))) {
    status = own_.init(&context, id, &mask, "name", 2, 16, rank, record_line);
  }
  ~Profiler() { finalize(); }
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  void* start(cclgym_nccl_event event) {
    void* handle = &handle;
    CHECK(own_.start_event(context, &handle, &event) == 0);
    return handle;
  }
  void* start_collective(std::uint64_t sequence, const char* name, std::size_t count,
                         std::uint8_t channels, const char* datatype = "ncclFloat32") {
    cclgym_nccl_event event{};
    event.kind = CCLGYM_NCCL_EVENT_COLLECTIVE;
    event.collective = {sequence, name,     nullptr, nullptr, count,    0,
                        datatype, channels, 16,      "RING",  "SIMPLE", nullptr};
    return start(event);
  }
  void* start_channel(void* collective, std::uint8_t channel, std::uint64_t start_ns) {
    cclgym_nccl_event event{};
    event.kind = CCLGYM_NCCL_EVENT_KERNEL_CHANNEL;
    event.parent = collective;
    event.kernel_channel = {channel, start_ns};
    return start(event);
  }
  void stop_channel(void* handle, std::uint64_t stop_ns) const {
    cclgym_nccl_event_state state{};
    state.kernel_channel.stop_ns = stop_ns;
    CHECK(own_.record_event_state(handle, CCLGYM_NCCL_KERNEL_CHANNEL_STOP, &state) == 0);
    CHECK(own_.stop_event(handle) == 0);
  }
  void stop(void* handle) const { CHECK(own_.stop_event(handle) == 0); }
  [[nodiscard]] const cclgym_nccl_profiler& table() const { return own_; }
  void finalize() {
    CHECK(own_.finalize(context) == 0);
    context = nullptr;
  }

  void* context = nullptr;
  int mask = -1;
  int status = -1;

 private:
  cclgym_nccl_profiler own_;
};

std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream text(read_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("nothing is recorded unless a file is named", "[deploy][kernel-times]") {
  const Plugin plugin;
  clear_lines();
  Profiler off(plugin, 5);
  CHECK(off.status == 0);
  CHECK(off.mask == 0);
  CHECK(off.start_collective(1, "AllReduce", 4, 2) == nullptr);
  const Variable nowhere("CCLGYM_PROFILE", "/nonexistent/times.csv");
  Profiler unable(plugin, 6);
  CHECK(unable.status == 0);
  CHECK(unable.mask == 0);
  REQUIRE(recorded_lines().size() == 1);
  CHECK(recorded_lines()[0].find("/nonexistent/times.csv: No such file") != std::string::npos);
}

TEST_CASE("a collective takes from its first channel's start to its last one's end",
          "[deploy][kernel-times]") {
  const TemporaryFolder folder;
  const Variable file("CCLGYM_PROFILE", folder / "times-%r-%c-%%.csv");
  const Plugin plugin;
  for (const int version : {5, 6}) {
    Profiler profiler(plugin, version);
    CHECK(profiler.mask == (2 | 64));
    void* first = profiler.start_collective(7, "AllReduce", 1000, 2);
    profiler.stop(first);  // enqueued, but not done
    void* a = profiler.start_channel(first, 0, 5'000);
    void* b = profiler.start_channel(first, 1, 4'000);
    CHECK(profiler.start_channel(first, 1, 1) == nullptr);  // already running
    profiler.stop_channel(b, 7'000);
    profiler.stop_channel(b, 99'000);  // no longer running
    void* second = profiler.start_collective(8, "AllGather", 10, 1, "ncclBfloat16");
    profiler.stop_channel(profiler.start_channel(second, 5, 10), 1'010);
    profiler.stop_channel(a, 6'500);
    CHECK(profiler.start_channel(first, 0, 1) == nullptr);  // already done
    profiler.stop_channel(nullptr, 1);
    CHECK(profiler.start_collective(9, "AllReduce", 1, 0) == nullptr);
    cclgym_nccl_event other{};
    other.kind = 4;
    CHECK(profiler.start(other) == nullptr);
    clear_lines();
    profiler.finalize();
    REQUIRE(recorded_lines().size() == 1);
    CHECK(recorded_lines()[0].find("2 collectives, 0 more were dropped") != std::string::npos);
    const auto lines = lines_of(folder / "times-3-000000000000abcd-%.csv");
    REQUIRE(lines.size() == (version == 5 ? 3 : 5));
    CHECK(lines[0] + "\n" == kTimesHeader);
    const std::string who = "000000000000abcd,3,16,2,";
    CHECK(lines[1] == who + "8,allgather,320,ring,simple,1,16,10,1.000");
    CHECK(lines[2] == who + "7,allreduce,4000,ring,simple,2,16,4000,3.000");
  }
}

TEST_CASE("where there is no room collectives are dropped, and that is said",
          "[deploy][kernel-times]") {
  const TemporaryFolder folder;
  const Variable file("CCLGYM_PROFILE", folder / "times.csv");
  const Plugin plugin;
  Profiler profiler(plugin, 5);
  std::size_t refused = 0;
  std::vector<void*> running;
  for (std::uint64_t i = 0; i < KernelTimes::kSlots + 50; ++i) {
    void* handle = profiler.start_collective(i, "Reduce", 4, 1);
    refused += handle == nullptr ? 1 : 0;
    if (handle != nullptr) running.push_back(handle);
  }
  CHECK(refused == 50);
  for (void* handle : running) profiler.stop_channel(profiler.start_channel(handle, 0, 1), 2);
  CHECK(profiler.start_collective(1, "Reduce", 4, 1) != nullptr);
  clear_lines();
  profiler.finalize();
  CHECK(recorded_lines().at(0).starts_with("WARN "));
  const auto lines = lines_of(folder / "times.csv");
  CHECK(lines.size() == 1 + KernelTimes::kSlots + 1);
  CHECK(lines.back() == "# communicator 000000000000abcd, rank 3: 50 collectives were dropped");
}

TEST_CASE("many threads record at once", "[deploy][kernel-times]") {
  constexpr int kThreads = 16;
  constexpr std::uint64_t kEach = 400;
  const TemporaryFolder folder;
  const Variable file("CCLGYM_PROFILE", folder / "times.csv");
  const Plugin plugin;
  Profiler profiler(plugin, 6);
  std::atomic<std::uint64_t> refused{0};
  std::vector<std::thread> threads;
  std::atomic<int> phase{0};
  std::atomic<int> at{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      while (phase == 0) std::this_thread::yield();
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const std::uint64_t number = kEach * static_cast<std::uint64_t>(t) + i;
        // Catch2's checks are not thread-safe.
        const cclgym_nccl_profiler& table = profiler.table();
        cclgym_nccl_event event{};
        event.kind = CCLGYM_NCCL_EVENT_COLLECTIVE;
        event.collective = {number,     "AllReduce", nullptr, nullptr, number, 0,
                            "ncclInt8", 4,           16,      "TREE",  "LL",   nullptr};
        void* collective = nullptr;
        (void)table.start_event(profiler.context, &collective, &event);
        refused += collective == nullptr ? 1 : 0;
        for (std::uint8_t c = 0; c < 4; ++c) {
          event.kind = CCLGYM_NCCL_EVENT_KERNEL_CHANNEL;
          event.parent = collective;
          event.kernel_channel = {c, number + c};
          void* channel = nullptr;
          (void)table.start_event(profiler.context, &channel, &event);
          cclgym_nccl_event_state state{};
          state.kernel_channel.stop_ns = number + 1000 * (c + 1U);
          (void)table.record_event_state(channel, CCLGYM_NCCL_KERNEL_CHANNEL_STOP, &state);
        }
      }
      ++at;
      while (phase == 1) std::this_thread::yield();
    });
  }
  phase = 1;
  while (at < kThreads) std::this_thread::yield();
  phase = 2;
  for (std::thread& thread : threads) thread.join();
  profiler.finalize();
  const auto lines = lines_of(folder / "times.csv");
  std::set<std::string> seen;
  for (const std::string& line : lines) {
    if (line.find(",allreduce,") == std::string::npos) continue;
    CHECK(line.ends_with(",4.000"));
    CHECK(seen.insert(line).second);
  }
  CHECK(seen.size() + refused == kThreads * kEach);
}

TEST_CASE("recorded times are read back: of several ranks the longest", "[deploy][kernel-times]") {
  const std::string header(kTimesHeader);
  const std::string rows =
      "aa,0,8,1,1,allreduce,1048576,ring,simple,8,16,5,10.5\n"
      "aa,1,8,1,1,allreduce,1048576,ring,simple,8,16,5,12.5\n"
      "aa,0,8,1,2,allreduce,1100000,ring,simple,4,16,9,11\n"
      "# dropped\n"
      "bb,0,16,2,1,allreduce,1048576,ring,simple,8,16,5,99\n"
      "aa,0,8,1,3,allgather,1048576,nvls,simple,8,16,5,3\n";
  const RecordedTimes times(header + rows, "t", 8, 1);
  CHECK(times.calls() == 3);
  const auto found = times.of(4, 1048576, 1, 2);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == Approx(12.5e-6));
  CHECK(found[1] == Approx(11e-6));
  CHECK(times.of(4, 1048576, 0, 2).empty());
  CHECK(times.of(2, 1048577, 4, 2).size() == 1);
  const auto refusal = [&](const std::string& text) {
    try {
      (void)RecordedTimes(text, "t", 8, 1);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal("a,b\n").find("t:1: not a file of the profiler's times") == 0);
  CHECK(refusal(header + "aa,1\n").find("t:2: 2 columns; expected 13") == 0);
  CHECK(refusal(header + "aa,0,8,1,1,allreduce,1,ring,simple,8,16,5,-1\n").find("t:2: ") == 0);
  CHECK(refusal(header + "aa,0,8,1,1,sendrecv,1,ring,simple,8,16,5,1\n").find("t:2: ") == 0);
}

}  // namespace
}  // namespace cclgym::test
