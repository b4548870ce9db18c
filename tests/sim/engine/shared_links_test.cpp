// Links in virtual time against closed forms, and against the max-min solve of the same graphs.
#include "sim/engine/sharing/shared_links.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "sim/engine/engine_random_graphs.hpp"
#include "sim/engine/engine_testing.hpp"
#include "sim/engine/sharing/latency_lanes.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

/// A finished graph whose flows have a slot in SharedLinks, which it counts.
struct Known {
  std::shared_ptr<const TransferGraph> graph;
  int shared = 0;  ///< routes with flows on such a link
};

Known known(std::shared_ptr<const TransferGraph> graph) {
  FlowSlots slots;
  FlowNetwork network(slots);
  network.load(*graph);
  SharedLinks links;
  links.load(*graph, network);
  links.reset(true);
  Known result{std::move(graph)};
  for (std::int32_t route = 0; route < result.graph->routes(); ++route) {
    result.shared += links.link_of(route) >= 0 ? 1 : 0;
  }
  return result;
}

/// Runs with a process of capacity changes have the max-min solve for every link.
FiringLog by_solve(const std::shared_ptr<const TransferGraph>& graph) {
  CapacitySchedule none({});
  FiringLog log;
  const auto engine = make_engine("flow");
  engine->load(graph);
  engine->run(&log, &none);
  return log;
}

FiringLog in_virtual_time(const std::shared_ptr<const TransferGraph>& graph) {
  FiringLog log;
  const auto engine = make_engine("flow");
  engine->load(graph);
  engine->run(&log);
  return log;
}

void sort(std::vector<FiringLog::Firing>& firings) {
  std::ranges::sort(firings, [](const auto& a, const auto& b) {
    return std::pair(a.node, a.iteration) < std::pair(b.node, b.iteration);
  });
}

double gap(double a, double b) {
  return a == b ? 0 : std::abs(a - b) / std::max(std::abs(a), std::abs(b));
}

/// A random graph of flows on one or two links each, of which the second never limits them. Flows
/// of a route have the same cap, except in few graphs.
std::shared_ptr<const TransferGraph> random_shared_graph(std::uint64_t seed) {
  Dice dice(seed);
  const bool ties = dice.chance(0.5);
  const bool loaded = dice.chance(0.3);
  const bool mixed = dice.chance(0.1);
  const std::int32_t links = dice.between(1, 4);
  const std::int32_t nodes = dice.between(2, 60);
  TransferGraph graph;
  std::vector<double> capacities_Bps;
  std::vector<double> caps_Bps;
  for (std::int32_t link = 0; link < links; ++link) {
    capacities_Bps.push_back(ties ? dice.one_of({1e9, 2e9, 25e9}) : dice.decades(8, 10));
    caps_Bps.push_back(dice.chance(0.5) ? kNoRateCap : capacities_Bps.back() * dice.unit() + 1);
  }
  const std::int32_t wide = links;
  capacities_Bps.push_back(1e12);
  graph.set_link_capacities(capacities_Bps);
  for (TransferId id = 0; id < nodes; ++id) {
    const std::int32_t link = dice.between(0, links - 1);
    std::vector<std::int32_t> route{link};
    if (!loaded && links == 1 && dice.chance(0.5)) route.push_back(wide);
    const std::vector<std::int32_t> loads(route.size(), dice.between(1, 3));
    const double bytes = dice.chance(0.1) ? 0 : ties ? 1e6 : dice.decades(0, 7);
    const double latency_s = dice.chance(0.3) ? 0 : ties ? 1e-6 : dice.decades(-8, -4);
    const double cap_Bps =
        mixed && dice.chance(0.2) ? 0.5e9 : caps_Bps[static_cast<std::size_t>(link)];
    graph.add_flow(loaded ? graph.add_loaded_route(route, loads) : graph.add_route(route), bytes,
                   latency_s, cap_Bps, dice.between(1, 4));
  }
  for (std::int32_t left = dice.between(0, nodes); left > 0; --left) {
    const TransferId source = dice.between(0, nodes - 1);
    const TransferId target = dice.between(0, nodes - 1);
    const std::int32_t lag = dice.between(0, 3);
    if (source < target && graph.repeat(source) + lag >= graph.repeat(target)) {
      graph.add_edge(source, target, lag);
    }
  }
  return finished(std::move(graph));
}

}  // namespace

TEST_CASE("flows that share a link alike end by processor sharing", "[sim][shared-links]") {
  const auto ends = [](double cap_Bps, std::vector<double> bytes, std::vector<double> start_s) {
    TransferGraph graph;
    graph.set_link_capacities({1.0});
    const std::int32_t route = add_route(graph, {0});
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      graph.add_flow(route, bytes[i], start_s[i], cap_Bps);
    }
    return run_once("flow", known(finished(std::move(graph))).graph).end_s;
  };
  // A third each until byte 1, then half each until byte 2, then all.
  CHECK(ends(kNoRateCap, {1, 2, 3}, {0, 0, 0}) == std::vector<double>{3, 5, 6});
  // The first has moved 1 byte when the second comes, and 2 when it goes.
  CHECK(ends(kNoRateCap, {4, 1}, {0, 1}) == std::vector<double>{5, 3});
  // The link is idle from 1 to 2.
  CHECK(ends(kNoRateCap, {1, 1, 1}, {0, 2, 2}) == std::vector<double>{1, 4, 4});
  // Four have a quarter each, whatever their cap; three have no more than their cap.
  CHECK(ends(0.25, {1, 1, 1, 1, 2}, {0, 0, 0, 0, 4}) == std::vector<double>{4, 4, 4, 4, 12});
}

TEST_CASE("a flow of as many bytes that starts at the end of another is not done with it",
          "[sim][shared-links]") {
  TransferGraph graph;
  graph.set_link_capacities({1.0, 1.0});
  const std::int32_t route = add_route(graph, {0});
  graph.add_flow(route, 1, 0, kNoRateCap, 3);
  // Two on another link, so that the graph is not run by dependencies.
  for (int i = 0; i < 2; ++i) graph.add_flow(add_route(graph, {1}), 1, 0);
  const Known each = known(finished(std::move(graph)));
  CHECK(each.shared == 2);
  const FiringLog log = in_virtual_time(each.graph);
  std::vector<double> ends_s;
  for (const FiringLog::Firing& firing : log.firings) {
    if (firing.node == 0) ends_s.push_back(firing.end_s);
  }
  CHECK(ends_s == std::vector<double>{1, 2, 3});
}

TEST_CASE("links in virtual time have the dates of the max-min solve", "[sim][shared-links]") {
  int with_shared_links = 0;
  int without = 0;
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    const Known each = known(random_shared_graph(seed));
    (each.shared > 0 ? with_shared_links : without) += 1;
    FiringLog solved = by_solve(each.graph);
    FiringLog virtual_time = in_virtual_time(each.graph);
    sort(solved.firings);
    sort(virtual_time.firings);
    REQUIRE(virtual_time.firings.size() == solved.firings.size());
    for (std::size_t i = 0; i < solved.firings.size(); ++i) {
      const auto& a = solved.firings[i];
      const auto& b = virtual_time.firings[i];
      REQUIRE(std::pair(a.node, a.iteration) == std::pair(b.node, b.iteration));
      worst = std::max({worst, gap(a.start_s, b.start_s), gap(a.end_s, b.end_s)});
    }
    REQUIRE(worst <= 1e-12);
  }
  CHECK(with_shared_links >= 1000);
  CHECK(without >= 10);
}

TEST_CASE("the earliest of many dates is found", "[sim][shared-links]") {
  Dice dice(1);
  for (const std::size_t size : {1U, 2U, 5U, 64U, 100U}) {
    DateTournament tournament;
    tournament.reset(size);
    std::vector<double> dates(size, DateTournament::kNever);
    CHECK(tournament.next_date() == DateTournament::kNever);
    for (int change = 0; change < 2000; ++change) {
      const std::int32_t number = dice.between(0, static_cast<std::int32_t>(size) - 1);
      const double date_s = dice.chance(0.2) ? DateTournament::kNever : dice.between(0, 40);
      tournament.set(number, date_s);
      dates[static_cast<std::size_t>(number)] = date_s;
      const double least_s = *std::ranges::min_element(dates);
      REQUIRE(tournament.next_date() == least_s);
      if (least_s < DateTournament::kNever) {
        REQUIRE(dates[static_cast<std::size_t>(tournament.next())] == least_s);
      }
    }
  }
}

TEST_CASE("latencies of a few lengths end in the order of their dates", "[sim][shared-links]") {
  TransferGraph graph;
  const std::vector<double> lengths_s{1, 2, 0, 5, 7, 11};  // more than there are queues
  for (const double length_s : lengths_s) graph.add_delay(length_s);
  graph.finish();
  LatencyLanes lanes;
  lanes.load(graph);
  lanes.reset(false);
  CHECK_FALSE(lanes.add(0, 1, 0));
  lanes.reset(true);
  CHECK_FALSE(lanes.add(5, 11, 0));
  Dice dice(2);
  std::multiset<double> ends_s;
  double now_s = 0;
  for (int step = 0; step < 3000; ++step) {
    if (dice.chance(0.52)) {
      const auto node = static_cast<TransferId>(dice.one_of({0, 1, 3, 4}));
      const double length_s = lengths_s[static_cast<std::size_t>(node)];
      REQUIRE(lanes.add(node, length_s, now_s));
      ends_s.insert(now_s + length_s);
    } else if (!ends_s.empty()) {
      now_s = *ends_s.begin();
      ends_s.erase(ends_s.begin());
      REQUIRE(lanes.next_date() == now_s);
      const TransferId node = lanes.pop();
      REQUIRE(node >= 0);
    }
    REQUIRE(lanes.next_date() ==
            (ends_s.empty() ? std::numeric_limits<double>::infinity() : *ends_s.begin()));
  }
  CHECK(ends_s.size() > 20);
}
