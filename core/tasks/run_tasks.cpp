#include "core/tasks/run_tasks.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <sched.h>
#include <stdexcept>
#include <utility>

#include "core/error.hpp"
#include "core/progress.hpp"
#include "core/tasks/dispatcher.hpp"

namespace cclgym {

namespace {

// Estimated costs of the tasks; a cost that is not positive counts as the smallest one.
std::vector<double> costs_of(const TaskSet& set) {
  std::vector<double> costs(set.tasks.size(), 1);
  if (!set.cost) return costs;
  std::transform(set.tasks.begin(), set.tasks.end(), costs.begin(),
                 [&](std::size_t index) { return std::max(set.cost(index), 1e-12); });
  return costs;
}

// Positions of tasks in the set, which is ascending.
std::size_t position_of(const TaskSet& set, std::size_t index) {
  const auto found = std::lower_bound(set.tasks.begin(), set.tasks.end(), index);
  if (found == set.tasks.end() || *found != index) {
    throw std::runtime_error(
        fmt::format("a worker process replied to task {}, which is not one", index));
  }
  return static_cast<std::size_t>(found - set.tasks.begin());
}

TaskOrder order_of(const TaskSet& set, std::size_t index) {
  return {.index = index, .input = set.input ? set.input(index) : std::string()};
}

class Master {
 public:
  Master(Peers& peers, const TaskSet& set, const TaskOptions& options, const TakeResults& take)
      : peers_(peers), set_(set), options_(options), take_(take), dispatcher_(costs_of(set)) {
    for (const std::size_t workers : peers.workers()) dispatcher_.add_peer(workers, steady_now_s());
  }

  void run() {
    while (!dispatcher_.done()) {
      hand_out();
      for (PeerEvent& event : peers_.wait()) settle(event);
      lose_silent_peers();
      if (dispatcher_.peers_left() == 0) {
        throw WorkLost(fmt::format("no worker process is left{}{}; the same command runs again",
                                   last_loss_.empty() ? "" : ": ", last_loss_));
      }
    }
    if (failure_) throw_failure(*failure_);
    if (!lost_.empty()) throw_lost();
  }

 private:
  void hand_out() {
    while (auto batch = dispatcher_.next()) {
      std::vector<TaskOrder> orders;
      for (const std::size_t position : batch->tasks) {
        orders.push_back(order_of(set_, set_.tasks[position]));
      }
      peers_.send(batch->peer, std::move(orders));
    }
  }

  void lose_silent_peers() {
    const double now = steady_now_s();
    // If this process was stopped or could not write for a while, the silence is its own.
    if (now - checked_s_ > options_.peer_timeout_s / 4) {
      for (std::size_t peer = 0; peer < peers_.workers().size(); ++peer) {
        if (!dispatcher_.is_lost(peer)) dispatcher_.heard(peer, now);
      }
    }
    checked_s_ = now;
    for (const std::size_t peer : dispatcher_.lose_silent(now, options_.peer_timeout_s)) {
      lost(fmt::format("{} was silent for {:g} s", peers_.name(peer), options_.peer_timeout_s));
    }
  }

  void lost(const std::string& how) {
    last_loss_ = how;
    if (options_.notice && dispatcher_.peers_left() > 0) {
      options_.notice(fmt::format("{}; its {}s go to others", how, options_.task_noun));
    }
  }

  void settle(PeerEvent& event) {
    if (event.kind == PeerEvent::Kind::Lost) {
      const bool known = dispatcher_.is_lost(event.peer);
      dispatcher_.lose(event.peer);
      if (!known) lost(event.text);
      return;
    }
    dispatcher_.heard(event.peer, steady_now_s());
    std::vector<TaskReply> results;
    for (TaskReply& reply : event.replies) {
      const std::size_t position = position_of(set_, reply.index);
      if (!dispatcher_.finish(position, reply.seconds)) continue;
      if (reply.outcome == Outcome::Done) {
        results.push_back(std::move(reply));
      } else if (reply.outcome == Outcome::Died || reply.outcome == Outcome::TimedOut) {
        lost_.push_back(std::move(reply));
      } else if (!failure_ || reply.index < failure_->index) {
        failure_ = std::move(reply);
        dispatcher_.give_up_from(position);
      }
    }
    if (!results.empty()) take_(results);
  }

  [[noreturn]] void throw_lost() {
    constexpr std::size_t kMaxShown = 5;
    std::sort(lost_.begin(), lost_.end(),
              [](const TaskReply& one, const TaskReply& other) { return one.index < other.index; });
    std::string text;
    for (std::size_t i = 0; i < std::min(kMaxShown, lost_.size()); ++i) {
      const TaskReply& reply = lost_[i];
      const std::string name = set_.name_of(reply.index);
      text += i == 0 ? "" : "; ";
      text += reply.outcome == Outcome::TimedOut ? fmt::format("{} {}", name, reply.text)
                                                 : fmt::format("{} in {}", reply.text, name);
    }
    if (lost_.size() > kMaxShown) text += fmt::format("; {} more", lost_.size() - kMaxShown);
    const bool one = lost_.size() == 1;
    text += fmt::format("; {} of {} {}s {} no result: the same command runs {} again", lost_.size(),
                        set_.tasks.size(), options_.task_noun, one ? "has" : "have",
                        one ? "it" : "them");
    const bool only_slow = std::all_of(lost_.begin(), lost_.end(), [](const TaskReply& reply) {
      return reply.outcome == Outcome::TimedOut;
    });
    if (only_slow) {
      if (!options_.option_of_timeout.empty()) {
        text += fmt::format("; give a longer {} if {} more time", options_.option_of_timeout,
                            one ? "it needs" : "they need");
      }
      throw SimulationStalled(text);
    }
    throw WorkLost(text);
  }

  Peers& peers_;
  const TaskSet& set_;
  const TaskOptions& options_;
  const TakeResults& take_;
  TaskDispatcher dispatcher_;
  std::optional<TaskReply> failure_;  // failure of the first failing task so far
  std::vector<TaskReply> lost_;
  std::string last_loss_;
  double checked_s_ = steady_now_s();
};

}  // namespace

void run_tasks_on(Peers& peers, const TaskSet& set, const TaskOptions& options,
                  const TakeResults& take) {
  Master(peers, set, options, take).run();
}

void share_tasks(const TaskSet& set, const TaskOptions& options) {
  if (options.place != nullptr) options.place->serve(set, options);
}

void run_tasks(const TaskSet& set, const TaskOptions& options, const TakeResults& take) {
  if (set.tasks.empty()) return;
  if (options.place != nullptr) {
    run_tasks_on(*options.place->peers(set, options), set, options, take);
    return;
  }
  const std::size_t jobs = std::min(options.jobs, set.tasks.size());
  if (set.prepare) set.prepare(jobs);
  if (jobs <= 1 && options.task_timeout_s <= 0) {
    const Task task = set.make_task();
    for (const std::size_t index : set.tasks) {
      const TaskOrder order = order_of(set, index);
      const TaskReply result{.index = index,
                             .text = task(index, {.common = set.common, .own = order.input})};
      take({&result, 1});
    }
    return;
  }
  LocalPeers peers(set.make_task,
                   {.simulators = jobs,
                    .task_timeout_s = options.task_timeout_s,
                    .stop_timeout_s = options.peer_timeout_s,
                    .now_ns = options.now_ns},
                   set.common);
  run_tasks_on(peers, set, options, take);
}

std::vector<std::string> task_results(const TaskSet& set, const TaskOptions& options,
                                      const std::function<void(std::size_t done)>& on_done) {
  std::vector<std::string> texts(set.tasks.size());
  std::size_t done = 0;
  run_tasks(set, options, [&](std::span<const TaskReply> results) {
    for (const TaskReply& result : results) texts[position_of(set, result.index)] = result.text;
    done += results.size();
    if (on_done) on_done(done);
  });
  return texts;
}

std::size_t usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return static_cast<std::size_t>(std::max(1, CPU_COUNT(&cores)));
}

}  // namespace cclgym
