// Random transfer graphs that are hard for engines: capacities over decades, shared links, caps,
// exact ties, zero bytes, zero latencies, folded graphs; optionally with alternative routes,
// changing capacities and a background.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/graph/capacity_process.hpp"
#include "sim/graph/transfer_graph.hpp"

namespace cclgym::test {

/// Random draws that are the same with every standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : bits_(seed) {}
  /// A number in [0, 1).
  double unit() { return static_cast<double>(bits_() >> 11U) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  /// An integer in [least, most].
  std::int32_t between(std::int32_t least, std::int32_t most) {
    return least + static_cast<std::int32_t>(unit() * (most - least + 1));
  }
  /// A number whose exponent is uniform.
  double decades(double least_exponent, double most_exponent) {
    return std::pow(10.0, least_exponent + unit() * (most_exponent - least_exponent));
  }
  double one_of(std::initializer_list<double> values) {
    return values.begin()[between(0, static_cast<std::int32_t>(values.size()) - 1)];
  }

 private:
  std::mt19937_64 bits_;
};

/// Optional features of a random graph.
struct Extras {
  bool alternatives = false;
  bool changes = false;
  bool background = false;
};

class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed, Extras extras = {}) : dice_(seed) {
    ties_ = dice_.chance(0.5);  // few distinct values, so that dates coincide
    folded_ = dice_.chance(0.3);
    make_links();
    make_nodes();
    if (extras.alternatives) make_alternatives();
    make_edges();
    graph_->finish();
    if (extras.changes) make_changes();
    if (extras.background) make_background(extras.alternatives);
  }
  [[nodiscard]] std::shared_ptr<const TransferGraph> graph() const { return graph_; }
  [[nodiscard]] const std::vector<CapacityChange>& changes() const { return changes_; }

 private:
  double random_capacity_Bps() {
    return ties_ ? dice_.one_of({1e9, 2e9, 25e9}) : dice_.decades(7, 11);
  }

  void make_alternatives() {
    for (std::int32_t sets = dice_.between(1, 3); sets > 0; --sets) {
      std::vector<std::vector<std::int32_t>> ways;
      for (std::int32_t tries = dice_.between(1, 4); tries > 0; --tries) {
        ways.push_back(random_links());
      }
      const std::int32_t set = graph_->add_ways(ways);
      for (std::int32_t route = 0; route < graph_->routes(); ++route) {
        const auto links = graph_->route_links(route);
        const std::int32_t first = dice_.between(0, static_cast<std::int32_t>(links.size()) - 1);
        const std::int32_t count =
            dice_.between(1, static_cast<std::int32_t>(links.size()) - first);
        const auto meets = [&](std::int32_t link) {
          const auto at = std::find(links.begin(), links.end(), link) - links.begin();
          return at < first || (at >= first + count && at < std::ssize(links));
        };
        const bool fits = std::none_of(ways.begin(), ways.end(), [&](const auto& way) {
          return std::any_of(way.begin(), way.end(), meets);
        });
        if (fits && graph_->choice(route).ways < 0 && dice_.chance(0.7)) {
          graph_->set_alternatives(route, first, count, set);
        }
      }
    }
  }

  void make_changes() {
    for (std::int32_t left = dice_.between(0, 60); left > 0; --left) {
      const double time_s = ties_ ? dice_.one_of({0, 0.7e-6, 1e-6, 1.7e-6, 1e-3, 2e-3, 3.5e-3})
                                  : dice_.decades(-7, -2);
      changes_.push_back({time_s, dice_.between(0, links_ - 1), random_capacity_Bps()});
    }
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const auto& a, const auto& b) { return a.time_s < b.time_s; });
  }

  /// Intermittent background flows, independent or chained, with about 100 firings during the job.
  void make_background(bool alternatives) {
    const std::shared_ptr<TransferGraph> job =
        std::exchange(graph_, std::make_shared<TransferGraph>());
    const auto engine = make_engine("flow");
    engine->load(job);
    const double pace_s = std::max(1e-9, engine->run().makespan_s / 100);
    const auto capacities = job->link_capacities_Bps();
    graph_->set_link_capacities({capacities.begin(), capacities.end()});
    for (std::int32_t left = dice_.between(1, 4); left > 0; --left) {
      const std::int32_t repeat = dice_.chance(0.7) ? TransferGraph::kForever : dice_.between(1, 9);
      const TransferId flow =
          graph_->add_flow(random_route(), ties_ ? 1e6 : dice_.decades(4, 7), pace_s,
                           dice_.chance(0.5) ? dice_.decades(7, 11) : kNoRateCap, repeat);
      if (dice_.chance(0.5)) {
        const TransferId pause = graph_->add_delay(pace_s * dice_.unit() + 1e-9, repeat);
        graph_->add_edge(pause, flow);
        graph_->add_edge(flow, pause, 1);
      }
      if (dice_.chance(0.5)) {
        graph_->add_edge(graph_->add_delay(random_latency_s()), flow, TransferGraph::kFirstOnly);
      }
    }
    if (alternatives) make_alternatives();
    graph_->finish();
    graph_ = std::make_shared<TransferGraph>(job->with_background(*graph_));
  }

  void make_links() {
    std::vector<double> capacities(static_cast<std::size_t>(dice_.between(1, 8)));
    for (double& capacity : capacities) {
      capacity = random_capacity_Bps();
    }
    links_ = static_cast<std::int32_t>(capacities.size());
    graph_->set_link_capacities(std::move(capacities));
  }

  std::vector<std::int32_t> random_links() {
    std::vector<std::int32_t> links;
    for (std::int32_t tries = dice_.between(1, 4); tries > 0; --tries) {
      const std::int32_t link = dice_.between(0, links_ - 1);
      if (std::find(links.begin(), links.end(), link) == links.end()) {
        links.push_back(link);
      }
    }
    return links;
  }
  std::int32_t random_route() { return graph_->add_route(random_links()); }

  double random_latency_s() {
    if (dice_.chance(0.3)) {
      return 0;
    }
    return ties_ ? dice_.one_of({0.7e-6, 1e-6, 1e-3}) : dice_.decades(-8, -3);
  }

  void make_nodes() {
    const std::int32_t nodes = dice_.between(1, 40);
    for (std::int32_t node = 0; node < nodes; ++node) {
      const std::int32_t repeat = folded_ ? dice_.between(1, 5) : 1;
      if (dice_.chance(0.1)) {
        graph_->add_delay(random_latency_s(), repeat);
        continue;
      }
      double bytes = ties_ ? dice_.one_of({1024, 1e6, 1e6 / 3}) : dice_.decades(-1, 7);
      if (dice_.chance(0.1)) {
        bytes = 0;
      }
      double cap = kNoRateCap;
      if (dice_.chance(0.4)) {
        cap = ties_ ? dice_.one_of({5e8, 1e9, 1e10}) : dice_.decades(7, 11);
      }
      graph_->add_flow(random_route(), bytes, random_latency_s(), cap, repeat);
    }
  }

  /// Adds only satisfiable edges: the source fires often enough, and every cycle has a lag.
  void make_edges() {
    const std::int32_t nodes = static_cast<std::int32_t>(graph_->size());
    const std::int32_t edges = dice_.between(0, 2 * nodes);
    for (std::int32_t edge = 0; edge < edges && nodes > 1; ++edge) {
      const TransferId source = dice_.between(0, nodes - 1);
      const TransferId target = dice_.between(0, nodes - 1);
      const std::int32_t lag = folded_ ? dice_.between(0, 3) : 0;
      if ((source < target || lag > 0) && graph_->repeat(source) + lag >= graph_->repeat(target)) {
        graph_->add_edge(source, target, lag);
      }
    }
  }

  Dice dice_;
  std::shared_ptr<TransferGraph> graph_ = std::make_shared<TransferGraph>();
  std::vector<CapacityChange> changes_;
  std::int32_t links_ = 0;
  bool ties_ = false;
  bool folded_ = false;
};

/// A random graph of nodes that fire up to 40 times, with edges of all kinds, on links that hardly
/// ever saturate.
inline std::shared_ptr<const TransferGraph> random_roomy_graph(std::uint64_t seed) {
  Dice dice(seed);
  const bool ties = dice.chance(0.5);
  const bool folded = dice.chance(0.8);
  const std::int32_t links = dice.between(1, 5);
  const std::int32_t nodes = dice.between(1, 30);
  const std::int32_t tiles = dice.between(2, 40);
  TransferGraph graph;
  std::vector<double> capacities_Bps;
  for (std::int32_t link = 0; link < links; ++link) {
    // Room for all nodes at once, in most graphs.
    capacities_Bps.push_back(dice.chance(0.97) ? 1e9 * nodes * (1 + dice.unit()) : 2e9);
  }
  graph.set_link_capacities(capacities_Bps);
  std::vector<TransferId> order;  // the order along the edges without a lag
  for (std::int32_t id = 0; id < nodes; ++id) {
    const std::int32_t repeat = !folded || dice.chance(0.1) ? 1
                                : dice.chance(0.9)          ? tiles
                                                            : dice.between(1, 40);
    const double latency_s = dice.chance(0.2) ? 0 : ties ? 1e-6 : dice.decades(-8, -5);
    if (dice.chance(0.3)) {
      graph.add_delay(latency_s, repeat, dice.chance(0.5));
    } else {
      std::vector<std::int32_t> route{dice.between(0, links - 1)};
      if (dice.chance(0.5)) route.push_back((route.front() + 1) % links);
      if (links == 1) route.resize(1);
      const double bytes = dice.chance(0.1) ? 0 : ties ? 1e3 : dice.decades(0, 5);
      graph.add_flow(graph.add_route(route), bytes, latency_s, dice.one_of({1e9, 0.5e9, 0.9e9}),
                     repeat);
    }
    order.insert(order.begin() + dice.between(0, id), id);
  }
  for (std::int32_t tries = dice.between(0, 3 * nodes); tries > 0; --tries) {
    std::int32_t from = dice.between(0, nodes - 1);
    std::int32_t to = dice.between(0, nodes - 1);
    const double kind = dice.unit();
    // Most edges lead forward, so that few graphs stall.
    if (from > to && (kind < 0.7 || dice.chance(0.9))) std::swap(from, to);
    const std::int32_t lag = kind < 0.4    ? 0
                             : kind < 0.55 ? TransferGraph::kFirstOnly
                             : kind < 0.7  ? TransferGraph::kAfterLast
                                           : dice.between(1, 9);
    if (from == to) continue;
    graph.add_edge(order[static_cast<std::size_t>(from)], order[static_cast<std::size_t>(to)],
                   folded ? lag : 0);
  }
  graph.finish();
  return std::make_shared<const TransferGraph>(std::move(graph));
}

}  // namespace cclgym::test
