#include "core/ranks/launch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "core/error.hpp"
#include "core/files/companion.hpp"
#include "core/files/standard_streams.hpp"
#include "core/hash.hpp"
#include "core/progress.hpp"
#include "core/ranks/host_channel.hpp"
#include "core/ranks/host_place.hpp"
#include "core/ranks/messages.hpp"
#include "core/ranks/rank_link.hpp"
#include "core/ranks/rank_place.hpp"

namespace cclgym {

namespace {

constexpr double kSignOfLife_s = 1;
constexpr int kWrongStart = 2;
constexpr const char* kLibrary = "libcclgym-ranks.so";

std::optional<std::size_t> number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  std::size_t number = 0;
  const std::string_view digits = text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

RankStart start_of(const std::vector<std::string>& args) {
  std::string all;
  for (const std::string& arg : args) all += arg + '\0';
  std::error_code error;
  return {.arguments = fnv1a(all),
          .directory = fnv1a(std::filesystem::current_path(error).string())};
}

// Message about a rank that was not started like rank 0; empty if there is none. Nodes may have
// their files in different folders; ranks of a node share a host, so they may not.
std::string start_fault(const std::vector<RankInfo>& ranks) {
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const RankInfo& info = ranks[rank];
    const RankInfo& leader = ranks[info.leader];
    if (info.start.arguments != ranks[0].start.arguments) {
      return fmt::format(
          "error: rank {} on {} was started with other arguments than rank 0; start the same "
          "command line on all ranks\n",
          rank, info.machine);
    }
    if (info.start.directory != leader.start.directory) {
      return fmt::format(
          "error: rank {} on {} was started in another folder than rank {}; start all ranks of a "
          "node in one folder\n",
          rank, info.machine, info.leader);
    }
  }
  return {};
}

std::unique_ptr<RankLink> load_link(const RankStart& start) {
  const std::string path = companion_file(kLibrary);
  // SimGrid, which the program links, has functions of the same names (MPI_Init, …): with
  // RTLD_DEEPBIND, the library and MPI find MPI's own before those.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == nullptr) {
    std::error_code error;
    const bool there = std::filesystem::exists(path, error);
    throw UserError(
        fmt::format("cannot run on several ranks: {}",
                    there ? ::dlerror() : "this cclgym was built without MPI (scripts/setup mpi)"));
  }
  auto* const make =
      reinterpret_cast<RankLink* (*)(const RankStart&)>(::dlsym(library, kMakeRankLink));
  if (make == nullptr) throw std::runtime_error(path + " has no " + kMakeRankLink);
  return std::unique_ptr<RankLink>(make(start));
}

// Watches rank 0, which may have been stopped, or whose network may have failed.
class LeaderWatch {
 public:
  void heard() { heard_s_ = steady_now_s(); }
  void set_timeout(double timeout_s) { timeout_s_ = timeout_s; }

  // Ends all ranks if rank 0 has been silent for too long. Later ranks wait a little longer, so
  // that one of them speaks.
  void check(RankLink& link) {
    const double now_s = steady_now_s();
    // If this process was stopped for a while, the silence is its own.
    if (now_s - checked_s_ > timeout_s_ / 4) heard_s_ = now_s;
    checked_s_ = now_s;
    const double more_s = std::min(0.1 * static_cast<double>(link.rank()), 10.0);
    if (timeout_s_ <= 0 || now_s - heard_s_ <= timeout_s_ + more_s) return;
    write_to_standard_error(
        fmt::format("error: rank 0 was silent for {:g} s; the same command resumes\n", timeout_s_));
    link.abort(kRankZeroLost);
  }

 private:
  static constexpr int kRankZeroLost = 70;
  double timeout_s_ = 0;  // until rank 0 says it, there is none
  double heard_s_ = steady_now_s();
  double checked_s_ = steady_now_s();
};

// Carries messages between rank 0 and the host of this node, until rank 0 sends the end. A rank
// that does not speak for its node has no host and only waits.
void be_courier(RankLink& link, HostChannel* host) {
  Backoff backoff;
  LeaderWatch leader;
  double sent_s = 0;
  bool end_told = false;
  while (true) {
    bool active = false;
    while (auto message = link.receive()) {
      leader.heard();
      std::string_view parts = message->second;
      const MessageKind kind = take_kind(parts);
      if (kind == MessageKind::End) {
        link.send(0, message_of(MessageKind::Bye));
        return;
      }
      if (kind == MessageKind::Alive) {
        leader.set_timeout(read_alive(parts));
        continue;
      }
      active = true;
      if (host != nullptr) host->send(message->second);
    }
    leader.check(link);
    if (host != nullptr) {
      for (std::string& message : host->receive()) {
        active = true;
        link.send(0, std::move(message));
        sent_s = steady_now_s();
      }
      if (!host->alive() && !end_told) {
        end_told = true;
        link.send(0, message_of(MessageKind::End) + host->reason());
      }
      if (steady_now_s() - sent_s > kSignOfLife_s) {
        // A node with a stopped host counts as silent.
        if (!host->alive() || host->runs()) link.send(0, message_of(MessageKind::Alive));
        sent_s = steady_now_s();
      }
    }
    if (active) backoff.reset();
    backoff.wait(host == nullptr ? -1 : host->file());
  }
}

// Thread of rank 0 that tells the others every second that it lives.
class SignsOfLife {
 public:
  SignsOfLife(RankLink& link, const RankPlace& place)
      : thread_([this, &link, &place](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          do {
            const std::string sign = alive_message(place.peer_timeout_s());
            for (std::size_t rank = 1; rank < link.ranks().size(); ++rank) {
              link.send_sign(rank, sign);
            }
          } while (!changed_.wait_for(lock, stop, std::chrono::duration<double>(kSignOfLife_s),
                                      [&stop] { return stop.stop_requested(); }));
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace

std::optional<LaunchedRank> launched_rank() {
  struct Launcher {
    const char* rank;
    const char* ranks;
  };
  constexpr std::array<Launcher, 4> kLaunchers{{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                {"PMI_RANK", "PMI_SIZE"},
                                                {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
                                                {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}}};
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = number_of(launcher.rank);
    const auto ranks = number_of(launcher.ranks);
    if (rank && ranks && *ranks > 1) return LaunchedRank{*rank, *ranks};
  }
  return std::nullopt;
}

std::unique_ptr<RankLink> open_rank_link(const std::vector<std::string>& args) {
  return load_link(start_of(args));
}

int run_on_ranks(const std::vector<std::string>& args,
                 const std::function<int(TaskPlace*)>& command) {
  // The host is forked before MPI starts: MPI does not support forks, and hosts fork simulators.
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  const pid_t courier = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    ::close(ends[0]);
    run_as_host(ends[1], courier, command);
  }
  ::close(ends[1]);
  HostChannel host(child, ends[0]);
  const std::unique_ptr<RankLink> link = open_rank_link(args);
  const std::size_t rank = link->rank();
  const std::size_t leader = link->ranks()[rank].leader;
  if (leader == rank) {
    std::vector<cpu_set_t> cores;
    for (const RankInfo& info : link->ranks()) {
      if (info.leader == rank) cores.push_back(info.cores);
    }
    host.send(start_message(cores));
  } else {
    host.end();
  }
  if (rank != 0) {
    be_courier(*link, leader == rank ? &host : nullptr);
    host.end();
    link->finish();
    return 0;
  }
  RankPlace place(*link, host);
  int code = 0;
  {
    const SignsOfLife signs(*link, place);
    const std::string fault = start_fault(link->ranks());
    if (fault.empty()) {
      code = command(&place);
    } else {
      write_to_standard_error(fault);
      code = kWrongStart;
    }
    host.end();
    // A rank that no longer answers would keep the others waiting in MPI_Finalize.
    if (!place.end_ranks()) {
      write_to_standard_error(
          "some ranks no longer answer, so MPI_Abort ends them; it does not change the results\n");
      link->abort(code);
    }
  }
  link->finish();
  return code;
}

}  // namespace cclgym
