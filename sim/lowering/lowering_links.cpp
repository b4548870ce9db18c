// Lowering, links: capacities, alternative routes, and bursts.
#include <algorithm>
#include <vector>

#include "sim/lowering/lowering_internal.hpp"
#include "sim/prices/transfer_cost.hpp"

namespace cclgym {

// Sets the links: first those of the fabric; then, if proxies limit messages, one per rank for its
// proxy, at the proxy's rate for the program's largest message; then, if connections are limited,
// one per pair of ranks.
void Lowering::set_links() {
  std::vector<double> capacities = link_capacities(fabric_, model_);
  // MPI has no proxy: its messages cost the host's time one by one.
  const double proxy_Bps =
      outline_.traits.transport == Transport::Mpi
          ? kNoRateCap
          : proxy_capacity_Bps(
                model_, config_.protocol,
                costs_.tile_bytes() * outline_.longest_message() / outline_.alike_channels);
  const auto ranks = static_cast<std::size_t>(fabric_.ranks());
  proxies_ = proxy_Bps < kNoRateCap;
  if (proxies_) capacities.insert(capacities.end(), ranks, proxy_Bps);
  const double connection_Bps = connection_capacity_Bps(model_);
  if (connection_Bps < kNoRateCap) {
    first_pair_ = static_cast<std::int32_t>(capacities.size());
    capacities.insert(capacities.end(), ranks * (ranks - 1) / 2, connection_Bps);
  }
  graph_->set_link_capacities(std::move(capacities));
}

// Link of the connection between two ranks.
std::int32_t Lowering::pair_link(std::int32_t a, std::int32_t b) const {
  const std::int32_t low = std::min(a, b);
  const std::int32_t high = std::max(a, b);
  return first_pair_ + low * (2 * fabric_.ranks() - low - 1) / 2 + (high - low - 1);
}

bool Lowering::crosses_network(std::span<const LinkId> links) const {
  return std::any_of(links.begin(), links.end(), [this](LinkId id) {
    return fabric_.links()[static_cast<std::size_t>(id)].kind == LinkKind::Network;
  });
}

// Between its first and its last network switch, a message may take alternative routes instead of
// `links`, the first links of its route. All messages between these switches share the
// alternatives.
void Lowering::add_alternatives(std::int32_t route, const NodeOrigin& origin, int channel,
                                std::span<const LinkId> links) {
  if (fabric_.routing() != Routing::Adaptive) return;
  const auto link = [this](LinkId id) { return fabric_.links()[static_cast<std::size_t>(id)]; };
  const auto trunk = [&](LinkId id) {
    const auto kind = [&](NodeId node) {
      return fabric_.nodes()[static_cast<std::size_t>(node)].kind;
    };
    return kind(link(id).source) == NodeKind::NetworkSwitch &&
           kind(link(id).target) == NodeKind::NetworkSwitch;
  };
  const auto first = std::find_if(links.begin(), links.end(), trunk);
  const auto end = std::find_if_not(first, links.end(), trunk);
  if (first == end) return;
  const auto before = first - links.begin();
  const auto [known, fresh] =
      alternatives_.try_emplace({link(*first).source, link(*(end - 1)).target}, -1);
  if (fresh) {
    auto others =
        fabric_.alternative_routes(origin.rank, origin.peer_rank, channel, kAlternativeRoutes);
    for (std::vector<LinkId>& other : others) {
      other.erase(other.end() - (links.end() - end), other.end());
      other.erase(other.begin(), other.begin() + before);
    }
    if (!others.empty()) known->second = graph_->add_ways(others);
  }
  if (known->second < 0) return;
  graph_->set_alternatives(route, static_cast<std::int32_t>(before),
                           static_cast<std::int32_t>(end - first), known->second);
}

void Lowering::count_bytes(const NodeOrigin& origin, std::span<const LinkId> route, double bytes) {
  network_bytes_.resize(graph_->link_capacities_Bps().size());
  for (const LinkId link : route) network_bytes_[static_cast<std::size_t>(link)] += bytes;
  if (first_pair_ < 0) return;
  network_bytes_[static_cast<std::size_t>(pair_link(origin.rank, origin.peer_rank))] += bytes;
}

// Raises the capacities of links that pass a burst before their rate applies.
void Lowering::pass_bursts() {
  if (network_bytes_.empty() || model_.hockney) return;
  const auto before = graph_->link_capacities_Bps();
  std::vector<double> capacities(before.begin(), before.end());
  for (std::size_t link = 0; link < network_bytes_.size(); ++link) {
    const bool connection = link >= fabric_.links().size();
    if (network_bytes_[link] <= 0) continue;
    if (!connection && fabric_.links()[link].kind != LinkKind::Network) continue;
    // A connection has the token buckets of both its nodes, one per direction.
    capacities[link] =
        capacity_with_burst_Bps(model_, capacities[link], network_bytes_[link], connection ? 2 : 1);
  }
  graph_->set_link_capacities(std::move(capacities));
}

}  // namespace cclgym
