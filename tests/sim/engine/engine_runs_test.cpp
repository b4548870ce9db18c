// Tests of properties that do not depend on a graph's times: stalls, bits, threads, failures,
// folding.
#include <atomic>
#include <bit>
#include <cmath>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/ring_graph.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/engine_random_graphs.hpp"
#include "sim/engine/engine_testing.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

std::vector<TransferId> waiting_nodes(Engine& engine) {
  try {
    engine.run();
  } catch (const GraphStalled& stalled) {
    const std::string text = stalled.what();
    for (const TransferId node : stalled.waiting()) {
      INFO(text);
      CHECK(text.find(std::to_string(node)) != std::string::npos);
    }
    return stalled.waiting();
  }
  return {};
}

}  // namespace

TEST_CASE("a stalled graph names the waiting nodes, and the engine stays usable",
          "[sim][engine-runs]") {
  for (const std::string& name : engine_names()) {
    INFO("engine " << name);
    const auto engine = make_engine(name);

    SECTION(name + ": a cycle") {
      auto graph = std::make_shared<TransferGraph>();
      graph->set_link_capacities({1e9});
      const auto route = add_route(*graph, {0});
      for (int i = 0; i < 5; ++i) {
        graph->add_flow(route, 1000, 1e-6);
      }
      graph->add_edge(0, 1);
      graph->add_edge(1, 2);
      graph->add_edge(2, 1);
      graph->add_edge(2, 4);
      graph->finish();
      engine->load(graph);
      CHECK(waiting_nodes(*engine) == std::vector<TransferId>{1, 2, 4});
      CHECK(waiting_nodes(*engine) == std::vector<TransferId>{1, 2, 4});
    }
    SECTION(name + ": an unsatisfiable dependency") {
      auto graph = std::make_shared<TransferGraph>();
      graph->add_delay(1e-6);
      graph->add_delay(1e-6);
      graph->add_unsatisfiable_dependency(1);
      graph->finish();
      engine->load(graph);
      CHECK(waiting_nodes(*engine) == std::vector<TransferId>{1});
    }
    SECTION(name + ": a folded graph whose source fires too seldom") {
      auto graph = std::make_shared<TransferGraph>();
      graph->add_delay(1e-6, 2);
      graph->add_delay(1e-6, 5);
      graph->add_delay(1e-6, 3);
      graph->add_edge(0, 1, 1);
      graph->add_edge(0, 2, 1);
      graph->finish();
      engine->load(graph);
      CHECK(waiting_nodes(*engine) == std::vector<TransferId>{1});
    }
    SECTION(name + ": a node that waits for itself, and one that can never begin") {
      auto graph = std::make_shared<TransferGraph>();
      graph->add_delay(1e-6, 2);
      graph->add_delay(1e-6, 2);
      graph->add_edge(0, 0, 0);
      graph->add_unsatisfiable_dependency(1);
      graph->finish();
      engine->load(graph);
      CHECK(waiting_nodes(*engine) == std::vector<TransferId>{0, 1});
    }

    // After a stall, the engine runs another graph normally.
    const auto good = RandomGraph(7).graph();
    engine->load(good);
    const Times after = copy_of(engine->run());
    engine->load(good);
    CHECK(copy_of(engine->run()) == after);
  }
}

TEST_CASE("many waiting nodes are counted, not listed", "[sim][engine-runs]") {
  auto graph = std::make_shared<TransferGraph>();
  for (int i = 0; i < 1000; ++i) {
    graph->add_delay(1e-6);
    graph->add_unsatisfiable_dependency(i);
  }
  graph->finish();
  for (const std::string& name : engine_names()) {
    const auto engine = make_engine(name);
    engine->load(graph);
    try {
      engine->run();
      FAIL("no error");
    } catch (const GraphStalled& stalled) {
      CHECK(stalled.waiting().size() == 1000);
      CHECK(std::string(stalled.what()).size() < 200);
      CHECK(std::string(stalled.what()).find("1000 of 1000") != std::string::npos);
    }
  }
}

TEST_CASE("the same graph gives the same bits in every run, whatever ran in between",
          "[sim][engine-runs]") {
  for (const std::string& name : engine_names()) {
    INFO("engine " << name);
    const auto engine = make_engine(name);
    for (std::uint64_t seed = 100; seed < 105; ++seed) {
      const auto graph = RandomGraph(seed).graph();
      engine->load(graph);
      FiringLog first_log;
      const Times first = copy_of(engine->run(&first_log));
      for (int run = 0; run < 100; ++run) {
        REQUIRE(copy_of(engine->run()) == first);
      }
      engine->load(RandomGraph(seed + 1000).graph());
      engine->run();
      engine->load(bench::ring_allreduce_graph(8, 1e6, 0.7e-6, 25e9, false));
      engine->run();
      engine->load(graph);
      FiringLog log;
      REQUIRE(copy_of(engine->run(&log)) == first);
      REQUIRE(log.firings == first_log.firings);
    }
  }
}

TEST_CASE("engine flow gives the same bits in every build", "[sim][engine-runs]") {
  // FNV-1a over all dates. The graph is built without library functions, so that every compiler,
  // optimization level and run gives the same hash unless the engine's own arithmetic differs.
  const Times times = run_once("flow", bench::jittered_ring_graph(8, 8, 1048576, 0.7e-6, 25e9));
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const auto* dates : {&times.start_s, &times.end_s}) {
    for (const double date_s : *dates) {
      hash = (hash ^ std::bit_cast<std::uint64_t>(date_s)) * 0x100000001b3U;
    }
  }
  INFO("hash " << std::hex << hash);
  CHECK(hash == 0xa4b100bb3af494e0U);
}

TEST_CASE("a folded ring equals the unfolded ring", "[sim][engine-runs]") {
  for (const std::int32_t ranks : {2, 3, 8, 17}) {
    const auto folded = bench::ring_allreduce_graph(ranks, 1048576, 0.7e-6, 25e9, true);
    const auto plain = bench::ring_allreduce_graph(ranks, 1048576, 0.7e-6, 25e9, false);
    REQUIRE(folded->firings() == plain->firings());
    REQUIRE(folded->folded());
    REQUIRE_FALSE(plain->folded());
    const double step_s = 0.7e-6 + 1048576.0 / ranks / 25e9;
    for (const std::string& name : engine_names()) {
      INFO("engine " << name << ", " << ranks << " ranks");
      const auto engine = make_engine(name);
      engine->load(plain);
      const Times of_plain = copy_of(engine->run());
      CHECK(std::abs(of_plain.makespan_s / (2 * (ranks - 1) * step_s) - 1) < 1e-12);
      engine->load(folded);
      FiringLog log;
      CHECK(std::abs(engine->run(&log).makespan_s / of_plain.makespan_s - 1) < 1e-12);
      REQUIRE(log.firings.size() == of_plain.end_s.size());
      for (const FiringLog::Firing& firing : log.firings) {
        const auto node = static_cast<std::size_t>(firing.iteration * ranks + firing.node);
        REQUIRE(std::abs(firing.start_s - of_plain.start_s[node]) <=
                1e-12 * of_plain.start_s[node]);
        REQUIRE(std::abs(firing.end_s / of_plain.end_s[node] - 1) <= 1e-12);
      }
    }
  }
}

TEST_CASE("an edge for the first firing only, and a truncated graph", "[sim][engine-runs]") {
  auto graph = std::make_shared<TransferGraph>();
  graph->add_delay(10e-6);
  graph->add_delay(1e-6, 5);
  graph->add_delay(3e-6, 5);
  graph->add_edge(0, 1, TransferGraph::kFirstOnly);
  graph->add_edge(1, 2);
  graph->add_edge(2, 1, 2);
  graph->finish();
  CHECK(longest_chain(*graph) == 0);
  const auto first = std::make_shared<const TransferGraph>(graph->truncated(2));
  CHECK(first->firings() == 5);
  CHECK(first->repeat(0) == 1);
  CHECK(first->repeat(2) == 2);
  for (const std::string& name : engine_names()) {
    INFO("engine " << name);
    CHECK(std::abs(run_once(name, graph).makespan_s - 26e-6) < 1e-15);
    CHECK(std::abs(run_once(name, first).makespan_s - 17e-6) < 1e-15);
  }
}

TEST_CASE("an edge that waits for the last firing, and a truncated graph", "[sim][engine-runs]") {
  auto graph = std::make_shared<TransferGraph>();
  graph->add_delay(1e-6, 5);  // 5 us in total
  graph->add_delay(2e-6);
  graph->add_delay(3e-6, 4);
  graph->add_edge(0, 1, TransferGraph::kAfterLast);
  graph->add_edge(1, 2, TransferGraph::kFirstOnly);
  graph->finish();
  CHECK(graph->folded());
  const auto first = std::make_shared<const TransferGraph>(graph->truncated(2));
  for (const std::string& name : engine_names()) {
    INFO("engine " << name);
    CHECK(std::abs(run_once(name, graph).makespan_s - 19e-6) < 1e-15);
    CHECK(std::abs(run_once(name, first).makespan_s - 10e-6) < 1e-15);
  }
  // The edge may also lead to a repeating node, of which only the first firing waits.
  auto direct = std::make_shared<TransferGraph>();
  direct->add_delay(1e-6, 5);
  direct->add_delay(3e-6, 4);
  direct->add_edge(0, 1, TransferGraph::kAfterLast);
  direct->finish();
  for (const std::string& name : engine_names()) {
    CHECK(std::abs(run_once(name, direct).makespan_s - 17e-6) < 1e-15);
  }
}

TEST_CASE("firings of an overlapping delay are in flight together", "[sim][engine-runs]") {
  auto graph = std::make_shared<TransferGraph>();
  graph->add_delay(1e-6, 5);         // done at 1, 2, 3, 4, 5 us
  graph->add_delay(10e-6, 5, true);  // 11, 12, …, 15
  graph->add_delay(2e-6, 5);         // 13, 15, …, 21
  graph->add_edge(0, 1);
  graph->add_edge(1, 2);
  graph->finish();
  auto roots = std::make_shared<TransferGraph>();  // no dependencies: all firings start at once
  roots->add_delay(10e-6, 5, true);
  roots->finish();
  for (const std::string& name : engine_names()) {
    INFO("engine " << name);
    FiringLog log;
    auto engine = make_engine(name);
    engine->load(graph);
    CHECK(std::abs(engine->run(&log).makespan_s - 21e-6) < 1e-15);
    REQUIRE(log.firings.size() == 15);
    for (const FiringLog::Firing& firing : log.firings) {
      if (firing.node != 1) continue;
      CHECK(std::abs(firing.start_s - (firing.iteration + 1) * 1e-6) < 1e-15);
      CHECK(std::abs(firing.end_s - (firing.iteration + 11) * 1e-6) < 1e-15);
    }
    engine->load(roots);
    CHECK(std::abs(engine->run().makespan_s - 10e-6) < 1e-15);
  }
}

TEST_CASE("an exception of the observer ends the run, and the engine stays usable",
          "[sim][engine-runs]") {
  class Thrower : public FiringObserver {
   public:
    void on_firing(TransferId, std::int32_t, double, double) override {
      if (++count_ == 5) {
        throw std::runtime_error("enough");
      }
    }

   private:
    int count_ = 0;
  };
  const auto graph = bench::ring_allreduce_graph(8, 1e6, 0.7e-6, 25e9, false);
  for (const std::string& name : engine_names()) {
    INFO("engine " << name);
    const auto engine = make_engine(name);
    engine->load(graph);
    const Times before = copy_of(engine->run());
    for (int i = 0; i < 3; ++i) {
      Thrower thrower;
      CHECK_THROWS_AS(engine->run(&thrower), std::runtime_error);
      CHECK(copy_of(engine->run()) == before);
    }
  }
}

TEST_CASE("engines in several threads share one graph", "[sim][engine-runs]") {
  std::vector<std::shared_ptr<const TransferGraph>> graphs = {
      bench::ring_allreduce_graph(16, 1e6, 0.7e-6, 25e9, false),
      bench::ring_allreduce_graph(16, 1e6, 0.7e-6, 25e9, true)};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    graphs.push_back(RandomGraph(seed).graph());
  }
  std::vector<Times> expected;
  for (const auto& graph : graphs) {
    expected.push_back(run_once("flow", graph));
  }
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      const auto engine = make_engine("flow");
      for (int round = 0; round < 5; ++round) {
        for (std::size_t i = 0; i < graphs.size(); ++i) {
          engine->load(graphs[i]);
          different += copy_of(engine->run()) == expected[i] ? 0 : 1;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(different == 0);
}

TEST_CASE("only one engine simgrid may be alive, and the next one works", "[sim][engine-runs]") {
  SKIP_UNLESS(engine_infos().size() > 1, test::kNeedsTwoEngines);
  const auto graph = RandomGraph(3).graph();
  auto first = make_engine("simgrid");
  CHECK_THROWS_AS(make_engine("simgrid"), std::logic_error);
  first->load(graph);
  const Times times = copy_of(first->run());
  CHECK_THROWS_AS(make_engine("simgrid"), std::logic_error);
  for (int i = 0; i < 5; ++i) {
    first.reset();
    first = make_engine("simgrid");
    first->load(graph);
    CHECK(copy_of(first->run()) == times);
  }
}

TEST_CASE("engine simgrid leaves the program's signal handlers alone", "[sim][engine-runs]") {
  SKIP_UNLESS(engine_infos().size() > 1, test::kNeedsTwoEngines);
  struct sigaction before {};
  struct sigaction after {};
  for (const int number : {SIGINT, SIGSEGV, SIGBUS}) {
    sigaction(number, nullptr, &before);
    run_once("simgrid", RandomGraph(3).graph());
    sigaction(number, nullptr, &after);
    CHECK(before.sa_handler == after.sa_handler);
    CHECK(before.sa_flags == after.sa_flags);
  }
}
