// Tests of the choice of tasks, with simulated peers.
#include "core/tasks/dispatcher.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "support/catch.hpp"

namespace cclgym::test {
namespace {

struct Simulated {
  double end_s = 0;                  // date at which the last task ended
  std::vector<std::size_t> batches;  // sizes, in the order of handing out
  std::vector<std::size_t> order;    // tasks, in the order of handing out
};

// Peers with the given numbers of workers that take costs[i] seconds for task i, without messages'
// times. Checks that every task is handed out exactly once.
Simulated simulate(const std::vector<double>& estimates, const std::vector<double>& costs,
                   const std::vector<std::size_t>& workers) {
  TaskDispatcher dispatcher(estimates);
  std::vector<std::vector<double>> free_s;  // date at which each worker is free
  for (const std::size_t count : workers) {
    dispatcher.add_peer(count, 0);
    free_s.emplace_back(count, 0.0);
  }
  using Ending = std::pair<double, std::size_t>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings;
  Simulated simulated;
  double now_s = 0;
  std::set<std::size_t> seen;
  while (!dispatcher.done()) {
    while (auto batch = dispatcher.next()) {
      simulated.batches.push_back(batch->tasks.size());
      auto& worker = *std::min_element(free_s[batch->peer].begin(), free_s[batch->peer].end());
      worker = std::max(worker, now_s);
      for (const std::size_t task : batch->tasks) {
        CHECK(seen.insert(task).second);
        simulated.order.push_back(task);
        worker += costs[task];
        endings.emplace(worker, task);
      }
    }
    REQUIRE_FALSE(endings.empty());
    const auto [end_s, task] = endings.top();
    endings.pop();
    now_s = end_s;
    CHECK(dispatcher.finish(task, costs[task]));
  }
  CHECK(seen.size() == costs.size());
  simulated.end_s = now_s;
  return simulated;
}

TEST_CASE("batches grow to a third of a second of work, and shrink towards the end",
          "[core][tasks]") {
  const std::vector<double> costs(40'000, 1e-3);
  const Simulated simulated = simulate(std::vector<double>(40'000, 1), costs, {4});
  CHECK(simulated.batches.front() == 1);
  CHECK(*std::max_element(simulated.batches.begin(), simulated.batches.end()) == 300);
  CHECK(simulated.batches.back() == 1);
  // 40 s of work for four workers.
  CHECK(simulated.end_s == Approx(10).epsilon(0.001));
}

TEST_CASE("batches of very short tasks have a limit", "[core][tasks]") {
  const std::vector<double> costs(100'000, 1e-7);
  const Simulated simulated = simulate(costs, costs, {2});
  CHECK(*std::max_element(simulated.batches.begin(), simulated.batches.end()) ==
        TaskDispatcher::kMaxTasks);
}

TEST_CASE("small tasks keep their order; large ones come first, the largest before all",
          "[core][tasks]") {
  std::vector<double> costs(200, 1);
  costs[150] = 40;
  costs[20] = 30;
  const Simulated simulated = simulate(costs, costs, {1, 1});
  CHECK(simulated.order[0] == 150);
  CHECK(simulated.order[1] == 20);
  CHECK(std::is_sorted(simulated.order.begin() + 2, simulated.order.end()));
  CHECK(simulated.end_s == Approx((198 + 70) / 2.0).margin(1));
}

TEST_CASE("random costs and wrong estimates: all workers end at about the same time",
          "[core][tasks]") {
  Random random(16);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> costs(3000);
    std::vector<double> estimates(costs.size());
    for (std::size_t i = 0; i < costs.size(); ++i) {
      costs[i] = random.uniform(0, 0.02) * (random.uniform(0, 1) < 0.02 ? 50 : 1);
      estimates[i] = costs[i] * random.uniform(0.2, 5);
    }
    const double total_s = std::accumulate(costs.begin(), costs.end(), 0.0);
    const Simulated simulated = simulate(estimates, costs, {3, 1, 4});
    CHECK(simulated.end_s < total_s / 8 + 1.5);  // the largest cost is 1 s
  }
}

TEST_CASE("tasks of a lost peer are handed out again, and late duplicates are ignored",
          "[core][tasks]") {
  TaskDispatcher dispatcher(std::vector<double>(8, 1));
  dispatcher.add_peer(2, 0);
  dispatcher.add_peer(2, 0);
  std::vector<std::vector<std::size_t>> given(2);
  while (auto batch = dispatcher.next()) {
    given[batch->peer].insert(given[batch->peer].end(), batch->tasks.begin(), batch->tasks.end());
  }
  CHECK(given[0].size() == given[1].size());
  dispatcher.heard(0, 100);
  CHECK(dispatcher.lose_silent(100, 60) == std::vector<std::size_t>{1});
  CHECK(dispatcher.lose_silent(100, 60).empty());
  CHECK(dispatcher.peers_left() == 1);
  // The lost peer is alive after all, and one of its tasks has ended.
  CHECK(dispatcher.finish(given[1][0], 0.1));
  CHECK_FALSE(dispatcher.finish(given[1][0], 0.1));
  std::set<std::size_t> rest(given[0].begin(), given[0].end());
  for (const std::size_t task : given[0]) CHECK(dispatcher.finish(task, 0.1));
  while (!dispatcher.done()) {
    const auto batch = dispatcher.next();
    REQUIRE(batch);
    CHECK(batch->peer == 0);
    for (const std::size_t task : batch->tasks) {
      CHECK(rest.insert(task).second);
      CHECK(dispatcher.finish(task, 0.1));
      CHECK_FALSE(dispatcher.finish(task, 0.1));
    }
  }
  CHECK(rest.size() == 7);
  dispatcher.lose(0);
  CHECK(dispatcher.peers_left() == 0);
  dispatcher.heard(1, 200);
  CHECK(dispatcher.peers_left() == 1);
}

TEST_CASE("tasks after one that failed are given up", "[core][tasks]") {
  TaskDispatcher dispatcher(std::vector<double>(100, 1));
  dispatcher.add_peer(1, 0);
  REQUIRE(dispatcher.next());
  REQUIRE(dispatcher.next());
  dispatcher.finish(1, 1);
  dispatcher.give_up_from(1);
  CHECK_FALSE(dispatcher.done());
  CHECK_FALSE(dispatcher.next());
  dispatcher.finish(0, 1);
  CHECK(dispatcher.done());
}

}  // namespace
}  // namespace cclgym::test
