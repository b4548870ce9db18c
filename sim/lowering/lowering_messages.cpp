// Lowering, messages: which send meets which receive, and the flow of each message.
#include <algorithm>
#include <fmt/core.h>
#include <vector>

#include "core/error.hpp"
#include "sim/lowering/lowering_internal.hpp"
#include "sim/lowering/transfer_cost.hpp"

namespace cclgym {

using Of = MessageIndex::Of;

void Lowering::find_connections() {
  for (int rank = 0; rank < outline_.ranks(); ++rank) {
    for (std::uint32_t b = outline_.first_block(rank); b < outline_.first_block(rank + 1); ++b) {
      const OutlineBlock& block = outline_.blocks[b];
      if (index_.count(Of::Sends, b) > 0) {
        claim(connections_[connection_key(rank, block.send_peer, block.channel, block.kernel)]
                  .source_block,
              rank, b, true);
      }
      if (index_.count(Of::Receives, b) > 0) {
        claim(connections_[connection_key(block.recv_peer, rank, block.channel, block.kernel)]
                  .target_block,
              rank, b, false);
      }
    }
  }
  target_of_.assign(outline_.blocks.size(), -1);
  source_of_.assign(outline_.blocks.size(), -1);
  for (const auto& [key, connection] : connections_) {
    if (connection.source_block >= 0) {
      target_of_[static_cast<std::size_t>(connection.source_block)] = connection.target_block;
    }
    if (connection.target_block >= 0) {
      source_of_[static_cast<std::size_t>(connection.target_block)] = connection.source_block;
    }
  }
}

void Lowering::claim(std::int32_t& owner, int rank, std::uint32_t b, bool sending) const {
  if (owner >= 0) {
    const OutlineBlock& block = outline_.blocks[b];
    const auto first = static_cast<std::int32_t>(outline_.first_block(rank));
    throw UserError(fmt::format(
        "program '{}': thread blocks {} and {} both {} on the connection rank {} -> rank {}, "
        "channel {}; a connection belongs to one thread block at either end",
        outline_.name, owner - first, static_cast<std::int32_t>(b) - first,
        sending ? "send" : "receive", sending ? rank : block.recv_peer,
        sending ? block.send_peer : rank, block.channel));
  }
  owner = static_cast<std::int32_t>(b);
}

// The sends that each receive meets. One that meets none is left without.
void Lowering::match_receives() {
  constexpr std::size_t kMostPieces = 4;  // of a loop that is worth folding
  first_incoming_.reserve(outline_.steps.size());
  for_each_site([this](const Site& site) {
    const std::size_t first = incoming_.size();
    first_incoming_.push_back(static_cast<std::uint32_t>(first));
    const std::int32_t source = source_of_[site.block];
    if (!receives(step_of(site).opcode)) return;
    const bool found =
        source >= 0 && index_.find(Of::Sends, static_cast<std::uint32_t>(source), site.received,
                                   index_.each(Of::Receives, site.loop), site.times, incoming_);
    if (site.times > 1 && (!found || incoming_.size() - first > kMostPieces)) throw CannotFold();
  });
  first_incoming_.push_back(static_cast<std::uint32_t>(incoming_.size()));
}

void Lowering::add_flows() {
  for_each_site([this](const Site& site) {
    const OutlineStep& step = step_of(site);
    if (!sends(step.opcode)) return;
    const OutlineBlock& block = block_of(site);
    const Receiver receiver = receiver_of(site);
    const auto target = static_cast<std::uint32_t>(receiver.block);
    const NodeOrigin origin{
        site.rank,
        site.thread_block,
        site.number,
        block.send_peer,
        static_cast<std::int32_t>(target - outline_.first_block(block.send_peer)),
        receiver.number};
    if (step.group != kNoGroup) {
      own_node_[site.step] =
          add_local_node(0, {site.rank, site.thread_block, site.number}, site.times);
      groups_[step.group].push_back(
          {site.step, origin, block.channel, step.count, receiver.reduces});
      return;
    }
    const Message message = add_message(origin, block.channel, step.count,
                                        reduces(step.opcode) || receiver.reduces, site.times);
    own_node_[site.step] = message.flow;
    arrival_[site.step] = message.arrival;
  });
}

// Who receives what a step sends. All iterations must cost the same.
Lowering::Receiver Lowering::receiver_of(const Site& site) {
  Receiver receiver{.block = target_of_[site.block]};
  std::vector<IterationPiece>& pieces = scratch_pieces_;
  pieces.clear();
  const auto target = static_cast<std::uint32_t>(receiver.block);
  if (receiver.block < 0 || !index_.find(Of::Receives, target, site.sent,
                                         index_.each(Of::Sends, site.loop), site.times, pieces)) {
    if (site.times > 1) throw CannotFold();
    throw UserError(
        fmt::format("program '{}': {} sends a message that nobody receives", outline_.name,
                    describe_step(outline_, site.rank, site.thread_block, site.number)));
  }
  const OutlineStep& send = step_of(site);
  for (const IterationPiece& piece : pieces) {
    const OutlineStep& receive = outline_.steps[piece.step];
    const bool first = &piece == pieces.data();
    if (first) {
      receiver.reduces = reduces(receive.opcode);
      receiver.number = outline_.number_of(target, piece.step, piece.shift);
    }
    if (receiver.reduces != reduces(receive.opcode)) throw CannotFold();
    if (receive.count == send.count) continue;
    if (site.times > 1) throw CannotFold();
    const int peer = block_of(site).send_peer;
    throw UserError(fmt::format(
        "program '{}': {} sends {} chunks, but {} expects {}", outline_.name,
        describe_step(outline_, site.rank, site.thread_block, site.number), send.count,
        describe_step(outline_, peer, static_cast<int>(target - outline_.first_block(peer)),
                      receiver.number),
        receive.count));
  }
  return receiver;
}

bool Lowering::crosses_network(std::span<const LinkId> links) const {
  return std::any_of(links.begin(), links.end(), [this](LinkId id) {
    return fabric_.links()[static_cast<std::size_t>(id)].kind == LinkKind::Network;
  });
}

// Between its first and its last network switch, a message may take other ways than `links`, which
// begin the route: the same ones for all messages between these switches.
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
  const auto [known, fresh] = ways_.try_emplace({link(*first).source, link(*(end - 1)).target}, -1);
  if (fresh) {
    auto ways = fabric_.alternative_routes(origin.rank, origin.peer_rank, channel, kDetours);
    for (std::vector<LinkId>& way : ways) {
      way.erase(way.end() - (links.end() - end), way.end());
      way.erase(way.begin(), way.begin() + before);
    }
    if (!ways.empty()) known->second = graph_->add_ways(ways);
  }
  if (known->second < 0) return;
  graph_->set_alternatives(route, static_cast<std::int32_t>(before),
                           static_cast<std::int32_t>(end - first), known->second);
}

Lowering::Message Lowering::add_message(const NodeOrigin& origin, int channel, int chunks,
                                        bool reducing, std::int32_t times) {
  const std::uint64_t key = connection_key(origin.rank, origin.peer_rank, channel, 0);
  auto found = routes_.find(key);
  if (found == routes_.end()) {
    std::vector<LinkId> links = fabric_.route(origin.rank, origin.peer_rank, channel);
    std::vector<std::int32_t> loaded(links.begin(), links.end());
    if (proxies_ && crosses_network(links)) {
      const auto first = static_cast<std::int32_t>(fabric_.links().size());
      loaded.push_back(first + origin.rank);
      loaded.push_back(first + origin.peer_rank);
    }
    if (first_pair_ >= 0 && crosses_network(links)) {
      loaded.push_back(pair_link(origin.rank, origin.peer_rank));
    }
    const std::int32_t id = graph_->add_route(loaded);
    add_alternatives(id, origin, channel, links);
    found = routes_.emplace(key, Route{id, std::move(links)}).first;
  }
  const TransferCost cost = transfer_cost(model_, fabric_, found->second.links, config_,
                                          outline_.traits, tile_bytes_ * chunks, reducing);
  if (model_.network_burst_bytes > 0 && crosses_network(found->second.links)) {
    count_bytes(origin, found->second.links, cost.wire_bytes * tiles_ * times);
  }
  return add_flow(origin, found->second.id, cost, times);
}

void Lowering::count_bytes(const NodeOrigin& origin, std::span<const LinkId> route, double bytes) {
  network_bytes_.resize(graph_->link_capacities_Bps().size());
  for (const LinkId link : route) network_bytes_[static_cast<std::size_t>(link)] += bytes;
  if (first_pair_ < 0) return;
  network_bytes_[static_cast<std::size_t>(pair_link(origin.rank, origin.peer_rank))] += bytes;
}

// What a link passes at once is taken off all that crosses it in proportion, so that the link is
// busy as long in all as it is with its bucket full at the start. A token bucket passes the first
// bytes at once instead; but then, its next ones would have to know what came before.
void Lowering::pass_bursts() {
  if (network_bytes_.empty() || model_.hockney) return;
  const auto burst = static_cast<double>(model_.network_burst_bytes);
  const auto before = graph_->link_capacities_Bps();
  std::vector<double> capacities(before.begin(), before.end());
  for (std::size_t link = 0; link < network_bytes_.size(); ++link) {
    const bool connection = link >= fabric_.links().size();
    if (network_bytes_[link] <= 0) continue;
    if (!connection && fabric_.links()[link].kind != LinkKind::Network) continue;
    // A connection has the buckets of two hosts, one a direction.
    const double passed = connection ? 2 * burst : burst;
    capacities[link] /= std::max(1 - passed / network_bytes_[link], kLeastBurstShare);
  }
  graph_->set_link_capacities(std::move(capacities));
}

// A flow, and its arrival if that takes time.
Lowering::Message Lowering::add_flow(const NodeOrigin& origin, std::int32_t route,
                                     const TransferCost& cost, std::int32_t times) {
  origins_.push_back(origin);
  const TransferId flow =
      graph_->add_flow(route, cost.wire_bytes, cost.latency_s, cost.rate_cap_Bps, tiles_ * times);
  if (cost.arrival_s == 0) return {flow, flow};
  const TransferId arrival = add_local_node(cost.arrival_s,
                                            {.rank = origin.peer_rank,
                                             .thread_block = origin.peer_thread_block,
                                             .step = origin.peer_step,
                                             .role = NodeRole::Arrival},
                                            times);
  graph_->add_edge(flow, arrival);
  return {flow, arrival};
}

}  // namespace cclgym
