// The rates of engine flow against an oracle that shares no code and no idea with it: raise all
// flows together, a little further each time, and freeze those that meet a full link or their cap.
#include "sim/flow_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "engine_random_graphs.hpp"
#include "engine_testing.hpp"

using namespace cclgym;
using cclgym::testing::Dice;

namespace {

struct Demand {
  std::vector<std::int32_t> links;
  double cap_Bps;
};

/// Max-min fair rates by the textbook's water filling: in each round all flows that are not frozen
/// rise by the largest step that no link and no cap forbids. Cubic, no data structure.
std::vector<double> water_filling(const std::vector<double>& capacities,
                                  const std::vector<Demand>& demands) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> rates(demands.size(), 0);
  std::vector<bool> frozen(demands.size(), false);
  double level = 0;
  for (std::size_t left = demands.size(); left > 0;) {
    // The level at which each link would be full, and the lowest of these and of the caps.
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

/// Some flows on some links that come and go, with the rates that FlowNetwork last gave them.
class Traffic {
 public:
  explicit Traffic(std::uint64_t seed) : dice_(seed), ties_(dice_.chance(0.5)) {
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
      network_.add(slot, routes_[static_cast<std::size_t>(route)]);
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

  /// Largest relative difference from the oracle over the flows that are there now.
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
  FlowNetwork network_{slots_};
  std::vector<FlowSlotId> active_;
  std::vector<Demand> demands_;
};

}  // namespace

TEST_CASE("the oracle itself solves the classic cases") {
  const auto rates = water_filling({10, 4}, {{{0, 1}, 1e9}, {{0}, 1e9}, {{1}, 1e9}, {{0}, 1}});
  CHECK(rates[0] == Approx(2));
  CHECK(rates[1] == Approx(7));
  CHECK(rates[2] == Approx(2));
  CHECK(rates[3] == Approx(1));
}

TEST_CASE("rates of random traffic are max-min fair after every change") {
  double worst = 0;
  std::size_t flows = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Traffic traffic(seed);
    for (int round = 0; round < 12; ++round) {
      traffic.come_and_go();
      const double error = traffic.error();
      INFO("seed " << seed << ", round " << round << ", " << traffic.flows() << " flows, error "
                   << error);
      REQUIRE(error <= 1e-12);
      worst = std::max(worst, error);
      flows += traffic.flows();
    }
  }
  INFO("worst error " << worst << " over " << flows << " rates");
  CHECK(flows > 20000);
}
