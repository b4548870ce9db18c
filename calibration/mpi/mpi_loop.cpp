#include "calibration/mpi/mpi_loop.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "calibration/mpi/asked_tables.hpp"
#include "calibration/mpi/mpi_collective.hpp"
#include "core/random.hpp"
#include "deploy/loop/loop_controller.hpp"
#include "deploy/loop/network_counters.hpp"
#include "deploy/loop/own_address.hpp"

namespace cclgym {

namespace {

using nlohmann::json;

// Calls after which the ranks' clocks are compared again.
constexpr std::uint64_t kClockCalls = 2000;
constexpr std::size_t kRowsPerLine = 64;
constexpr std::chrono::milliseconds kControlTick{2};

struct LoopCall {
  std::unique_ptr<MpiCollective> collective;
  std::vector<MPI_Comm> comms;  ///< by configuration; null: never chosen
  std::vector<double> prior_s;  ///< by configuration
};

struct Lane {
  std::string name;
  bool closed = false;
  bool frozen = false;
  bool asks = false;
  std::vector<std::uint16_t> table;
  std::uint32_t number = 0;  ///< number of the table
  std::uint64_t calls = 0;
  std::unique_ptr<LoopGroup> group{};
  std::unique_ptr<LoopController> controller{};  ///< on rank 0, unless the lane asks
  std::unique_ptr<AskedTables> asked{};          ///< on rank 0, if it does
  std::vector<std::array<double, 2>> alarms{};   ///< call, s since the start
};

// Every rank's node: the first rank with the same name of the host.
std::vector<std::int32_t> nodes_of_ranks(MPI_Comm comm, int ranks) {
  constexpr std::size_t kName = MPI_MAX_PROCESSOR_NAME;
  std::array<char, kName> own{};
  int length = 0;
  MPI_Get_processor_name(own.data(), &length);
  std::vector<char> names(static_cast<std::size_t>(ranks) * kName);
  MPI_Allgather(own.data(), kName, MPI_CHAR, names.data(), kName, MPI_CHAR, comm);
  std::vector<std::int32_t> nodes;
  std::vector<std::string> known;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    known.emplace_back(&names[rank * kName]);
    const auto first = std::ranges::find(known, known.back());
    nodes.push_back(static_cast<std::int32_t>(first - known.begin()));
  }
  return nodes;
}

std::unique_ptr<LoopGroup> make_group(MPI_Comm comm, const std::string& interface,
                                      std::string first) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  ListeningSocket listener;
  struct Wire {
    std::array<char, 64> host{};
    std::uint16_t port = 0;
  } own;
  const std::string host = own_address(interface);
  std::ranges::copy(host.substr(0, own.host.size() - 1), own.host.begin());
  own.port = listener.port();
  std::vector<Wire> all(static_cast<std::size_t>(ranks));
  MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, comm);
  std::uint64_t token = std::random_device()();
  MPI_Bcast(&token, 1, MPI_UINT64_T, 0, comm);
  const std::vector<std::int32_t> nodes = nodes_of_ranks(comm, ranks);
  std::vector<RankAddress> addresses;
  for (std::size_t i = 0; i < all.size(); ++i) {
    addresses.push_back({all[i].host.data(), all[i].port, nodes[i]});
  }
  return std::make_unique<LoopGroup>(rank, std::move(addresses), token, std::move(listener),
                                     std::move(first));
}

LearnedTriggerParameters trigger_of(const json& trigger) {
  return {.sigma = trigger.at("sigma").get<double>(),
          .units = trigger.at("units").get<std::size_t>(),
          .threshold = trigger.at("threshold").get<double>(),
          .confirm = trigger.at("confirm").get<std::uint32_t>(),
          .pause = trigger.at("pause").get<std::uint32_t>(),
          .weights = trigger.at("weights").get<std::vector<double>>()};
}

class MpiLoop {
 public:
  MpiLoop(const json& request, ForcedCommunicators& forced, MPI_Comm control, StartClock& clock)
      : control_(control),
        clock_(clock),
        random_(Random::stream(request.value("seed", 1U), {})),
        seconds_(request.at("seconds").get<double>()),
        compute_us_(request.value("compute_us", 0U)) {
    MPI_Comm_rank(control_, &rank_);
    MPI_Comm_size(control_, &ranks_);
    if (request.contains("trigger")) trigger_ = trigger_of(request.at("trigger"));
    for (const json& call : request.at("calls")) add_call(call, forced);
    for (const json& lane : request.at("lanes")) add_lane(lane, request.value("interface", ""));
  }

  json run() {
    clock_.synchronise();
    std::thread control;
    begin_s_ = MPI_Wtime();
    if (rank_ == 0) {
      write_line(json{{"begun", true}});
      control = std::thread([this] { control_lanes(); });
    }
    try {
      play();
    } catch (...) {
      done_ = true;
      if (control.joinable()) control.join();
      throw;
    }
    done_ = true;
    if (control.joinable()) control.join();
    write_rows();
    return result();
  }

 private:
  void add_call(const json& call, ForcedCommunicators& forced) {
    const MpiCall made{.collective = call.at("collective").get<std::string>(),
                       .bytes = call.at("bytes").get<std::uint64_t>(),
                       .root = call.value("root", 0)};
    if (const std::string refusal = refusal_of(made, ranks_); !refusal.empty()) {
      throw std::runtime_error(refusal);
    }
    LoopCall one;
    one.collective = std::make_unique<MpiCollective>(made, control_);
    for (const json& config : call.at("configs")) {
      one.comms.push_back(forced.communicator({.collective = tuned_names().at(made.collective),
                                               .algorithm = config.at(0).get<int>(),
                                               .segment_bytes = config.at(1).get<int>()}));
      // The first call makes connections.
      one.collective->call(one.comms.back());
      if (!one.collective->right()) throw std::runtime_error("the result of a call is wrong");
    }
    for (const json& time_s : call.at("prior_s")) {
      one.prior_s.push_back(time_s.is_number() ? time_s.get<double>()
                                               : std::numeric_limits<double>::infinity());
    }
    calls_.push_back(std::move(one));
  }

  void add_lane(const json& lane, const std::string& interface) {
    Lane one{.name = lane.at("name").get<std::string>(),
             .closed = lane.value("closed", false),
             .frozen = lane.value("frozen", false),
             .asks = lane.value("asks", false),
             .table = lane.at("table").get<std::vector<std::uint16_t>>()};
    if (one.closed && one.asks) {
      one.group = make_group(control_, interface, table_text(one.table));
      if (rank_ == 0) one.asked = std::make_unique<AskedTables>(*one.group, ranks_, one.table);
    } else if (one.closed) {
      std::vector<std::vector<double>> prior_s;
      for (const LoopCall& call : calls_) prior_s.push_back(call.prior_s);
      TableLearner learner(prior_s, {.frozen = one.frozen, .learned = trigger_});
      one.table = learner.table();
      one.group = make_group(control_, interface, table_text(one.table));
      if (rank_ == 0) {
        one.controller = std::make_unique<LoopController>(*one.group, ranks_, std::move(learner));
      }
    }
    if (one.table.size() != calls_.size()) throw std::runtime_error("a table has another size");
    lanes_.push_back(std::move(one));
  }

  void note_alarms(Lane& lane, const std::vector<std::uint64_t>& alarms) const {
    while (lane.alarms.size() < alarms.size()) {
      lane.alarms.push_back(
          {static_cast<double>(alarms[lane.alarms.size()]), MPI_Wtime() - begin_s_});
    }
  }

  // The thread of rank 0 that runs the closed lanes' learners.
  void control_lanes() {
    while (!done_) {
      for (Lane& lane : lanes_) {
        if (lane.asked) {
          lane.asked->step();
          note_alarms(lane, lane.asked->alarms());
        }
        if (!lane.controller) continue;
        lane.controller->step();
        note_alarms(lane, lane.controller->alarms());
        const std::lock_guard lock(mutex_);
        state_ = lane.controller->learner().state();
      }
      std::this_thread::sleep_for(kControlTick);
    }
  }

  void play() {
    std::vector<std::size_t> order(lanes_.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::uint64_t iteration = 0;; ++iteration) {
      for (std::size_t call = 0; call < calls_.size(); ++call) {
        for (std::size_t i = order.size(); i > 1; --i) {
          std::swap(order[i - 1],
                    order[static_cast<std::size_t>(random_.integer(0, static_cast<int>(i) - 1))]);
        }
        for (const std::size_t lane : order) {
          if (!make_call(iteration, call, lane)) return;
        }
      }
    }
  }

  // False if the time is over, on all ranks alike.
  bool make_call(std::uint64_t iteration, std::size_t call, std::size_t number) {
    if (compute_us_ > 0) ::usleep(compute_us_);
    if (++made_ % kClockCalls == 0) clock_.synchronise();
    Lane& lane = lanes_[number];
    if (lane.group) renew_table(lane, call);
    const std::uint16_t config = lane.table[call];
    MPI_Comm comm = calls_[call].comms.at(config);
    const NetworkCount before = counters_.read();
    bool late = false;
    const double start_s = clock_.start_together(late);
    calls_[call].collective->call(comm);
    const double time_s = clock_.now_s() - start_s;
    const NetworkCount after = counters_.read();
    const double received = static_cast<double>(after.received_bytes - before.received_bytes);
    if (lane.group) {
      lane.group->report({.call = lane.calls,
                          .key = call,
                          .table = lane.number,
                          .time_s = time_s,
                          .sent_bytes = after.sent_bytes - before.sent_bytes,
                          .received_bytes = after.received_bytes - before.received_bytes,
                          .sent_packets = after.sent_packets - before.sent_packets,
                          .received_packets = after.received_packets - before.received_packets});
    }
    ++lane.calls;
    // The rows, which are for the comparison only; the learner has the ranks' reports.
    const bool over = rank_ == 0 && MPI_Wtime() - begin_s_ > seconds_;
    const std::array<double, 4> own{time_s, late ? 1.0 : 0.0, over ? 1.0 : 0.0, received};
    std::array<double, 4> all{};
    MPI_Allreduce(own.data(), all.data(), 3, MPI_DOUBLE, MPI_MAX, control_);
    MPI_Reduce(&own[3], &all[3], 1, MPI_DOUBLE, MPI_SUM, 0, control_);
    clock_.adapt(all[1] > 0);
    if (rank_ == 0) add_row(iteration, call, number, config, all);
    return all[2] == 0;
  }

  void renew_table(Lane& lane, std::size_t call) {
    const auto table = lane.group->begin_call(call);
    if (!table) throw std::runtime_error("lane " + lane.name + ": " + lane.group->status().off);
    if (*table == lane.number) return;
    lane.table = read_table(lane.group->table(*table), calls_.size());
    if (lane.table.empty()) throw std::runtime_error("a table has another size");
    lane.number = *table;
  }

  void add_row(std::uint64_t iteration, std::size_t call, std::size_t lane, std::uint16_t config,
               const std::array<double, 4>& all) {
    std::size_t state = 0;
    {
      const std::lock_guard lock(mutex_);
      state = state_;
    }
    rows_.push_back({MPI_Wtime() - begin_s_, iteration, call, lane, config, all[0] * 1e6, all[1],
                     state, all[3]});
    if (rows_.size() >= kRowsPerLine) write_rows();
  }

  void write_rows() {
    if (rank_ != 0 || rows_.empty()) return;
    write_line(json{{"rows", rows_}});
    rows_.clear();
  }

  [[nodiscard]] json result() const {
    json lanes = json::array();
    for (const Lane& lane : lanes_) {
      json one{{"name", lane.name}, {"calls", lane.calls}, {"alarms", lane.alarms}};
      if (lane.group) {
        const LoopStatus status = lane.group->status();
        one["changes"] = status.changes;
        one["dropped"] = status.dropped;
        one["waits"] = status.waits;
        one["longest_wait_s"] = status.longest_wait_s;
        one["off"] = status.off;
      }
      if (lane.controller) one["states"] = lane.controller->learner().states();
      lanes.push_back(one);
    }
    return {{"lanes", lanes}, {"interfaces", counters_.interfaces()}};
  }

  MPI_Comm control_;
  StartClock& clock_;
  Random random_;  ///< equal on all ranks
  double seconds_;
  unsigned compute_us_;
  int rank_ = 0;
  int ranks_ = 1;
  NetworkCounters counters_;
  std::optional<LearnedTriggerParameters> trigger_;
  std::vector<LoopCall> calls_;
  std::vector<Lane> lanes_;
  std::uint64_t made_ = 0;
  std::atomic<double> begin_s_ = 0;
  std::atomic<bool> done_ = false;
  std::mutex mutex_;  ///< guards state_
  std::size_t state_ = 0;
  std::vector<json> rows_;
};

}  // namespace

json run_mpi_loop(const json& request, ForcedCommunicators& forced, MPI_Comm control,
                  StartClock& clock) {
  return MpiLoop(request, forced, control, clock).run();
}

}  // namespace cclgym
