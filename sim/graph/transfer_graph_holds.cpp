// Links that stand for resources of several units, and the nodes that take them.
#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

void TransferGraph::set_link_units(std::int32_t link, std::int32_t units) {
  check_open("set_link_units");
  if (link < 0 || at(link) >= link_capacity_Bps_.size() || units < 1) {
    throw std::logic_error(fmt::format("TransferGraph: {} units of link {}", units, link));
  }
  link_units_.resize(link_capacity_Bps_.size(), 0);
  link_units_[at(link)] = units;
}

void TransferGraph::add_hold(TransferId node, std::int32_t link, std::int32_t units) {
  check_open("add_hold");
  check_node(node, "add_hold");
  if (link < 0 || at(link) >= link_units_.size() || link_units_[at(link)] == 0) {
    throw std::logic_error(
        fmt::format("TransferGraph: node {} takes units of link {}, which has none", node, link));
  }
  if (units == 0) return;
  hold_nodes_.push_back(node);
  holds_.push_back({link, units});
}

double TransferGraph::capacity_left_Bps(std::int32_t link, std::int32_t taken) const {
  const std::int32_t units = link_units_[at(link)];
  return link_capacity_Bps_[at(link)] * std::max(1, units - taken) / units;
}

// Sorts the holds by node, in the order in which they were added.
void TransferGraph::sort_holds() {
  if (holds_.empty()) return;
  if (has_background()) throw std::logic_error("TransferGraph: holds in a graph with a background");
  for (std::int32_t route = 0; route < routes(); ++route) {
    const auto links = route_links(route);
    const bool divided = std::any_of(links.begin(), links.end(), [this](std::int32_t link) {
      return at(link) < link_units_.size() && link_units_[at(link)] > 0;
    });
    if (divided && links.size() > 1) {
      throw std::logic_error("TransferGraph: a route over a link with units crosses other links");
    }
  }
  hold_offset_.assign(shapes_.size() + 1, 0);
  for (const TransferId node : hold_nodes_) ++hold_offset_[at(node) + 1];
  for (std::size_t node = 0; node < shapes_.size(); ++node) {
    hold_offset_[node + 1] += hold_offset_[node];
  }
  std::vector<std::uint32_t> next(hold_offset_.begin(), hold_offset_.end() - 1);
  std::vector<Hold> sorted(holds_.size());
  for (std::size_t i = 0; i < holds_.size(); ++i) sorted[next[at(hold_nodes_[i])]++] = holds_[i];
  holds_ = std::move(sorted);
  hold_nodes_ = {};
}

}  // namespace cclgym
