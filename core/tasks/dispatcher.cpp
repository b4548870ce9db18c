#include "core/tasks/dispatcher.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace cclgym {

namespace {

// Max batches per worker: one in progress and one waiting, so that workers are not idle while a
// reply travels.
constexpr double kBatchesAtOnce = 2;
// Weight of older measurements after each new one: the rate is that of about the last 500 tasks.
constexpr double kFade = 1 - 1.0 / 512;

}  // namespace

TaskDispatcher::TaskDispatcher(std::vector<double> costs)
    : costs_(std::move(costs)),
      states_(costs_.size(), State::Waiting),
      batch_of_(costs_.size(), kNone),
      waiting_(costs_.size()),
      waiting_cost_(std::accumulate(costs_.begin(), costs_.end(), 0.0)),
      left_(costs_.size()),
      end_(costs_.size()) {}

std::size_t TaskDispatcher::add_peer(std::size_t workers, double now_s) {
  peers_.push_back({.workers = workers, .batches = 0, .heard_s = now_s, .lost = false});
  workers_ += workers;
  ready_.emplace(0.0, peers_.size() - 1);
  return peers_.size() - 1;
}

double TaskDispatcher::load(std::size_t peer) const {
  return static_cast<double>(peers_[peer].batches) / static_cast<double>(peers_[peer].workers);
}

void TaskDispatcher::set_batches(std::size_t peer, std::size_t batches) {
  const bool ready = ready_.erase({load(peer), peer}) > 0;
  peers_[peer].batches = batches;
  if (ready) ready_.emplace(load(peer), peer);
}

void TaskDispatcher::order_tasks() {
  order_.resize(costs_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const double large = kLargePart * waiting_cost_ / static_cast<double>(workers_);
  const auto others = std::stable_partition(order_.begin(), order_.end(),
                                            [&](std::size_t task) { return costs_[task] > large; });
  std::stable_sort(order_.begin(), others,
                   [&](std::size_t one, std::size_t other) { return costs_[one] > costs_[other]; });
}

// The task that is handed out next; drops those that have ended or need no result.
std::optional<std::size_t> TaskDispatcher::first_waiting() {
  const auto wanted = [&](std::size_t task) {
    return states_[task] == State::Waiting && task < end_;
  };
  while (!again_.empty() && !wanted(again_.front())) again_.pop_front();
  if (!again_.empty()) return again_.front();
  while (next_ < order_.size() && !wanted(order_[next_])) ++next_;
  if (next_ < order_.size()) return order_[next_];
  return std::nullopt;
}

void TaskDispatcher::take_first(std::size_t task) {
  states_[task] = State::HandedOut;
  --waiting_;
  waiting_cost_ -= costs_[task];
}

std::optional<TaskDispatcher::Batch> TaskDispatcher::next() {
  if (order_.empty() && workers_ > 0) order_tasks();
  if (ready_.empty()) return std::nullopt;
  const auto [least_load, peer] = *ready_.begin();
  // Near the end no batch waits behind another one while other workers are idle.
  const auto all_workers = static_cast<double>(workers_);
  const bool near_end = static_cast<double>(waiting_) <= kBatchesAtOnce * all_workers;
  if (least_load >= (near_end ? 1 : kBatchesAtOnce)) return std::nullopt;
  std::optional<std::size_t> task = first_waiting();
  if (!task) return std::nullopt;
  const double rate = measured_cost_ > 0 ? measured_s_ / measured_cost_ : 0;
  const double enough_s = std::min(kBatch_s, waiting_cost_ * rate / (2 * all_workers));
  Batch batch{.peer = peer, .tasks = {}};
  double work_s = 0;
  // Without a measurement, a batch is one task.
  do {
    work_s += costs_[*task] * rate;
    if (!batch.tasks.empty() && work_s > enough_s) break;
    if (batch.tasks.size() == kMaxTasks) break;
    take_first(*task);
    batch_of_[*task] = batches_.size();
    batch.tasks.push_back(*task);
    task = rate > 0 ? first_waiting() : std::nullopt;
  } while (task);
  batches_.push_back({.peer = peer, .tasks = batch.tasks.size()});
  set_batches(peer, peers_[peer].batches + 1);
  return batch;
}

bool TaskDispatcher::finish(std::size_t task, double seconds) {
  if (states_[task] == State::Ended) return false;
  if (states_[task] == State::Waiting) take_first(task);
  states_[task] = State::Ended;
  if (task < end_) --left_;
  measured_s_ = measured_s_ * kFade + seconds;
  measured_cost_ = measured_cost_ * kFade + costs_[task];
  if (batch_of_[task] == kNone) return true;
  BatchLeft& batch = batches_[batch_of_[task]];
  if (--batch.tasks == 0) set_batches(batch.peer, peers_[batch.peer].batches - 1);
  return true;
}

void TaskDispatcher::heard(std::size_t number, double now_s) {
  Peer& peer = peers_[number];
  peer.heard_s = now_s;
  if (!peer.lost) return;
  peer.lost = false;
  workers_ += peer.workers;
  ready_.emplace(load(number), number);
}

void TaskDispatcher::lose(std::size_t number) {
  Peer& peer = peers_[number];
  if (peer.lost) return;
  ready_.erase({load(number), number});
  peer.lost = true;
  peer.batches = 0;
  workers_ -= peer.workers;
  for (std::size_t task = 0; task < states_.size(); ++task) {
    if (states_[task] != State::HandedOut || batch_of_[task] == kNone) continue;
    if (batches_[batch_of_[task]].peer != number) continue;
    states_[task] = State::Waiting;
    batch_of_[task] = kNone;
    ++waiting_;
    waiting_cost_ += costs_[task];
    again_.push_back(task);
  }
}

std::vector<std::size_t> TaskDispatcher::lose_silent(double now_s, double timeout_s) {
  std::vector<std::size_t> lost;
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    if (peers_[peer].lost || now_s - peers_[peer].heard_s <= timeout_s) continue;
    lose(peer);
    lost.push_back(peer);
  }
  return lost;
}

void TaskDispatcher::give_up_from(std::size_t end) {
  end_ = std::min(end_, end);
  left_ = static_cast<std::size_t>(
      std::count_if(states_.begin(), states_.begin() + static_cast<std::ptrdiff_t>(end_),
                    [](State state) { return state != State::Ended; }));
}

}  // namespace cclgym
