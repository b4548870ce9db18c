// Compares the rates of engine flow with an oracle that shares no code or method with it. The
// oracle raises all flows together in small steps and freezes flows that meet a full link or their
// cap.
#include "sim/engine/sharing/flow_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/engine/engine_random_graphs.hpp"
#include "sim/engine/engine_testing.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using cclgym::test::Dice;

namespace {

struct Demand {
  std::vector<std::int32_t> links;
  double cap_Bps;
};

/// Max-min fair rates by textbook water filling. In each round all flows that are not frozen rise
/// by the largest step that every link and cap allows. Cubic, without data structures.
std::vector<double> water_filling(const std::vector<double>& capacities,
                                  const std::vector<Demand>& demands) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> rates(demands.size(), 0);
  std::vector<bool> frozen(demands.size(), false);
  double level = 0;
  for (std::size_t left = demands.size(); left > 0;) {
    // The levels at which the links would be full, and the lowest of these levels and of the caps.
    std::vector<double> full_at(capacities.size(), infinity);
    double next = infinity;
    for (std::size_t link = 0; link < capacities.size(); ++link) {
      double taken = 0;
      int rising = 0;
      for (std::size_t flow = 0; flow < demands.size(); ++flow) {
        const auto& links = demands[flow].links;
        if (std::find(links.begin(), links.end(), static_cast<std::int32_t>(link)) == links.end()) {
          continue;
        }
        frozen[flow] ? taken += rates[flow] : taken += 0;
        rising += frozen[flow] ? 0 : 1;
      }
      if (rising > 0) {
        full_at[link] = std::max(level, (capacities[link] - taken) / rising);
        next = std::min(next, full_at[link]);
      }
    }
    for (std::size_t flow = 0; flow < demands.size(); ++flow) {
      if (!frozen[flow]) {
        next = std::min(next, demands[flow].cap_Bps);
      }
    }
    level = next;
    for (std::size_t flow = 0; flow < demands.size(); ++flow) {
      const bool blocked =
          demands[flow].cap_Bps <= level * (1 + 1e-14) ||
          std::any_of(demands[flow].links.begin(), demands[flow].links.end(), [&](auto link) {
            return full_at[static_cast<std::size_t>(link)] <= level * (1 + 1e-14);
          });
      if (!frozen[flow] && blocked) {
        frozen[flow] = true;
        rates[flow] = level;
        --left;
      }
    }
  }
  return rates;
}

/// Flows on some links that come and go, with the last rates that FlowNetwork gave them.
class Traffic {
 public:
  /// `wide` has the same meaning as in FlowNetwork.
  Traffic(std::uint64_t seed, std::size_t wide)
      : dice_(seed), ties_(dice_.chance(0.5)), network_(slots_, wide) {
    const std::int32_t links = dice_.between(1, 12);
    for (std::int32_t link = 0; link < links; ++link) {
      capacities_.push_back(ties_ ? dice_.one_of({1e9, 2e9, 12e9}) : dice_.decades(6, 11));
    }
    TransferGraph graph;
    graph.set_link_capacities(capacities_);
    for (int route = 0; route < 30; ++route) {
      std::vector<std::int32_t> on;
      for (std::int32_t link = 0; link < links; ++link) {
        if (dice_.chance(2.0 / links)) {
          on.push_back(link);
        }
      }
      if (!on.empty() && graph.add_route(on) == static_cast<std::int32_t>(routes_.size())) {
        routes_.push_back(on);
      }
    }
    graph.finish();
    network_.load(graph);
  }

  void come_and_go() {
    const std::int32_t most = routes_.empty() ? 0 : 6;
    for (std::int32_t i = dice_.between(0, most); i > 0; --i) {
      const auto route = dice_.between(0, static_cast<std::int32_t>(routes_.size()) - 1);
      double cap = kNoRateCap;
      if (dice_.chance(0.5)) {
        cap = ties_ ? dice_.one_of({2e8, 1e9, 3e9}) : dice_.decades(6, 11);
      }
      const FlowSlotId slot = slots_.allocate();
      slots_[slot].bound_Bps = network_.bound_Bps(route, cap);
      network_.add(slot, network_.limiting_links(route));
      active_.push_back(slot);
      demands_.push_back({routes_[static_cast<std::size_t>(route)], cap});
    }
    for (std::int32_t i = dice_.between(0, 4); i > 0 && !active_.empty(); --i) {
      const auto gone = dice_.between(0, static_cast<std::int32_t>(active_.size()) - 1);
      if (slots_[active_[static_cast<std::size_t>(gone)]].rate_Bps == 0) {
        continue;  // the engine never removes a flow that has no rate yet
      }
      network_.remove(active_[static_cast<std::size_t>(gone)]);
      slots_.release(active_[static_cast<std::size_t>(gone)]);
      active_.erase(active_.begin() + gone);
      demands_.erase(demands_.begin() + gone);
    }
    for (const FlowSlotId slot : network_.settle()) {
      slots_[slot].rate_Bps = slots_[slot].target_Bps;
    }
  }

  /// Largest relative difference from the oracle over the current flows.
  [[nodiscard]] double error() const {
    const std::vector<double> expected = water_filling(capacities_, demands_);
    double worst = 0;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      worst = std::max(worst, std::abs(slots_[active_[i]].rate_Bps / expected[i] - 1));
    }
    return worst;
  }
  [[nodiscard]] std::size_t flows() const { return active_.size(); }

 private:
  Dice dice_;
  bool ties_;
  std::vector<double> capacities_;
  std::vector<std::vector<std::int32_t>> routes_;
  FlowSlots slots_;
  FlowNetwork network_;
  std::vector<FlowSlotId> active_;
  std::vector<Demand> demands_;
};

}  // namespace

TEST_CASE("the oracle itself solves the classic cases", "[sim][flow-network]") {
  const auto rates = water_filling({10, 4}, {{{0, 1}, 1e9}, {{0}, 1e9}, {{1}, 1e9}, {{0}, 1}});
  CHECK(rates[0] == Approx(2));
  CHECK(rates[1] == Approx(7));
  CHECK(rates[2] == Approx(2));
  CHECK(rates[3] == Approx(1));
}

TEST_CASE("rates of random traffic are max-min fair after every change", "[sim][flow-network]") {
  // Depending on `wide`, all joined flows are solved again, or only the flows around a change.
  for (const std::size_t wide : {std::size_t{1000}, std::size_t{8}, std::size_t{0}}) {
    double worst = 0;
    std::size_t flows = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
      Traffic traffic(seed, wide);
      for (int round = 0; round < 12; ++round) {
        traffic.come_and_go();
        const double error = traffic.error();
        INFO("wide " << wide << ", seed " << seed << ", round " << round << ", " << traffic.flows()
                     << " flows, error " << error);
        REQUIRE(error <= 1e-12);
        worst = std::max(worst, error);
        flows += traffic.flows();
      }
    }
    INFO("worst error " << worst << " over " << flows << " rates");
    CHECK(flows > 20000);
  }
}

TEST_CASE("a link whose flows all cross another link that is not faster limits no flow",
          "[sim][flow-network]") {
  TransferGraph graph;
  graph.set_link_capacities({10e9, 10e9, 20e9, 25e9, 5e9});
  const std::vector<std::vector<std::int32_t>> routes{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 4}, {3}, {}};
  for (const auto& route : routes) (void)graph.add_route(route);
  graph.finish();
  FlowSlots slots;
  FlowNetwork network(slots);
  network.load(graph);
  const auto limiting = [&network](std::int32_t route) {
    const auto links = network.limiting_links(route);
    return std::vector<std::int32_t>(links.begin(), links.end());
  };
  // Link 1 is as fast as link 0 and has the same flows. Not all flows over link 2 cross link 0 or
  // 4, and not all flows over link 3 cross another link.
  CHECK(limiting(0) == std::vector<std::int32_t>{0, 2, 3});
  CHECK(limiting(1) == std::vector<std::int32_t>{3, 2, 0});
  CHECK(limiting(2) == std::vector<std::int32_t>{2, 4});
  CHECK(limiting(3) == std::vector<std::int32_t>{3});
  CHECK(limiting(4).empty());
  network.reset(true);  // any of the links may become the slowest
  CHECK(limiting(0) == routes[0]);
}

TEST_CASE("solving around each change gives thousands of joined flows the rates of a full solve",
          "[sim][flow-network]") {
  // Nodes on a line. Each has flows to nearby nodes, over the links of both.
  constexpr std::int32_t kServers = 150;
  TransferGraph graph;
  std::vector<std::vector<std::int32_t>> routes;
  Dice dice(7);
  std::vector<double> capacities;
  for (std::int32_t link = 0; link < 2 * kServers; ++link) {
    capacities.push_back(dice.one_of({10e9, 25e9, 25e9, 40e9}));
  }
  graph.set_link_capacities(capacities);
  for (std::int32_t server = 0; server < kServers; ++server) {
    for (std::int32_t other = server + 1; other < std::min(kServers, server + 4); ++other) {
      for (const auto& [from, to] : {std::pair{server, other}, {other, server}}) {
        routes.push_back({2 * from, 2 * to + 1});
        REQUIRE(graph.add_route(routes.back()) == std::ssize(routes) - 1);
      }
    }
  }
  graph.finish();
  FlowSlots slots[2];
  FlowNetwork networks[2] = {FlowNetwork(slots[0], 1'000'000), FlowNetwork(slots[1])};
  for (FlowNetwork& network : networks) network.load(graph);
  std::vector<FlowSlotId> active;
  std::size_t touched[2] = {0, 0};
  for (int round = 0; round < 3000; ++round) {
    const auto route =
        static_cast<std::size_t>(dice.between(0, static_cast<std::int32_t>(routes.size()) - 1));
    const double cap = dice.chance(0.3) ? dice.decades(9, 10) : kNoRateCap;
    const bool leaves = active.size() > 1500;
    const auto gone = static_cast<std::size_t>(
        dice.between(0, std::max<std::int32_t>(0, static_cast<std::int32_t>(active.size()) - 1)));
    for (int i = 0; i < 2; ++i) {
      const FlowSlotId slot = slots[i].allocate();
      slots[i][slot].bound_Bps = networks[i].bound_Bps(static_cast<std::int32_t>(route), cap);
      networks[i].add(slot, routes[route]);
      if (i == 0) active.push_back(slot);
      REQUIRE(active.back() == slot);
      if (leaves) {
        networks[i].remove(active[gone]);
        slots[i].release(active[gone]);
      }
      for (const FlowSlotId changed : networks[i].settle()) {
        slots[i][changed].rate_Bps = slots[i][changed].target_Bps;
        ++touched[i];
      }
    }
    if (leaves) active.erase(active.begin() + static_cast<std::ptrdiff_t>(gone));
    double worst = 0;
    for (const FlowSlotId slot : active) {
      worst = std::max(worst, std::abs(slots[1][slot].rate_Bps / slots[0][slot].rate_Bps - 1));
    }
    INFO("round " << round << ", " << active.size() << " flows");
    REQUIRE(worst <= 1e-12);
  }
  INFO(touched[0] << " rates found by full solves, " << touched[1] << " around changes");
  CHECK(touched[0] > 3 * touched[1]);
}
