#include "synthesis/lowering/route_channels.hpp"

#include "core/index.hpp"

namespace cclgym::synthesis {

const std::vector<std::vector<LinkId>>& RouteChannels::period(int source, int target) {
  std::vector<std::vector<LinkId>>& routes = periods_[{source, target}];
  while (routes.empty() || std::ssize(routes) < channels_) {
    std::vector<LinkId> route = fabric_->route(source, target, static_cast<int>(routes.size()));
    if (!routes.empty() && route == routes.front()) break;
    routes.push_back(std::move(route));
  }
  return routes;
}

std::vector<int> RouteChannels::like(int source, int target, int channel) {
  const std::vector<std::vector<LinkId>>& routes = period(source, target);
  const std::vector<LinkId>& wanted = routes[at(channel) % routes.size()];
  std::vector<int> found;
  for (int k = 0; k < channels_; ++k) {
    if (routes[at(k) % routes.size()] == wanted) found.push_back(k);
  }
  return found;
}

ChannelSet RouteChannels::through(int source, int target, std::span<const NodeId> devices) {
  const std::vector<std::vector<LinkId>>& routes = period(source, target);
  ChannelSet found = 0;
  for (std::size_t k = 0; k < routes.size(); ++k) {
    const std::vector<LinkId>& route = routes[k];
    bool same = route.size() == devices.size() + 1;
    for (std::size_t i = 0; same && i < devices.size(); ++i) {
      same = fabric_->links()[at(route[i])].target == devices[i];
    }
    if (!same) continue;
    for (std::size_t channel = k; channel < at(channels_); channel += routes.size()) {
      found |= ChannelSet{1} << channel;
    }
  }
  return found;
}

}  // namespace cclgym::synthesis
