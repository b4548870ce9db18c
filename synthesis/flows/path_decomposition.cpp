#include "synthesis/flows/path_decomposition.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/index.hpp"

namespace cclgym::synthesis {

std::vector<ArcPath> decompose_flow(std::vector<FlowArc> arcs, int source,
                                    std::vector<std::int64_t> demands, bool rounded) {
  std::vector<std::vector<int>> arcs_in(demands.size());
  for (std::size_t k = 0; k < arcs.size(); ++k) {
    if (arcs[k].amount > 0) arcs_in[at(arcs[k].target)].push_back(static_cast<int>(k));
  }
  const auto widest_arc_into = [&](int node) {
    int best = -1;
    for (const int arc : arcs_in[at(node)]) {
      const std::int64_t amount = arcs[at(arc)].amount;
      if (amount > 0 && (best < 0 || amount > arcs[at(best)].amount)) best = arc;
    }
    if (best < 0 && !rounded) throw std::logic_error("a flow does not meet its demands");
    return best;
  };
  std::vector<ArcPath> paths;
  std::vector<int> place(demands.size(), -1);  // arcs before the node on the walk; -1: not on it
  for (std::size_t target = 0; target < demands.size(); ++target) {
    while (demands[target] > 0) {
      std::vector<int> walk;  // arcs backwards from the target
      int node = static_cast<int>(target);
      place[target] = 0;
      while (node != source) {
        const int widest = widest_arc_into(node);
        if (widest < 0) {
          place[at(node)] = -1;
          if (walk.empty()) break;
          node = arcs[at(walk.back())].target;  // a dead end: go back
          arcs[at(walk.back())].amount = 0;
          walk.pop_back();
          continue;
        }
        walk.push_back(widest);
        node = arcs[at(walk.back())].source;
        if (place[at(node)] < 0) {
          place[at(node)] = static_cast<int>(walk.size());
          continue;
        }
        // A cycle: take it out of the flow, and go on from the node that closed it.
        const std::size_t first = at(place[at(node)]);
        std::int64_t amount = arcs[at(walk[first])].amount;
        for (std::size_t k = first; k < walk.size(); ++k) {
          amount = std::min(amount, arcs[at(walk[k])].amount);
        }
        for (std::size_t k = first; k < walk.size(); ++k) {
          arcs[at(walk[k])].amount -= amount;
          if (k > first) place[at(arcs[at(walk[k])].target)] = -1;
        }
        walk.resize(first);
      }
      if (node != source) break;
      std::int64_t amount = demands[target];
      for (const int arc : walk) amount = std::min(amount, arcs[at(arc)].amount);
      for (const int arc : walk) {
        arcs[at(arc)].amount -= amount;
        place[at(arcs[at(arc)].target)] = -1;
      }
      place[at(source)] = -1;
      demands[target] -= amount;
      std::reverse(walk.begin(), walk.end());
      paths.push_back({static_cast<int>(target), amount, std::move(walk)});
    }
  }
  return paths;
}

}  // namespace cclgym::synthesis
