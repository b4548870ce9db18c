// The link between ranks by MPI: a library of its own, which launch.cpp loads.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mpi.h>
#include <mutex>
#include <unistd.h>
#include <vector>

#include "core/ranks/rank_link.hpp"

namespace cclgym {

namespace {

constexpr int kTag = 1;

struct Sending {
  std::string message;
  MPI_Request request = MPI_REQUEST_NULL;
};

// RankInfo in a form that MPI can gather.
struct PlainInfo {
  std::array<char, 64> machine{};
  int leader = 0;
  cpu_set_t cores{};
  RankStart start{};
};

class MpiLink : public RankLink {
 public:
  explicit MpiLink(const RankStart& start) {
    // A thread of rank 0 sends signs of life; `mutex_` keeps it out while another one is in MPI.
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rank_ = static_cast<std::size_t>(rank);
    several_threads_ = provided >= MPI_THREAD_SERIALIZED;
    signs_.resize(static_cast<std::size_t>(size));
    PlainInfo own;
    ::gethostname(own.machine.data(), own.machine.size() - 1);
    own.leader = leader_of_node(rank);
    own.start = start;
    CPU_ZERO(&own.cores);
    ::sched_getaffinity(0, sizeof own.cores, &own.cores);
    std::vector<PlainInfo> all(static_cast<std::size_t>(size));
    MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD);
    for (const PlainInfo& info : all) {
      ranks_.push_back({.machine = info.machine.data(),
                        .leader = static_cast<std::size_t>(info.leader),
                        .cores = info.cores,
                        .start = info.start});
    }
  }

  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] const std::vector<RankInfo>& ranks() const override { return ranks_; }

  void send(std::size_t rank, std::string message) override {
    const std::lock_guard lock(mutex_);
    forget_sent();
    // The place of the message must not change before it is sent.
    sending_.push_back(std::make_unique<Sending>(Sending{std::move(message), MPI_REQUEST_NULL}));
    Sending& sending = *sending_.back();
    MPI_Isend(sending.message.data(), static_cast<int>(sending.message.size()), MPI_BYTE,
              static_cast<int>(rank), kTag, MPI_COMM_WORLD, &sending.request);
  }

  void send_sign(std::size_t rank, const std::string& message) override {
    if (!several_threads_) return;
    const std::lock_guard lock(mutex_);
    Sending& sign = signs_[rank];
    int done = 1;
    if (sign.request != MPI_REQUEST_NULL) MPI_Test(&sign.request, &done, MPI_STATUS_IGNORE);
    if (done == 0) return;
    sign.message = message;
    MPI_Isend(sign.message.data(), static_cast<int>(sign.message.size()), MPI_BYTE,
              static_cast<int>(rank), kTag, MPI_COMM_WORLD, &sign.request);
  }

  std::optional<std::pair<std::size_t, std::string>> receive() override {
    const std::lock_guard lock(mutex_);
    forget_sent();
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &found, &status);
    if (found == 0) return std::nullopt;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    std::string message(static_cast<std::size_t>(bytes), '\0');
    MPI_Recv(message.data(), bytes, MPI_BYTE, status.MPI_SOURCE, kTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return std::pair(static_cast<std::size_t>(status.MPI_SOURCE), std::move(message));
  }

  void finish() override {
    const std::lock_guard lock(mutex_);
    while (!sending_.empty()) {
      forget_sent();
      ::usleep(100);
    }
    for (Sending& sign : signs_) MPI_Wait(&sign.request, MPI_STATUS_IGNORE);
    MPI_Finalize();
  }

  [[noreturn]] void abort(int code) override {
    // Keeps the other thread out of MPI while it ends.
    const std::lock_guard lock(mutex_);
    MPI_Abort(MPI_COMM_WORLD, code);
    std::abort();
  }

 private:
  // First rank of the node, or of the group of CCLGYM_RANKS_PER_NODE ranks.
  static int leader_of_node(int rank) {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    int in_node = 0;
    MPI_Comm_rank(node, &in_node);
    const char* const text = std::getenv("CCLGYM_RANKS_PER_NODE");
    const int group_size = text == nullptr ? 0 : std::max(0, std::atoi(text));
    MPI_Comm group = MPI_COMM_NULL;
    MPI_Comm_split(node, group_size > 0 ? in_node / group_size : 0, rank, &group);
    int leader = rank;
    MPI_Bcast(&leader, 1, MPI_INT, 0, group);
    MPI_Comm_free(&group);
    MPI_Comm_free(&node);
    return leader;
  }

  void forget_sent() {
    std::erase_if(sending_, [](const std::unique_ptr<Sending>& sending) {
      int done = 0;
      MPI_Test(&sending->request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }

  std::mutex mutex_;
  bool several_threads_ = false;
  std::vector<Sending> signs_;  ///< by rank: the last sign of life
  std::size_t rank_ = 0;
  std::vector<RankInfo> ranks_;
  std::deque<std::unique_ptr<Sending>> sending_;
};

}  // namespace

}  // namespace cclgym

extern "C" cclgym::RankLink* cclgym_make_rank_link(const cclgym::RankStart& start) {
  return new cclgym::MpiLink(start);
}
