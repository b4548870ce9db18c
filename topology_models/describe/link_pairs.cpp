#include "topology_models/describe/link_pairs.hpp"

#include <map>
#include <tuple>

namespace cclgym {

std::vector<LinkPair> link_pairs(const Fabric& fabric) {
  const auto key = [](const Link& link, bool reversed) {
    return std::tuple(reversed ? link.target : link.source, reversed ? link.source : link.target,
                      link.kind, link.latency_s, link.unit_bandwidth_Bps, link.multiplicity);
  };
  std::vector<LinkPair> pairs;
  // Indices into pairs of the links without a twin so far, by the twin's key.
  std::map<decltype(key(Link{}, false)), std::vector<std::size_t>> waiting;
  for (const Link& link : fabric.links()) {
    if (const auto twin = waiting.find(key(link, false));
        twin != waiting.end() && !twin->second.empty()) {
      pairs[twin->second.back()].duplex = true;
      twin->second.pop_back();
      continue;
    }
    waiting[key(link, true)].push_back(pairs.size());
    pairs.push_back({link, false});
  }
  return pairs;
}

}  // namespace cclgym
