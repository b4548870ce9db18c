// Dispatch of cells: rank 0's cost of an empty cell, and a simulation of the dispatcher with up to
// 4,096 ranks (docs/cluster.md).
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fmt/core.h>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/ranks/launch.hpp"
#include "core/tasks/dispatcher.hpp"
#include "core/tasks/run_tasks.hpp"

namespace cclgym {
namespace {

double cpu_s() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Cluster {
  std::size_t ranks;
  std::size_t ranks_per_node;
};

// Times of rank 0 and of messages, as measured by empty_cells() (take_s) or set by hand
// (latency_s).
struct Times {
  double take_s;     // time of rank 0 for a result
  double send_s;     // time of rank 0 for a batch
  double latency_s;  // time of a message, with the waits of couriers
};

struct Simulated {
  double end_s = 0;
  double busy_s = 0;  // time that rank 0 works
  std::size_t batches = 0;
};

// Events: a batch reaches its node, a worker ends a batch, the results reach rank 0.
class Simulation {
 public:
  Simulation(const Cluster& cluster, const Times& times, std::vector<double> costs,
             std::vector<double> estimates)
      : times_(times), costs_(std::move(costs)), dispatcher_(std::move(estimates)) {
    for (std::size_t left = cluster.ranks; left > 0;) {
      const std::size_t workers = std::min(left, cluster.ranks_per_node);
      dispatcher_.add_peer(workers, 0);
      nodes_.push_back({.idle = workers, .waiting = {}});
      left -= workers;
    }
  }

  Simulated run() {
    hand_out();
    while (!dispatcher_.done()) {
      const Event event = events_.top();
      events_.pop();
      now_s_ = event.date_s;
      if (event.kind == Kind::Arrives) begin(event.node, event.batch);
      if (event.kind == Kind::Ends) end(event.node, event.batch);
      if (event.kind == Kind::Results) take(event.batch);
    }
    simulated_.end_s = std::max(now_s_, free_s_);
    return simulated_;
  }

 private:
  enum class Kind { Arrives, Ends, Results };
  struct Event {
    double date_s;
    Kind kind;
    std::size_t node;
    std::size_t batch;
    bool operator>(const Event& other) const { return date_s > other.date_s; }
  };
  struct SimulatedNode {
    std::size_t idle;
    std::queue<std::size_t> waiting;
  };

  // Rank 0 does one thing at a time; returns the date at which it has done this one.
  double occupy(double seconds) {
    free_s_ = std::max(free_s_, now_s_) + seconds;
    simulated_.busy_s += seconds;
    return free_s_;
  }

  void hand_out() {
    while (auto batch = dispatcher_.next()) {
      batches_.push_back(std::move(batch->tasks));
      const double sent_s = occupy(times_.send_s);
      events_.push({sent_s + times_.latency_s, Kind::Arrives, batch->peer, batches_.size() - 1});
      ++simulated_.batches;
    }
  }

  void begin(std::size_t node, std::size_t batch) {
    if (nodes_[node].idle == 0) {
      nodes_[node].waiting.push(batch);
      return;
    }
    --nodes_[node].idle;
    double work_s = 0;
    for (const std::size_t task : batches_[batch]) work_s += costs_[task];
    events_.push({now_s_ + work_s, Kind::Ends, node, batch});
  }

  void end(std::size_t node, std::size_t batch) {
    events_.push({now_s_ + times_.latency_s, Kind::Results, node, batch});
    ++nodes_[node].idle;
    std::queue<std::size_t>& waiting = nodes_[node].waiting;
    if (!waiting.empty()) {
      const std::size_t next = waiting.front();
      waiting.pop();
      begin(node, next);
    }
  }

  void take(std::size_t batch) {
    occupy(times_.take_s * static_cast<double>(batches_[batch].size()));
    for (const std::size_t task : batches_[batch]) dispatcher_.finish(task, costs_[task]);
    hand_out();
  }

  Times times_;
  std::vector<double> costs_;
  TaskDispatcher dispatcher_;
  std::vector<SimulatedNode> nodes_;
  std::vector<std::vector<std::size_t>> batches_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  double now_s_ = 0;
  double free_s_ = 0;
  Simulated simulated_;
};

// Cells with exponentially distributed times of this mean, and estimates that are wrong
// by a factor of up to 3.
void simulate(std::size_t cells, double mean_s, const Times& times) {
  Random random(16);
  std::vector<double> costs(cells);
  std::vector<double> estimates(cells);
  for (std::size_t i = 0; i < cells; ++i) {
    costs[i] = random.exponential(mean_s);
    estimates[i] = costs[i] * random.uniform(1.0 / 3, 3);
  }
  const double work_s = std::accumulate(costs.begin(), costs.end(), 0.0);
  for (const std::size_t ranks : {16U, 64U, 256U, 1024U, 4096U}) {
    const double start_s = cpu_s();
    const Simulated simulated =
        Simulation({.ranks = ranks, .ranks_per_node = 64}, times, costs, estimates).run();
    fmt::print(
        "| {:>9} | {:>7} ms | {:>5} | {:>10.1f} s | {:>10.1f} % | {:>10.1f} % | {:>8} | {:.2f} s\n",
        cells, mean_s * 1e3, ranks, simulated.end_s,
        100 * work_s / (simulated.end_s * static_cast<double>(ranks)),
        100 * simulated.busy_s / simulated.end_s, simulated.batches, cpu_s() - start_s);
  }
}

// Processor time of this process and elapsed time, per task that does nothing: in worker processes,
// or on all ranks. The results are as long as a row of results.csv.
void empty_tasks(const std::string& where, TaskPlace* place, std::size_t workers,
                 std::size_t tasks) {
  TaskSet set;
  const std::string row(250, 'x');
  set.make_task = [&]() -> Task { return [&](std::size_t, const TaskInput&) { return row; }; };
  set.name_of = [](std::size_t index) { return std::to_string(index); };
  const TaskOptions options{.place = place, .jobs = workers};
  share_tasks(set, options);
  set.tasks.resize(tasks);
  std::iota(set.tasks.begin(), set.tasks.end(), std::size_t{0});
  std::size_t taken = 0;
  double first_s = 0;
  double first_cpu_s = 0;
  run_tasks(set, options, [&](std::span<const TaskReply> results) {
    if (taken == 0) {  // all processes have started
      first_s = steady_now_s();
      first_cpu_s = cpu_s();
    }
    taken += results.size();
  });
  const auto count = static_cast<double>(taken);
  fmt::print(
      "{} empty tasks, {}: {:.2f} us of elapsed time, {:.2f} us of the dispatching process "
      "per task\n",
      taken, where, (steady_now_s() - first_s) / count * 1e6,
      (cpu_s() - first_cpu_s) / count * 1e6);
}

}  // namespace
}  // namespace cclgym

// mpirun -n N bench_dispatch: the time of an empty task on ranks.
// bench_dispatch [TAKE_US]: that in worker processes, and the simulation; TAKE_US is the processor
// time of rank 0 per result, for the simulation.
int main(int argc, char** argv) {
  using namespace cclgym;
  if (const auto launched = launched_rank()) {
    return run_on_ranks({}, [&launched](TaskPlace* place) {
      empty_tasks(fmt::format("{} ranks", launched->ranks), place, 1, 200'000);
      return 0;
    });
  }
  for (const std::size_t workers : {2U, 16U}) {
    empty_tasks(fmt::format("{} worker processes", workers), nullptr, workers, 200'000);
  }
  const double take_s = (argc > 1 ? std::atof(argv[1]) : 10) * 1e-6;
  const Times times{.take_s = take_s, .send_s = 10e-6, .latency_s = 1e-3};
  fmt::print(
      "\n| cells | mean cell | ranks | time | efficiency | rank 0 busy | batches | dispatcher\n");
  for (const double mean_s : {1e-3, 10e-3, 100e-3}) simulate(1'000'000, mean_s, times);
  return 0;
}
