#include "synthesis/instance.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "core/error.hpp"
#include "core/index.hpp"
#include "topology_models/host_use.hpp"
#include "topology_models/metrics/cut_network.hpp"

namespace cclgym::synthesis {

int Instance::add_hop(Hop hop) {
  const int id = static_cast<int>(hops.size());
  for (const int limit : hop.limits) limits[at(limit)].hops.push_back(id);
  hops.push_back(std::move(hop));
  return id;
}

std::vector<std::vector<int>> Instance::hops_out() const {
  std::vector<std::vector<int>> out(at(ranks));
  for (std::size_t k = 0; k < hops.size(); ++k) {
    out[at(hops[k].source)].push_back(static_cast<int>(k));
  }
  return out;
}

std::vector<std::vector<int>> Instance::hops_in() const {
  std::vector<std::vector<int>> in(at(ranks));
  for (std::size_t k = 0; k < hops.size(); ++k) {
    in[at(hops[k].target)].push_back(static_cast<int>(k));
  }
  return in;
}

std::vector<std::vector<int>> Instance::distances() const {
  const std::vector<std::vector<int>> out = hops_out();
  std::vector<std::vector<int>> distance(at(ranks), std::vector<int>(at(ranks), -1));
  for (int source = 0; source < ranks; ++source) {
    std::vector<int>& row = distance[at(source)];
    std::vector<int> queue{source};
    row[at(source)] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const int hop : out[at(queue[head])]) {
        const int next = hops[at(hop)].target;
        if (row[at(next)] >= 0) continue;
        row[at(next)] = row[at(queue[head])] + 1;
        queue.push_back(next);
      }
    }
  }
  return distance;
}

Instance Instance::reversed() const {
  Instance result = *this;
  for (Hop& hop : result.hops) std::swap(hop.source, hop.target);
  return result;
}

namespace {

// Drops limits that another limit implies: all their hops are also in it, and it has no more units.
void drop_implied_limits(Instance& instance) {
  const std::size_t count = instance.limits.size();
  std::vector<char> kept(count, 1);
  for (std::size_t k = 0; k < count; ++k) {
    const Limit& limit = instance.limits[k];
    // Limits that hold all hops of this one share its first hop.
    for (const int other_id : instance.hops[at(limit.hops.front())].limits) {
      const auto other = at(other_id);
      if (other == k || !kept[other]) continue;
      const Limit& candidate = instance.limits[other];
      if (candidate.units > limit.units || candidate.hops.size() < limit.hops.size()) continue;
      if (!std::includes(candidate.hops.begin(), candidate.hops.end(), limit.hops.begin(),
                         limit.hops.end())) {
        continue;
      }
      kept[k] = 0;
      break;
    }
  }
  std::vector<int> renumbered(count, -1);
  std::vector<Limit> limits;
  for (std::size_t k = 0; k < count; ++k) {
    if (!kept[k]) continue;
    renumbered[k] = static_cast<int>(limits.size());
    limits.push_back(std::move(instance.limits[k]));
  }
  instance.limits = std::move(limits);
  for (Hop& hop : instance.hops) {
    std::vector<int> left;
    for (const int limit : hop.limits) {
      if (renumbered[at(limit)] >= 0) left.push_back(renumbered[at(limit)]);
    }
    hop.limits = std::move(left);
  }
}

// Makes the link unit as wide as all limits allow: links that no hop uses do not count.
void widen_unit(Instance& instance) {
  std::int64_t common = 0;
  for (const Limit& limit : instance.limits) common = std::gcd(common, limit.units);
  if (common <= 1) return;
  for (Limit& limit : instance.limits) limit.units /= common;
  instance.unit_Bps *= static_cast<double>(common);
}

}  // namespace

Instance make_instance(const Fabric& fabric, int channels) {
  const Computed<std::int64_t> unit = CutNetwork::unit_Bps(fabric);
  if (!unit.value) {
    throw UserError(fmt::format("fabric '{}' has no link unit: {}", fabric.name(), unit.why_not));
  }
  Instance instance;
  instance.name = fabric.name();
  instance.ranks = fabric.ranks();
  instance.unit_Bps = static_cast<double>(*unit.value);
  const std::vector<char> avoided = avoided_hosts(fabric);
  std::vector<int> limit_of_link(fabric.links().size(), -1);
  for (int source = 0; source < fabric.ranks(); ++source) {
    for (int target = 0; target < fabric.ranks(); ++target) {
      if (source == target) continue;
      std::vector<std::vector<LinkId>> seen;
      for (int channel = 0; channel < channels; ++channel) {
        std::vector<LinkId> route = fabric.route(source, target, channel);
        if (!is_one_step(fabric, avoided, route)) break;
        if (std::find(seen.begin(), seen.end(), route) != seen.end()) continue;
        Hop hop{.source = source, .target = target, .channel = channel};
        for (const LinkId id : route) {
          const Link& link = fabric.links()[at(id)];
          hop.latency_s += link.latency_s;
          int& limit = limit_of_link[at(id)];
          if (limit < 0) {
            limit = static_cast<int>(instance.limits.size());
            const auto units =
                static_cast<std::int64_t>(std::llround(link.capacity_Bps() / instance.unit_Bps));
            instance.limits.push_back({.name = fabric.nodes()[at(link.source)].name + " -> " +
                                               fabric.nodes()[at(link.target)].name,
                                       .units = units,
                                       .links = {id}});
          }
          hop.limits.push_back(limit);
        }
        std::sort(hop.limits.begin(), hop.limits.end());
        instance.add_hop(std::move(hop));
        seen.push_back(std::move(route));
      }
    }
  }
  drop_implied_limits(instance);
  widen_unit(instance);
  const std::vector<std::vector<int>> distance = instance.distances();
  for (int source = 0; source < instance.ranks; ++source) {
    for (int target = 0; target < instance.ranks; ++target) {
      if (distance[at(source)][at(target)] >= 0) continue;
      throw UserError(fmt::format("rank {} cannot reach rank {} on fabric '{}'", source, target,
                                  fabric.name()));
    }
  }
  return instance;
}

Instance link_instance(std::string name, const std::vector<std::vector<std::int64_t>>& units) {
  Instance instance;
  instance.name = std::move(name);
  instance.ranks = static_cast<int>(units.size());
  for (int source = 0; source < instance.ranks; ++source) {
    for (int target = 0; target < instance.ranks; ++target) {
      const std::int64_t width = units[at(source)][at(target)];
      if (width <= 0 || source == target) continue;
      const int limit = static_cast<int>(instance.limits.size());
      instance.limits.push_back({.name = fmt::format("{} -> {}", source, target), .units = width});
      instance.add_hop({.source = source, .target = target, .limits = {limit}});
    }
  }
  return instance;
}

}  // namespace cclgym::synthesis
