#include "deploy/nccl_plugin/communicator_loop.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <string_view>

#include "core/hash.hpp"
#include "deploy/nccl_plugin/call_time.hpp"

namespace cclgym {

namespace {

constexpr const char* kLoopVariable = "CCLGYM_LOOP";
constexpr const char* kInterfaceVariable = "CCLGYM_LOOP_INTERFACE";
// Calls of take() between two looks at the state of the loop.
constexpr int kTicksPerLook = 10;

/// Loops of this process. NCCL gives tuner and profiler nothing in common but the communicator's
/// number, so that they can only meet in a place that the process has once.
struct Loops {
  std::mutex mutex{};
  std::map<std::uint64_t, std::weak_ptr<CommunicatorLoop>> by_communicator{};
  std::weak_ptr<RendezvousServer> server{};
  std::weak_ptr<const NetworkCounters> counters{};
};

Loops& loops() {
  // Never destroyed: threads of communicators that were not finalised may outlive main().
  static Loops* const all = new Loops;
  return *all;
}

std::shared_ptr<const NetworkCounters> shared_counters() {
  Loops& all = loops();
  const std::lock_guard lock(all.mutex);
  auto counters = all.counters.lock();
  if (!counters) all.counters = counters = std::make_shared<const NetworkCounters>();
  return counters;
}

// Null if this process cannot serve.
std::shared_ptr<RendezvousServer> shared_server(const RendezvousPoint& point) {
  Loops& all = loops();
  const std::lock_guard lock(all.mutex);
  auto server = all.server.lock();
  if (!server) all.server = server = RendezvousServer::serve(point);
  return server;
}

std::uint64_t key_of_question(int collective, std::uint64_t bytes, int pipe_ops) {
  return mix_hash(bytes, static_cast<std::uint64_t>(pipe_ops) << 8U |
                             (static_cast<std::uint64_t>(collective) & 0xFFU));
}

}  // namespace

bool loop_wanted() { return plugin_variable(kLoopVariable) != nullptr; }

std::shared_ptr<CommunicatorLoop> CommunicatorLoop::of(std::uint64_t communicator) {
  Loops& all = loops();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.by_communicator, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<CommunicatorLoop>& known = all.by_communicator[communicator];
  auto loop = known.lock();
  if (!loop) known = loop = std::make_shared<CommunicatorLoop>(communicator);
  return loop;
}

CommunicatorLoop::~CommunicatorLoop() {
  if (!group_) return;
  try {
    const LoopStatus status = group_->status();
    const std::string line =
        "closed loop: " + std::to_string(status.calls) + " questions, " +
        std::to_string(status.changes) + " changes of tables, " + std::to_string(status.waits) +
        " waits of at most " + std::to_string(static_cast<int>(status.longest_wait_s * 1e3)) +
        " ms" +
        (controller_ ? "; " + std::to_string(controller_->learned()) + " times learned" : "");
    controller_.reset();
    group_.reset();
    log_.info(line.c_str());
  } catch (...) {
    log_.info("closed loop: out of memory");
  }
}

void CommunicatorLoop::off(const std::string& reason) noexcept {
  if (said_off_.exchange(true)) return;
  try {
    log_.warn(("closed loop off: " + reason).c_str());
  } catch (...) {
    log_.warn("closed loop off: out of memory");
  }
}

bool CommunicatorLoop::add_tuner(std::size_t ranks, const PluginLog& log) noexcept {
  const std::lock_guard lock(mutex_);
  if (tuner_ranks_ != 0) return refuse_second();
  log_ = log;
  tuner_ranks_ = ranks;
  start();
  return true;
}

bool CommunicatorLoop::add_profiler(const TimedCommunicator& own, const PluginLog& log) noexcept {
  const std::lock_guard lock(mutex_);
  if (own_) return refuse_second();
  log_ = log;
  own_ = own;
  start();
  return true;
}

void CommunicatorLoop::set_limits(const LoopOptions& limits, double most_meeting_s) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
  meeting_.most_wait_s = most_meeting_s;
}

std::optional<LoopStatus> CommunicatorLoop::status() const {
  const LoopGroup* group = started_.load(std::memory_order_acquire);
  if (group == nullptr) return std::nullopt;
  return group->status();
}

// Another rank of the communicator in this process: NCCL does not tell whose tuner is whose.
bool CommunicatorLoop::refuse_second() noexcept {
  off_ = true;
  off("this process has two ranks of the communicator");
  return false;
}

// Needs the lock. No exception leaves it.
void CommunicatorLoop::start() {
  if (off_ || !own_ || tuner_ranks_ < 2) return;
  try {
    if (static_cast<std::size_t>(own_->ranks) != tuner_ranks_ || own_->rank < 0 ||
        own_->rank >= own_->ranks || own_->ranks > RendezvousServer::kMostRanks) {
      throw std::runtime_error("tuner and profiler were told different numbers of ranks");
    }
    const char* interface = plugin_variable(kInterfaceVariable);
    if (interface != nullptr) meeting_.interface = interface;
    point_ = parse_rendezvous(plugin_variable(kLoopVariable), kLoopVariable);
    counters_ = shared_counters();
    received_bytes_ = counters_->read().received_bytes;
    group_ = std::make_unique<LoopGroup>(
        own_->rank, own_->ranks,
        [this](const std::atomic<bool>& ending) { return find_members(ending); }, std::string(),
        limits_);
    if (own_->rank == 0) {
      asked_ = std::make_unique<BoundedQueue<AskedClass, 64>>();
      controller_ = std::make_unique<ChoiceController>(*group_, own_->ranks);
    }
    started_ = group_.get();
  } catch (const std::exception& error) {
    off_ = true;
    off(error.what());
  }
}

LoopMembers CommunicatorLoop::find_members(const std::atomic<bool>& ending) {
  const RendezvousRank own{
      .group = communicator_, .rank = own_->rank, .ranks = own_->ranks, .node = this_node()};
  return meet_ranks(
      point_, own, meeting_,
      [this] {
        auto server = shared_server(point_);
        if (server) server_ = std::move(server);
      },
      ending);
}

CommunicatorLoop::Answer CommunicatorLoop::ask(int collective, std::uint64_t bytes, int pipe_ops,
                                               const CostTable& costs, const TunerChoices* choices,
                                               int* channels) noexcept {
  if (off_.load(std::memory_order_relaxed)) return Answer::None;
  if (lost_) return Answer::Leave;
  try {
    LoopGroup* group = started_.load(std::memory_order_acquire);
    if (group == nullptr) {
      const std::lock_guard lock(mutex_);
      off_ = true;
      off("the profiler of the communicator is missing: set NCCL_PROFILER_PLUGIN, as "
          "NCCL_TUNER_PLUGIN");
      return Answer::None;
    }
    const auto table = begin(*group, key_of_question(collective, bytes, pipe_ops));
    if (!table) return Answer::Leave;
    const std::size_t number = classes_.of(collective, bytes);
    if (number >= kLoopClasses) return Answer::None;
    if (asked_ && !noted_[number]) {
      note_class(number,
                 choices == nullptr ? std::span<const TunerChoice>()
                                    : choices->wanted(collective, bytes, pipe_ops),
                 costs);
    }
    const LoopChoice* choice = table_.find(number);
    if (choice == nullptr || !costs.legal(choice->algorithm, choice->protocol)) {
      return Answer::None;
    }
    costs.take(choice->algorithm, choice->protocol);
    if (channels != nullptr && choice->channels > 0) *channels = choice->channels;
    return Answer::Taken;
  } catch (const std::exception& error) {
    lost_ = true;
    off(error.what());
    return Answer::Leave;
  }
}

// Renews the table if the call has another one. nullopt if the call's table is unknown.
std::optional<std::uint32_t> CommunicatorLoop::begin(LoopGroup& group, std::uint64_t key) {
  const auto table = group.begin_call(key);
  if (!table) {
    lost_ = true;
    off(group.status().off);
    return std::nullopt;
  }
  if (*table != number_) {
    number_ = *table;
    // All ranks have the same text: an unreadable one is empty on all.
    (void)table_.read(group.table(number_));
  }
  return table;
}

// Leader: tells the controller of a class.
void CommunicatorLoop::note_class(std::size_t number, std::span<const TunerChoice> wanted,
                                  const CostTable& costs) {
  AskedClass asked{.number = static_cast<std::uint16_t>(number)};
  asked.predicted_us.fill(-1);
  int best = -1;
  for (int config = 0; config < static_cast<int>(kLoopConfigs); ++config) {
    const int algorithm = config / CCLGYM_NCCL_PROTOCOLS;
    const int protocol = config % CCLGYM_NCCL_PROTOCOLS;
    if (!costs.legal(algorithm, protocol)) continue;
    const float predicted_us = costs.entries[algorithm * costs.protocols + protocol];
    const auto place = static_cast<std::size_t>(config);
    asked.predicted_us[place] = predicted_us;
    if (best < 0 || predicted_us < asked.predicted_us[static_cast<std::size_t>(best)]) {
      best = config;
    }
    const auto with_channels = std::ranges::find_if(wanted, [&](const TunerChoice& one) {
      return one.algorithm == algorithm && one.protocol == protocol;
    });
    if (with_channels != wanted.end()) asked.channels[place] = with_channels->channels;
  }
  if (best < 0) return;
  const TunerChoice own = first_legal(wanted, costs);
  if (own.algorithm >= 0) best = own.algorithm * CCLGYM_NCCL_PROTOCOLS + own.protocol;
  asked.config = static_cast<std::uint8_t>(best);
  noted_[number] = asked_->push(asked);
}

void CommunicatorLoop::take(std::span<const KernelTimes::Row> rows) noexcept {
  LoopGroup* group = started_.load(std::memory_order_acquire);
  if (group == nullptr || off_) return;
  try {
    std::uint64_t received_bytes = 0;
    if (!rows.empty() && counters_->interfaces() > 0) {
      const std::uint64_t now = counters_->read().received_bytes;
      // If several have ended, it is unknown to which one the bytes belong.
      if (rows.size() == 1) received_bytes = now - received_bytes_;
      received_bytes_ = now;
    }
    for (const KernelTimes::Row& row : rows) {
      auto one = measured(row);
      if (!one) continue;
      one->received_bytes = received_bytes;
      group->report(to_report(*one));
    }
    if (!rows.empty()) group->send_now();
    if (controller_) {
      AskedClass asked;
      while (asked_->pop(asked)) controller_->add(asked);
      controller_->step();
      if (!controller_->pending()) taken_ = controller_->taken();
    }
    if (++ticks_ % kTicksPerLook == 0) look_around(*group);
  } catch (const std::exception& error) {
    off(error.what());  // this rank's times are missing from now on
  }
}

std::optional<MeasuredCollective> CommunicatorLoop::measured(const KernelTimes::Row& row) const {
  const auto collective = nccl_collective_of(row.collective.data());
  const auto algorithm = nccl_algorithm_of_csv(row.algorithm.data());
  const auto protocol = nccl_protocol_of(row.protocol.data());
  if (!collective || !algorithm || !protocol || row.stop_ns <= row.start_ns) return std::nullopt;
  MeasuredCollective one{
      .sequence = row.sequence,
      .number = static_cast<std::uint16_t>(classes_.of(*collective, row.bytes)),
      .config = static_cast<std::uint8_t>(*algorithm * CCLGYM_NCCL_PROTOCOLS + *protocol),
      .time_s = static_cast<double>(row.stop_ns - row.start_ns) * 1e-9};
  if (*algorithm == CCLGYM_NCCL_TREE && *collective == CCLGYM_NCCL_ALLREDUCE) {
    one.time_s *= tree_time_ratio({.protocol = row.protocol.data(),
                                   .bytes = row.bytes,
                                   .channels = row.channels,
                                   .ranks = own_->ranks,
                                   .nodes = own_->nodes});
  }
  return one;
}

void CommunicatorLoop::look_around(LoopGroup& group) {
  const LoopStatus status = group.status();
  if (status.connected && !said_connected_) {
    said_connected_ = true;
    log_.info(("closed loop: rank " + std::to_string(own_->rank) + " knows all " +
               std::to_string(own_->ranks) + " ranks")
                  .c_str());
  }
  if (!status.off.empty()) off(status.off);
}

}  // namespace cclgym
