// Lowering, messages: which send meets which receive, and the flow of each message.
#include <algorithm>
#include <fmt/core.h>
#include <vector>

#include "core/error.hpp"
#include "sim/lowering_internal.hpp"
#include "sim/transfer_cost.hpp"

namespace cclgym {

void Lowering::find_connections() {
  for_each_step([this](int rank, int block, int step) {
    const ThreadBlock& tb = block_at(rank, block);
    const Opcode opcode = step_at(rank, block, step).opcode;
    if (sends(opcode)) {
      Connection& c = connections_[connection_key(rank, tb.send_peer, tb.channel, tb.kernel)];
      claim(c.source_block, block, rank, tb.send_peer, tb.channel, "send");
      c.source_steps.push_back(step);
    }
    if (receives(opcode)) {
      Connection& c = connections_[connection_key(tb.recv_peer, rank, tb.channel, tb.kernel)];
      claim(c.target_block, block, tb.recv_peer, rank, tb.channel, "receive");
      c.target_steps.push_back(step);
    }
  });
}

void Lowering::claim(std::int32_t& owner, int block, int source, int target, int channel,
                     const char* direction) const {
  if (owner >= 0 && owner != block) {
    throw UserError(fmt::format(
        "program '{}': thread blocks {} and {} both {} on the connection rank {} -> rank {}, "
        "channel {}; a connection belongs to one thread block at either end",
        program_->name, owner, block, direction, source, target, channel));
  }
  owner = block;
}

void Lowering::add_flows() {
  for_each_step([this](int rank, int block, int step) {
    const Instruction& instruction = step_at(rank, block, step);
    if (!sends(instruction.opcode)) return;
    const ThreadBlock& tb = block_at(rank, block);
    Connection& c = connections_.at(connection_key(rank, tb.send_peer, tb.channel, tb.kernel));
    const std::size_t k = c.flows.size();
    if (k >= c.target_steps.size()) {
      throw UserError(fmt::format("program '{}': {} sends a message that nobody receives",
                                  program_->name, describe_step(*program_, rank, block, step)));
    }
    const int target_step = c.target_steps[k];
    const Instruction& receive = step_at(tb.send_peer, c.target_block, target_step);
    if (receive.count != instruction.count) {
      throw UserError(fmt::format(
          "program '{}': {} sends {} chunks, but {} expects {}", program_->name,
          describe_step(*program_, rank, block, step), instruction.count,
          describe_step(*program_, tb.send_peer, c.target_block, target_step), receive.count));
    }
    const NodeOrigin origin{rank, block, step, tb.send_peer, c.target_block, target_step};
    const Message message = add_message(origin, tb.channel, instruction.count,
                                        reduces(instruction.opcode) || reduces(receive.opcode));
    c.flows.push_back(message.flow);
    own_node_[step_index(rank, block, step)] = message.flow;
    arrival_[step_index(tb.send_peer, c.target_block, target_step)] = message.arrival;
  });
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
                                        bool reducing) {
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
    const std::int32_t id = graph_->add_route(loaded);
    add_alternatives(id, origin, channel, links);
    found = routes_.emplace(key, Route{id, std::move(links)}).first;
  }
  const TransferCost cost = transfer_cost(model_, fabric_, found->second.links, config_,
                                          program_->runtime, tile_bytes_ * chunks, reducing);
  origins_.push_back(origin);
  const TransferId flow = graph_->add_flow(found->second.id, cost.wire_bytes, cost.latency_s,
                                           cost.rate_cap_Bps, tiles_);
  if (cost.arrival_s == 0) return {flow, flow};
  const TransferId arrival =
      add_local_node(cost.arrival_s, {.rank = origin.peer_rank,
                                      .thread_block = origin.peer_thread_block,
                                      .step = origin.peer_step,
                                      .role = NodeRole::Arrival});
  graph_->add_edge(flow, arrival);
  return {flow, arrival};
}

}  // namespace cclgym
