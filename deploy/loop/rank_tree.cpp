#include "deploy/loop/rank_tree.hpp"

#include <algorithm>
#include <map>

namespace cclgym {

RankTree::RankTree(std::span<const std::int32_t> nodes) {
  std::map<std::int32_t, std::int32_t> first_of;  // by node
  std::vector<std::int32_t> firsts;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const auto [known, is_first] = first_of.try_emplace(nodes[rank], rank);
    if (!is_first) {
      parents_.push_back(known->second);
      continue;
    }
    parents_.push_back(firsts.empty() ? -1 : firsts[(firsts.size() - 1) / kNodeChildren]);
    firsts.push_back(static_cast<std::int32_t>(rank));
  }
}

std::int32_t RankTree::next_hop(std::int32_t from, std::int32_t to) const {
  for (std::int32_t below = to; below >= 0; below = parent(below)) {
    if (parent(below) == from) return below;
  }
  return parent(from);
}

int RankTree::depth() const {
  int most = 0;
  for (std::size_t rank = 0; rank < parents_.size(); ++rank) {
    int steps = 0;
    for (auto at = static_cast<std::int32_t>(rank); parent(at) >= 0; at = parent(at)) ++steps;
    most = std::max(most, steps);
  }
  return most;
}

}  // namespace cclgym
