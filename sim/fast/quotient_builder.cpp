// Building a QuotientProgram from a lowered program.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "core/index.hpp"
#include "sim/fast/quotient_program.hpp"
#include "sim/graph/symmetry.hpp"

namespace cclgym {

class QuotientBuilder {
 public:
  QuotientBuilder(const LoweredProgram& lowered, QuotientProgram& made)
      : lowered_(lowered), graph_(*lowered.graph), made_(made), tiles_(lowered.tiles) {}

  bool build() {
    if ((tiles_ > 1 && tiles_ <= kMostSlots) || !lowered_.costs.delays.empty()) return false;
    take_records();
    if (graph_.adaptive()) {
      node_class_.resize(at(graph_.size()));
      std::iota(node_class_.begin(), node_class_.end(), 0);
      take_whole();
    } else if (!divide()) {
      return false;
    }
    for (const TransferId last : lowered_.rank_last) {
      made_.watched_.push_back(node_class_[at(last)]);
    }
    std::ranges::sort(made_.watched_);
    made_.watched_.erase(std::unique(made_.watched_.begin(), made_.watched_.end()),
                         made_.watched_.end());
    return agrees();
  }

 private:
  // The part of a cost record that decides a price. Routes over different links are equal if they
  // add the same time to the smallest message of the protocol that every model has; launches are
  // equal if they take the same time.
  using Key = std::tuple<Work, Opcode, bool, std::int32_t, double, std::int32_t, double>;

  // Index of the first route on which a message costs the same, by route.
  [[nodiscard]] std::vector<std::int32_t> first_equal_routes() const {
    std::map<std::tuple<bool, double, double>, std::int32_t> known;
    std::vector<std::int32_t> first;
    for (std::size_t i = 0; i < made_.routes_.size(); ++i) {
      const std::vector<LinkId>& route = made_.routes_[i];
      const bool network = std::any_of(route.begin(), route.end(), [this](LinkId link) {
        return made_.fabric_->links()[at(link)].kind == LinkKind::Network;
      });
      const PriceTerms terms{Config{}, {.runtime = made_.traits_.runtime}, 1};
      const auto price_of = [&](Work work) {
        const NodeCost least{.work = work, .chunks = 1, .route = static_cast<std::int32_t>(i)};
        return price(made_.model_, *made_.fabric_, terms, made_.routes_, least).latency_s;
      };
      first.push_back(known
                          .try_emplace({network, price_of(Work::Transfer), price_of(Work::Arrival)},
                                       static_cast<std::int32_t>(i))
                          .first->second);
    }
    return first;
  }

  // Copies the records of all nodes, but only the first of those with the same key.
  void take_records() {
    const NodeCosts& costs = lowered_.costs;
    const std::vector<std::int32_t> first_route = first_equal_routes();
    std::map<Key, std::int32_t> known;
    std::vector<std::int32_t> taken(costs.records.size(), -1);  // by record of the program
    for (TransferId id = 0; id < graph_.size(); ++id) {
      const auto own = at(costs.record_of[at(id)]);
      if (taken[own] < 0) {
        const NodeCost& cost = costs.records[own];
        const bool fixed = cost.work == Work::Launch || cost.work == Work::KernelGap;
        const Key key{fixed ? Work::Launch : cost.work,
                      cost.opcode,
                      cost.reducing,
                      cost.chunks,
                      cost.gpu_rate,
                      cost.route < 0 ? -1 : first_route[at(cost.route)],
                      fixed ? graph_.latency_s(id) : 0};
        const auto [entry, fresh] =
            known.try_emplace(key, static_cast<std::int32_t>(made_.records_.size()));
        if (fresh) made_.records_.push_back(cost);
        taken[own] = entry->second;
      }
      made_.nodes_.push_back({.record = taken[own], .once = graph_.repeat(id) == 1});
      keys_.push_back(static_cast<std::uint64_t>(taken[own]));
    }
  }

  // Makes every node a class of its own.
  void take_whole() {
    made_.graph_ = lowered_.graph;
    const std::size_t links = graph_.link_capacities_Bps().size();
    for (std::size_t link = 0; link < links; ++link) {
      made_.is_proxy_.push_back(link >= lowered_.fabric_links ? 1 : 0);
    }
  }

  // Finds the classes of nodes and links, and builds their graph.
  bool divide() {
    std::optional<GraphSymmetry> found = find_symmetry(graph_, keys_);
    if (!found) return false;
    symmetry_ = std::move(*found);
    node_class_ = symmetry_.node_class;
    made_.share_ = static_cast<double>(symmetry_.node.size()) / static_cast<double>(graph_.size());
    std::vector<QuotientProgram::Node> nodes;
    for (const TransferId first : symmetry_.node) nodes.push_back(made_.nodes_[at(first)]);
    made_.nodes_ = std::move(nodes);
    auto classes = std::make_shared<TransferGraph>();
    add_links(*classes);
    for (std::size_t i = 0; i < made_.nodes_.size(); ++i) {
      const TransferId first = symmetry_.node[i];
      const std::int32_t route = made_.nodes_[i].class_of_bounds;
      if (route < 0) {
        classes->add_delay(0, graph_.repeat(first), graph_.overlapping(first));
      } else {
        classes->add_flow(route, 0, 0, kNoRateCap, graph_.repeat(first));
      }
    }
    add_edges(*classes);
    classes->finish();
    made_.graph_ = std::move(classes);
    return true;
  }

  // Number of flows of a class that one link of a class carries.
  struct Load {
    std::int32_t flow = 0;  // class of flows
    std::int32_t link = 0;  // class of links
    std::int32_t count = 0;
  };

  // Loads in ascending order of classes of links, then of flows.
  [[nodiscard]] std::vector<Load> loads() const {
    std::vector<std::pair<std::int32_t, std::int32_t>> crossings;
    for (TransferId id = 0; id < graph_.size(); ++id) {
      if (graph_.route_of(id) < 0) continue;
      for (const std::int32_t link : graph_.route_links(graph_.route_of(id))) {
        const std::int32_t of = symmetry_.link_class[at(link)];
        if (symmetry_.link[at(of)] == link) crossings.emplace_back(of, node_class_[at(id)]);
      }
    }
    std::ranges::sort(crossings);
    std::vector<Load> all;
    for (const auto& [link, flow] : crossings) {
      if (all.empty() || all.back().link != link || all.back().flow != flow) {
        all.push_back({flow, link, 0});
      }
      ++all.back().count;
    }
    return all;
  }

  // A class of links carries as many flows of each class as its first link does. Links of the
  // fabric are left out if another link on the routes of all their flows limits these flows first.
  void add_links(TransferGraph& classes) {
    const std::vector<Load> by_link = loads();
    std::vector<Load> by_flow = by_link;
    std::stable_sort(by_flow.begin(), by_flow.end(),
                     [](const Load& x, const Load& y) { return x.flow < y.flow; });
    const auto all_Bps = graph_.link_capacities_Bps();
    std::vector<double> capacity_Bps;
    for (const std::int32_t first : symmetry_.link) {
      capacity_Bps.push_back(all_Bps[at(first)]);
      made_.is_proxy_.push_back(at(first) >= lowered_.fabric_links ? 1 : 0);
    }
    // The part of a list, sorted by a member, in which the member has this value.
    const auto with = [](const std::vector<Load>& sorted, std::int32_t Load::*member,
                         std::int32_t value) {
      const auto begin = std::lower_bound(
          sorted.begin(), sorted.end(), value,
          [member](const Load& load, std::int32_t wanted) { return load.*member < wanted; });
      const auto end = std::upper_bound(
          begin, sorted.end(), value,
          [member](std::int32_t wanted, const Load& load) { return wanted < load.*member; });
      return std::span<const Load>(begin, end);
    };
    const auto on_link = [&](std::int32_t link) { return with(by_link, &Load::link, link); };
    const auto of_flow = [&](std::int32_t flow) { return with(by_flow, &Load::flow, flow); };
    const auto binds_before = [&](std::int32_t strict, std::int32_t loose) {
      if (strict == loose || made_.is_proxy_[at(strict)] != 0 || made_.is_proxy_[at(loose)] != 0) {
        return false;
      }
      const std::span<const Load> on_strict = on_link(strict);
      auto strictly = on_strict.begin();
      bool equal = on_strict.size() == on_link(loose).size();
      for (const Load& loosely : on_link(loose)) {
        while (strictly != on_strict.end() && strictly->flow < loosely.flow) ++strictly;
        if (strictly == on_strict.end() || strictly->flow != loosely.flow) return false;
        const double strict_share = strictly->count / capacity_Bps[at(strict)];
        const double loose_share = loosely.count / capacity_Bps[at(loose)];
        if (strict_share < loose_share) return false;
        equal = equal && strict_share == loose_share;
      }
      return !equal || strict < loose;
    };
    std::vector<std::uint8_t> left_out(symmetry_.link.size(), 0);
    for (std::size_t of = 0; of < left_out.size(); ++of) {
      const auto loose = static_cast<std::int32_t>(of);
      const std::span<const Load> own = on_link(loose);
      if (own.empty()) continue;
      // Only links on the route of every flow can limit all of them.
      for (const Load& other : of_flow(own.front().flow)) {
        if (binds_before(other.link, loose)) {
          left_out[of] = 1;
          break;
        }
      }
    }
    for (std::size_t node = 0; node < made_.nodes_.size(); ++node) {
      if (graph_.route_of(symmetry_.node[node]) < 0) continue;
      QuotientProgram::Bound bound;
      std::vector<std::int32_t> links;
      std::vector<std::int32_t> own_loads;
      for (const Load& own : of_flow(static_cast<std::int32_t>(node))) {
        if (made_.is_proxy_[at(own.link)] != 0) {
          bound.max_proxy_load = std::max(bound.max_proxy_load, own.count);
        } else {
          bound.narrowest_Bps =
              std::min(bound.narrowest_Bps, capacity_Bps[at(own.link)] / own.count);
        }
        if (left_out[at(own.link)] != 0) continue;
        links.push_back(own.link);
        own_loads.push_back(own.count);
      }
      made_.nodes_[node].class_of_bounds = classes.add_loaded_route(links, own_loads);
      made_.bounds_.push_back(bound);
    }
    classes.set_link_capacities(std::move(capacity_Bps));
  }

  void add_edges(TransferGraph& classes) const {
    std::vector<std::pair<std::pair<TransferId, TransferId>, std::int32_t>> edges;
    for (TransferId id = 0; id < graph_.size(); ++id) {
      for (const TransferGraph::Edge& edge : graph_.successors(id)) {
        const TransferId target = node_class_[at(edge.target)];
        if (symmetry_.node[at(target)] == edge.target) {
          edges.push_back({{node_class_[at(id)], target}, edge.lag});
        }
      }
    }
    std::ranges::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    for (const auto& [ends, lag] : edges) classes.add_edge(ends.first, ends.second, lag);
  }

  // True if the records give exactly the bytes, latencies, rate caps and repeats of the graph. Only
  // choices of routes may have raised a latency.
  bool agrees() {
    const PriceTerms& terms = lowered_.costs.terms;
    const std::vector<Price> prices = made_.prices(terms.config, terms.tile_bytes);
    for (TransferId id = 0; id < graph_.size(); ++id) {
      const QuotientProgram::Node& node = made_.nodes_[at(node_class_[at(id)])];
      const Price& price = prices[at(node.record)];
      const bool raised =
          graph_.adaptive() && graph_.latency_s(id) == TransferGraph::kRouteChoice_s;
      if (price.wire_bytes != graph_.bytes(id) ||
          (price.latency_s != graph_.latency_s(id) && !raised) ||
          price.rate_cap_Bps != graph_.rate_cap_Bps(id) ||
          graph_.repeat(id) != (node.once ? 1 : tiles_)) {
        return false;
      }
    }
    return true;
  }

  const LoweredProgram& lowered_;
  const TransferGraph& graph_;
  QuotientProgram& made_;
  std::int32_t tiles_;
  std::vector<std::uint64_t> keys_;  // by node
  GraphSymmetry symmetry_;
  std::vector<TransferId> node_class_;  // by node
};

std::unique_ptr<QuotientProgram> QuotientProgram::make(const LoweredProgram& lowered,
                                                       std::shared_ptr<const Fabric> fabric,
                                                       const CostModel& model,
                                                       const NoiseProfile& noise) {
  if (!possible(model, noise) || !lowered.program || lowered.folded ||
      uses_switches(*lowered.program)) {
    return nullptr;
  }
  std::unique_ptr<QuotientProgram> made(new QuotientProgram(lowered, std::move(fabric), model));
  if (!QuotientBuilder(lowered, *made).build()) return nullptr;
  return made;
}

}  // namespace cclgym
