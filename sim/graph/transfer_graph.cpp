#include "sim/graph/transfer_graph.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

namespace cclgym {
namespace {

std::size_t hash_route(std::span<const std::int32_t> links) {
  std::uint64_t hash = 0x9e3779b97f4a7c15U + links.size();
  for (const std::int32_t link : links) {
    hash ^= static_cast<std::uint32_t>(link);
    hash *= 0xff51afd7ed558ccdU;
    hash ^= hash >> 32U;
  }
  return static_cast<std::size_t>(hash);
}

/// `describe` formats the message; it is called only on failure, as graphs have millions of nodes.
template <class Describe>
void require(bool condition, Describe&& describe) {
  if (!condition) {
    throw std::logic_error("TransferGraph: " + std::string(describe()));
  }
}

bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

}  // namespace

void TransferGraph::check_open(const char* function) const {
  require(!finished_, [&] { return fmt::format("{} after finish", function); });
}

void TransferGraph::check_node(TransferId id, const char* function) const {
  require(id >= 0 && id < size(),
          [&] { return fmt::format("{}: no node {} among {}", function, id, size()); });
}

void TransferGraph::set_link_capacities(std::vector<double> capacities_Bps) {
  check_open("set_link_capacities");
  for (std::size_t link = 0; link < capacities_Bps.size(); ++link) {
    require(std::isfinite(capacities_Bps[link]) && capacities_Bps[link] > 0, [&] {
      return fmt::format("link {} has a capacity of {} B/s", link, capacities_Bps[link]);
    });
  }
  link_capacity_Bps_ = std::move(capacities_Bps);
}

void TransferGraph::grow_route_table() {
  std::size_t slots = std::max<std::size_t>(16, route_table_.size() * 2);
  while (slots < 2 * at(routes() + 1)) slots *= 2;
  route_table_.assign(slots, -1);
  for (std::int32_t route = 0; route < routes(); ++route) {
    std::size_t slot = hash_route(route_links(route)) & (slots - 1);
    while (route_table_[slot] >= 0) {
      slot = (slot + 1) & (slots - 1);
    }
    route_table_[slot] = route;
  }
}

std::int32_t TransferGraph::add_route(std::span<const std::int32_t> links) {
  check_open("add_route");
  require(!loaded(), [] { return "routes without loads in a graph that has routes with loads"; });
  if (2 * static_cast<std::size_t>(routes() + 1) > route_table_.size()) {
    grow_route_table();
  }
  const std::size_t mask = route_table_.size() - 1;
  std::size_t slot = hash_route(links) & mask;
  for (; route_table_[slot] >= 0; slot = (slot + 1) & mask) {
    const auto known = route_links(route_table_[slot]);
    if (std::equal(known.begin(), known.end(), links.begin(), links.end())) {
      return route_table_[slot];
    }
  }
  std::vector<std::int32_t> sorted(links.begin(), links.end());
  std::sort(sorted.begin(), sorted.end());
  require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
          [&] { return "a route crosses the same link twice"; });
  require(sorted.empty() || sorted.front() >= 0,
          [&] { return "a route with a negative link index"; });
  const std::int32_t route = routes();
  route_links_.insert(route_links_.end(), links.begin(), links.end());
  route_offset_.push_back(route_links_.size());
  route_table_[slot] = route;
  return route;
}

std::int32_t TransferGraph::add_loaded_route(std::span<const std::int32_t> links,
                                             std::span<const std::int32_t> loads) {
  check_open("add_loaded_route");
  require(links.size() == loads.size() && route_loads_.size() == route_links_.size(),
          [] { return "routes with loads in a graph that has routes without loads"; });
  std::vector<std::int32_t> sorted(links.begin(), links.end());
  std::sort(sorted.begin(), sorted.end());
  require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
              std::all_of(loads.begin(), loads.end(), [](std::int32_t load) { return load >= 1; }),
          [] { return "a loaded route crosses a link twice or has a load < 1"; });
  route_links_.insert(route_links_.end(), links.begin(), links.end());
  route_loads_.insert(route_loads_.end(), loads.begin(), loads.end());
  route_offset_.push_back(route_links_.size());
  return routes() - 1;
}

std::int32_t TransferGraph::add_ways(std::span<const std::vector<std::int32_t>> ways) {
  check_open("add_ways");
  require(!ways.empty() && ways.size() < std::numeric_limits<std::uint16_t>::max(),
          [&] { return fmt::format("a set of {} alternatives", ways.size()); });
  for (const std::vector<std::int32_t>& way : ways) {
    std::vector<std::int32_t> sorted(way.begin(), way.end());
    std::sort(sorted.begin(), sorted.end());
    require(!way.empty() && sorted.front() >= 0 &&
                std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
            [] { return "an alternative is empty or crosses the same link twice"; });
    way_links_.insert(way_links_.end(), way.begin(), way.end());
    way_offset_.push_back(way_links_.size());
  }
  first_way_.push_back(way_offset_.size() - 1);
  return static_cast<std::int32_t>(first_way_.size()) - 2;
}

void TransferGraph::set_alternatives(std::int32_t route, std::int32_t first, std::int32_t count,
                                     std::int32_t ways) {
  check_open("set_alternatives");
  require(route >= 0 && route < routes(),
          [&] { return fmt::format("set_alternatives: no route {}", route); });
  require(ways >= 0 && ways < way_sets(),
          [&] { return fmt::format("set_alternatives: no set {} of alternatives", ways); });
  const auto links = static_cast<std::int32_t>(route_links(route).size());
  require(first >= 0 && count > 0 && count <= links - first, [&] {
    return fmt::format("alternatives to {} links from number {} of {}", count, first, links);
  });
  if (choices_.size() <= at(route)) choices_.resize(at(route) + 1);
  Choice& own = choices_[at(route)];
  require(own.ways < 0 || (own.first == first && own.count == count && own.ways == ways),
          [&] { return fmt::format("route {} already has other alternatives", route); });
  own = {first, count, ways};
}

void TransferGraph::copy_routes(const TransferGraph& from) {
  check_open("copy_routes");
  require(routes() == 0 && first_way_.size() == 1,
          [] { return "copy_routes into a graph that has routes"; });
  route_offset_ = from.route_offset_;
  route_links_ = from.route_links_;
  route_loads_ = from.route_loads_;
  choices_ = from.choices_;
  first_way_ = from.first_way_;
  way_offset_ = from.way_offset_;
  way_links_ = from.way_links_;
  grow_route_table();
}

TransferId TransferGraph::add_node(const NodeShape& shape) {
  require(is_amount(shape.bytes), [&] { return fmt::format("a flow of {} bytes", shape.bytes); });
  require(is_amount(shape.latency_s),
          [&] { return fmt::format("a latency of {} s", shape.latency_s); });
  require(shape.rate_cap_Bps > 0,
          [&] { return fmt::format("a rate cap of {} B/s", shape.rate_cap_Bps); });
  require(size() < std::numeric_limits<TransferId>::max(), [&] { return "too many nodes"; });
  const TransferId id = size();
  const std::int32_t repeat = shape.firings();
  shapes_.add(shape);
  many_dependencies_.empty() ? dependencies_.push_back(0) : many_dependencies_.push_back(0);
  firings_ += repeat;
  flow_firings_ += shape.route >= 0 ? repeat : 0;
  folded_ = folded_ || repeat > 1;
  return id;
}

TransferId TransferGraph::add_flow(std::int32_t route, double bytes, double latency_s,
                                   double rate_cap_Bps, std::int32_t repeat) {
  check_open("add_flow");
  require(route >= 0 && route < routes(),
          [&] { return fmt::format("add_flow: no route {}", route); });
  require(repeat >= 1, [&] { return fmt::format("a node that fires {} times", repeat); });
  return add_node({bytes, latency_s, rate_cap_Bps, route, repeat});
}

TransferId TransferGraph::add_delay(double delay_s, std::int32_t repeat, bool overlapping) {
  check_open("add_delay");
  require(repeat >= 1, [&] { return fmt::format("a node that fires {} times", repeat); });
  return add_node({0, delay_s, kNoRateCap, -1, overlapping ? -repeat : repeat});
}

void TransferGraph::add_edge(TransferId source, TransferId target, std::int32_t lag) {
  check_open("add_edge");
  check_node(source, "add_edge");
  check_node(target, "add_edge");
  require(lag >= 0 || lag == kAfterLast,
          [&] { return fmt::format("an edge with a lag of {}", lag); });
  edges_.add(source, target, lag);
  add_dependency(target);
  folded_ = folded_ || lag != 0;
}

void TransferGraph::add_unsatisfiable_dependency(TransferId target) {
  check_open("add_unsatisfiable_dependency");
  check_node(target, "add_unsatisfiable_dependency");
  add_dependency(target);
}

void TransferGraph::add_dependency(TransferId target) {
  if (many_dependencies_.empty()) {
    if (dependencies_[at(target)] < std::numeric_limits<std::uint8_t>::max()) {
      ++dependencies_[at(target)];
      return;
    }
    many_dependencies_.assign(dependencies_.begin(), dependencies_.end());
    dependencies_ = {};
  }
  ++many_dependencies_[at(target)];
}

void TransferGraph::copy_dependencies(std::span<std::int32_t> counts) const {
  if (many_dependencies_.empty()) {
    std::copy(dependencies_.begin(), dependencies_.end(), counts.begin());
  } else {
    std::copy(many_dependencies_.begin(), many_dependencies_.end(), counts.begin());
  }
}

std::size_t TransferGraph::memory_bytes() const {
  return shapes_.memory_bytes() + edges_.memory_bytes() + dependencies_.size() +
         many_dependencies_.size() * sizeof(std::int32_t);
}

void TransferGraph::check_ways() const {
  std::vector<std::int32_t> seen(link_capacity_Bps_.size(),
                                 -1);  // by link: its last route
  for (std::size_t route = 0; route < choices_.size(); ++route) {
    const auto id = static_cast<std::int32_t>(route);
    const Choice own = choices_[route];
    const auto links = route_links(id);
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(links.size()); ++i) {
      if (i < own.first || i >= own.first + own.count) seen[at(links[at(i)])] = id;
    }
    for (std::int32_t way = 1; way < ways(id); ++way) {
      for (const std::int32_t link : way_links(own, way)) {
        require(seen[at(link)] != id, [&] {
          return fmt::format("alternative {} of route {} crosses a link twice", way, route);
        });
      }
    }
  }
}

void TransferGraph::raise_latencies() {
  for (std::size_t number = 0; number < shapes_.distinct() && adaptive(); ++number) {
    NodeShape& shape = shapes_.shape(number);
    if (shape.route >= 0 && shape.bytes > 0 && choice(shape.route).ways >= 0) {
      shape.latency_s = std::max(shape.latency_s, kRouteChoice_s);
    }
  }
}

void TransferGraph::finish() {
  check_open("finish");
  const auto check_link = [&](std::int32_t link) {
    require(link >= 0 && at(link) < link_capacity_Bps_.size(), [&] {
      return fmt::format("a route crosses link {}, but there are {} links", link,
                         link_capacity_Bps_.size());
    });
  };
  std::for_each(route_links_.begin(), route_links_.end(), check_link);
  std::for_each(way_links_.begin(), way_links_.end(), check_link);
  check_ways();
  raise_latencies();
  edges_.finish(shapes_.size(), folded_);
  shapes_.finish();
  route_table_ = {};
  sort_holds();
  finished_ = true;
}

TransferGraph TransferGraph::with_background(const TransferGraph& background) const {
  require(finished_ && background.finished_, [] { return "with_background before finish"; });
  require(!has_background() && !background.has_background(),
          [] { return "a background in addition to a background"; });
  require(link_capacity_Bps_ == background.link_capacity_Bps_,
          [] { return "a background over other links"; });
  require(!holding() && !background.holding(), [] { return "a background in a graph with holds"; });
  require(!loaded() && !background.loaded(),
          [] { return "a background in a graph with loaded routes"; });
  TransferGraph copy = *this;
  if (background.size() == 0) return copy;
  copy.finished_ = false;
  copy.first_background_ = size();
  copy.folded_ = true;  // makes the tracker count the firings of each node
  copy.append_background(background);
  copy.finish();
  copy.check_background();
  copy.firings_ = firings_;
  copy.flow_firings_ = flow_firings_;
  return copy;
}

void TransferGraph::append_background(const TransferGraph& background) {
  edges_.reopen();
  grow_route_table();

  const std::int32_t sets = way_sets();
  for (std::size_t way = 0; way + 1 < background.way_offset_.size(); ++way) {
    way_offset_.push_back(way_links_.size() + background.way_offset_[way + 1]);
  }
  for (std::size_t set = 1; set < background.first_way_.size(); ++set) {
    first_way_.push_back(first_way_[at(sets)] + background.first_way_[set]);
  }
  way_links_.insert(way_links_.end(), background.way_links_.begin(), background.way_links_.end());
  std::vector<std::int32_t> route_here;
  for (std::int32_t route = 0; route < background.routes(); ++route) {
    route_here.push_back(add_route(background.route_links(route)));
    const Choice there = background.choice(route);
    if (there.ways >= 0 && choice(route_here.back()).ways < 0) {
      set_alternatives(route_here.back(), there.first, there.count, sets + there.ways);
    }
  }
  const TransferId first = size();
  for (TransferId node = 0; node < background.size(); ++node) {
    NodeShape shape = background.shapes_[node];
    if (shape.route >= 0) shape.route = route_here[at(shape.route)];
    add_node(shape);
  }
  for (TransferId node = 0; node < background.size(); ++node) {
    for (const Edge& edge : background.successors(node)) {
      add_edge(first + node, first + edge.target, edge.lag);
    }
  }
  for (TransferId node = 0; node < background.size(); ++node) {
    // Some dependencies can never be satisfied.
    while (dependencies(first + node) < background.dependencies(node)) add_dependency(first + node);
  }
}

// Rejects background nodes that would fire forever at one date.
void TransferGraph::check_background() const {
  std::vector<std::uint8_t> paced(shapes_.size(), 0);
  for (TransferId source = 0; source < size(); ++source) {
    for (const auto& [target, lag] : successors(source)) {
      if (lag >= 0 && lag != kFirstOnly && source != target) paced[at(target)] = 1;
    }
  }
  for (TransferId node = first_background_; node < size(); ++node) {
    if (repeat(node) != kForever) continue;
    const bool moves = bytes(node) > 0 &&
                       (!route_links(route_of(node)).empty() || rate_cap_Bps(node) < kNoRateCap);
    require(latency_s(node) > 0 || moves,
            [&] { return fmt::format("background node {} fires forever in no time", node); });
    require(!overlapping(node) || paced[at(node)] != 0, [&] {
      return fmt::format("background node {} overlaps itself and waits for no other", node);
    });
  }
}

int longest_chain(const TransferGraph& graph, std::span<const TransferId> also) {
  const auto same_iteration = [](const TransferGraph::Edge& edge) {
    return edge.lag <= 0 || edge.lag == TransferGraph::kFirstOnly;
  };
  const auto n = static_cast<std::size_t>(graph.size());
  std::vector<std::int32_t> missing(n);
  for (TransferId id = 0; id < graph.size(); ++id) {
    missing[static_cast<std::size_t>(id)] += graph.dependencies(id);
    if (!graph.folded()) continue;
    for (const TransferGraph::Edge& edge : graph.successors(id)) {
      missing[static_cast<std::size_t>(edge.target)] -= same_iteration(edge) ? 0 : 1;
    }
  }
  std::vector<int> chain(n, 0);
  std::vector<TransferId> ready;
  for (TransferId id = 0; id < graph.size(); ++id) {
    if (missing[static_cast<std::size_t>(id)] == 0) ready.push_back(id);
  }
  int longest = 0;
  while (!ready.empty()) {
    const TransferId id = ready.back();
    ready.pop_back();
    int& length = chain[static_cast<std::size_t>(id)];
    const bool counts = graph.route_of(id) >= 0 || std::binary_search(also.begin(), also.end(), id);
    length += counts ? 1 : 0;
    longest = std::max(longest, length);
    for (const TransferGraph::Edge& edge : graph.successors(id)) {
      if (!same_iteration(edge)) continue;
      const auto target = static_cast<std::size_t>(edge.target);
      chain[target] = std::max(chain[target], length);
      if (--missing[target] == 0) ready.push_back(edge.target);
    }
  }
  return longest;
}

}  // namespace cclgym
