#include "sim/graph/symmetry.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "core/index.hpp"

namespace cclgym {

namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  hash ^= hash >> 32U;
  hash *= 0xd6e8feb86659fd93U;
  return hash ^ (hash >> 29U);
}
std::uint64_t mixed(std::uint64_t hash, double value) {
  return mixed(hash, std::bit_cast<std::uint64_t>(value));
}

struct Incoming {
  TransferId source;
  std::int32_t lag;
};

class Refinement {
 public:
  Refinement(const TransferGraph& graph, std::span<const std::uint64_t> node_key)
      : graph_(graph), nodes_(at(graph.size())) {
    index_edges();
    colour_at_first(node_key);
  }

  [[nodiscard]] bool possible() const { return possible_; }

  std::optional<GraphSymmetry> run(std::size_t max_classes) {
    std::size_t classes = 0;
    for (std::size_t next = count(); next != classes; next = count()) {
      // Colours only ever split.
      if (next > max_classes && distinct(colour_) > max_classes) return std::nullopt;
      classes = next;
      refine();
    }
    GraphSymmetry found;
    number(colour_, found.node_class, found.node);
    number(link_colour_, found.link_class, found.link);
    for (std::int32_t& of_link : found.link_class) {
      const auto link = static_cast<std::size_t>(&of_link - found.link_class.data());
      if (!used_[link]) of_link = -1;
    }
    if (!holds(found)) return std::nullopt;
    return found;
  }

 private:
  [[nodiscard]] std::span<const Incoming> incoming(TransferId node) const {
    return {incoming_.data() + first_incoming_[at(node)],
            first_incoming_[at(node) + 1] - first_incoming_[at(node)]};
  }
  [[nodiscard]] std::span<const std::int32_t> links(TransferId node) const {
    const std::int32_t route = graph_.route_of(node);
    return route < 0 ? std::span<const std::int32_t>() : graph_.route_links(route);
  }

  // Edges by target, and an order of the nodes along the edges without a lag.
  void index_edges() {
    first_incoming_.assign(nodes_ + 1, 0);
    std::vector<std::int32_t> missing(nodes_, 0);
    for (TransferId id = 0; id < graph_.size(); ++id) {
      for (const TransferGraph::Edge& edge : graph_.successors(id)) {
        ++first_incoming_[at(edge.target) + 1];
        missing[at(edge.target)] += edge.lag == 0 ? 1 : 0;
      }
    }
    for (std::size_t i = 0; i < nodes_; ++i) first_incoming_[i + 1] += first_incoming_[i];
    incoming_.resize(first_incoming_.back());
    std::vector<std::size_t> next(first_incoming_.begin(), first_incoming_.end() - 1);
    for (TransferId id = 0; id < graph_.size(); ++id) {
      for (const TransferGraph::Edge& edge : graph_.successors(id)) {
        incoming_[next[at(edge.target)]++] = {id, edge.lag};
      }
    }
    for (TransferId id = 0; id < graph_.size(); ++id) {
      if (missing[at(id)] == 0) order_.push_back(id);
      possible_ = possible_ && at(graph_.dependencies(id)) == incoming(id).size();
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      for (const TransferGraph::Edge& edge : graph_.successors(order_[i])) {
        if (edge.lag == 0 && --missing[at(edge.target)] == 0) order_.push_back(edge.target);
      }
    }
    possible_ = possible_ && order_.size() == nodes_ && !graph_.adaptive() &&
                !graph_.has_background() && !graph_.holding();
  }

  void colour_at_first(std::span<const std::uint64_t> node_key) {
    for (TransferId id = 0; id < graph_.size(); ++id) {
      std::uint64_t colour = mixed(1, node_key[at(id)]);
      colour = mixed(colour, (static_cast<std::uint64_t>(graph_.repeat(id)) << 2U) |
                                 (graph_.overlapping(id) ? 2U : 0U) |
                                 (graph_.route_of(id) < 0 ? 1U : 0U));
      colour_.push_back(colour);
    }
    const auto capacities = graph_.link_capacities_Bps();
    used_.assign(capacities.size(), 0);
    for (const double capacity_Bps : capacities) link_colour_.push_back(mixed(2, capacity_Bps));
    for (TransferId id = 0; id < graph_.size(); ++id) {
      for (const std::int32_t link : links(id)) used_[at(link)] = 1;
    }
    for (std::size_t link = 0; link < used_.size(); ++link) {
      if (!used_[link]) link_colour_[link] = 0;
    }
  }

  // Does one round of refinement. Colours are sums of hashes, which do not depend on the order of
  // terms.
  void refine() {
    before_ = colour_;
    for (const TransferId id : order_) {
      std::uint64_t sum = 0;
      for (const auto& [source, lag] : incoming(id)) {
        // Edges without a lag use the colours of this round, so that a chain takes one round.
        const std::uint64_t colour = lag == 0 ? colour_[at(source)] : before_[at(source)];
        sum += mixed(mixed(3, colour), static_cast<std::uint64_t>(static_cast<std::uint32_t>(lag)));
      }
      for (const std::int32_t link : links(id)) sum += mixed(4, link_colour_[at(link)]);
      colour_[at(id)] = mixed(colour_[at(id)], sum);
    }
    sums_.assign(link_colour_.size(), 0);
    for (TransferId id = 0; id < graph_.size(); ++id) {
      for (const std::int32_t link : links(id)) sums_[at(link)] += mixed(5, colour_[at(id)]);
    }
    for (std::size_t link = 0; link < sums_.size(); ++link) {
      if (used_[link]) link_colour_[link] = mixed(link_colour_[link], sums_[link]);
    }
  }

  [[nodiscard]] std::size_t count() { return distinct(colour_) + distinct(link_colour_); }

  // Counts in a table with open addressing, which is several times faster than sorting.
  [[nodiscard]] std::size_t distinct(const std::vector<std::uint64_t>& colours) {
    const std::size_t mask = std::bit_ceil(2 * colours.size() + 2) - 1;
    table_.assign(mask + 1, 0);
    std::size_t found = 0;
    bool zero = false;  // zero stands for a free place
    for (const std::uint64_t colour : colours) {
      if (colour == 0) {
        zero = true;
        continue;
      }
      std::size_t place = colour & mask;
      while (table_[place] != 0 && table_[place] != colour) place = (place + 1) & mask;
      if (table_[place] == 0) {
        table_[place] = colour;
        ++found;
      }
    }
    return found + (zero ? 1 : 0);
  }

  static void number(const std::vector<std::uint64_t>& colours, std::vector<std::int32_t>& of,
                     std::vector<std::int32_t>& first) {
    std::unordered_map<std::uint64_t, std::int32_t> known;
    for (std::size_t i = 0; i < colours.size(); ++i) {
      const auto [entry, fresh] =
          known.try_emplace(colours[i], static_cast<std::int32_t>(first.size()));
      if (fresh) first.push_back(static_cast<std::int32_t>(i));
      of.push_back(entry->second);
    }
  }

  // True if the partition is equitable.
  [[nodiscard]] bool holds(const GraphSymmetry& found) const {
    using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;
    const auto waits = [&](TransferId id) {
      Pairs pairs;
      for (const auto& [source, lag] : incoming(id)) {
        pairs.emplace_back(found.node_class[at(source)], lag);
      }
      std::ranges::sort(pairs);
      return pairs;
    };
    const auto passes = [&](TransferId id) {
      std::vector<std::int32_t> classes;
      for (const std::int32_t link : links(id)) classes.push_back(found.link_class[at(link)]);
      std::ranges::sort(classes);
      return classes;
    };
    std::vector<Pairs> waits_of_class;
    std::vector<std::vector<std::int32_t>> passes_of_class;
    for (const TransferId first : found.node) {
      waits_of_class.push_back(waits(first));
      passes_of_class.push_back(passes(first));
    }
    std::vector<std::vector<std::int32_t>> carries(link_colour_.size());
    for (TransferId id = 0; id < graph_.size(); ++id) {
      const std::size_t own = at(found.node_class[at(id)]);
      if (waits(id) != waits_of_class[own] || passes(id) != passes_of_class[own]) return false;
      for (const std::int32_t link : links(id)) {
        carries[at(link)].push_back(static_cast<std::int32_t>(own));
      }
    }
    for (auto& classes : carries) std::ranges::sort(classes);
    for (std::size_t link = 0; link < carries.size(); ++link) {
      if (!used_[link]) continue;
      const std::int32_t first = found.link[at(found.link_class[link])];
      if (carries[link] != carries[at(first)]) return false;
    }
    return true;
  }

  const TransferGraph& graph_;
  std::size_t nodes_;
  bool possible_ = true;
  std::vector<std::size_t> first_incoming_;
  std::vector<Incoming> incoming_;
  std::vector<TransferId> order_;
  std::vector<std::uint64_t> colour_;  // by node
  std::vector<std::uint64_t> before_;
  std::vector<std::uint64_t> link_colour_;
  std::vector<std::uint64_t> sums_;
  std::vector<std::uint64_t> table_;  // table of distinct()
  std::vector<std::uint8_t> used_;    // by link
};

}  // namespace

std::optional<GraphSymmetry> find_symmetry(const TransferGraph& graph,
                                           std::span<const std::uint64_t> node_key,
                                           std::size_t max_classes) {
  Refinement refinement(graph, node_key);
  if (!refinement.possible()) return std::nullopt;
  return refinement.run(max_classes);
}

}  // namespace cclgym
