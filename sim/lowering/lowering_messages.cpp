// Lowering, messages: the pairs of sends and receives, and the flow of each message.
#include <algorithm>
#include <fmt/core.h>
#include <vector>

#include "core/error.hpp"
#include "sim/lowering/graph_shape.hpp"
#include "sim/lowering/lowering_internal.hpp"

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

// Finds the sends that match each receive; a receive may have none.
void Lowering::match_receives() {
  constexpr std::size_t kMaxPieces = 4;  // maximum number of pieces in a loop that is worth folding
  first_incoming_.reserve(outline_.steps.size());
  for_each_site([this](const Site& site) {
    const std::size_t first = incoming_.size();
    first_incoming_.push_back(static_cast<std::uint32_t>(first));
    const std::int32_t source = source_of_[site.block];
    if (!receives(step_of(site).opcode)) return;
    const bool found =
        source >= 0 && index_.find(Of::Sends, static_cast<std::uint32_t>(source), site.received,
                                   index_.each(Of::Receives, site.loop), site.times, incoming_);
    if (site.times > 1 && (!found || incoming_.size() - first > kMaxPieces)) throw CannotFold();
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
          add_delay(costs_.record({.work = Work::InPlace, .opcode = step.opcode}),
                    {site.rank, site.thread_block, site.number}, site.times);
      groups_[step.group].push_back({site.step, origin, block.channel, step.opcode, step.count,
                                     receiver.reduces, step.answers});
      return;
    }
    const Message message = add_message(origin, site, reduces(step.opcode) || receiver.reduces);
    own_node_[site.step] = message.flow;
    arrival_[site.step] = message.arrival;
  });
}

// Receiver of a step's messages. All iterations must have the same cost record.
Lowering::Receiver Lowering::receiver_of(const Site& site) {
  Receiver receiver{.block = target_of_[site.block]};
  std::vector<IterationPiece>& pieces = scratch_pieces_;
  pieces.clear();
  const auto target = static_cast<std::uint32_t>(receiver.block);
  if (receiver.block < 0 || !index_.find(Of::Receives, target, site.sent,
                                         index_.each(Of::Sends, site.loop), site.times, pieces)) {
    if (site.times > 1) throw CannotFold();
    throw UserError(
        fmt::format("program '{}': {} sends a message that is never received", outline_.name,
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

// Route of a message. The first message of a connection looks it up.
const Lowering::Route& Lowering::route_of(const NodeOrigin& origin, int channel) {
  const std::uint64_t key = connection_key(origin.rank, origin.peer_rank, channel, 0);
  if (const auto found = routes_.find(key); found != routes_.end()) return found->second;
  std::vector<LinkId> links = fabric_.route(origin.rank, origin.peer_rank, channel);
  std::vector<std::int32_t> loaded(links.begin(), links.end());
  const bool network = crosses_network(links);
  if (proxies_ && network) {
    const auto first = static_cast<std::int32_t>(fabric_.links().size());
    loaded.push_back(first + origin.rank);
    loaded.push_back(first + origin.peer_rank);
  }
  if (first_pair_ >= 0 && network) {
    loaded.push_back(pair_link(origin.rank, origin.peer_rank));
  }
  const std::int32_t id = graph_->add_route(loaded);
  add_alternatives(id, origin, channel, links);
  const std::int32_t cost_class = costs_.route_class(links);
  return routes_.emplace(key, Route{id, cost_class, std::move(links), network}).first->second;
}

Lowering::Message Lowering::add_message(const NodeOrigin& origin, const Site& site, bool reducing) {
  const OutlineStep& send = step_of(site);
  const Route& route = route_of(origin, block_of(site).channel);
  BlockCompany company = company_of(site.block);
  if (route.crosses_network) {
    company.peers = 1;
    company.senders = company.nic_senders;
  }
  const std::int32_t record = costs_.record({.work = Work::Transfer,
                                             .opcode = send.opcode,
                                             .reducing = reducing,
                                             .chunks = send.count,
                                             .route = route.cost_class,
                                             .peers = company.peers,
                                             .senders = company.senders,
                                             .exchanging = company.exchanging});
  if (model_.network_burst_bytes > 0 && route.crosses_network) {
    count_bytes(origin, route.links, costs_.price_of(record).wire_bytes * tiles_ * site.times);
  }
  return add_flow(origin, route.id, record, site.times);
}

// Adds a flow, and a node for the arrival of its message if that takes time.
Lowering::Message Lowering::add_flow(const NodeOrigin& origin, std::int32_t route,
                                     std::int32_t record, std::int32_t times) {
  origins_.push_back(origin);
  costs_.add_node(record);
  const Price& price = costs_.price_of(record);
  const TransferId flow = graph_->add_flow(route, price.wire_bytes, price.latency_s,
                                           price.rate_cap_Bps, tiles_ * times);
  const std::int32_t arrives = costs_.arrival_of(record);
  if (latency_s(arrives) == 0) return {flow, flow};
  const TransferId arrival = add_delay(arrives,
                                       {.rank = origin.peer_rank,
                                        .thread_block = origin.peer_thread_block,
                                        .step = origin.peer_step,
                                        .role = NodeRole::Arrival},
                                       times);
  graph_->add_edge(flow, arrival);
  return {flow, arrival};
}

// --- streams --------------------------------------------------------------------------------

// Streams are steps that receive a message and send it on while it arrives (LL, LL128).
//
// The step waits for the head of the message, a delay that starts with the message's flow and ends
// when the first unit has arrived. It is done when it has sent its message and has received all of
// the other, and its own message does not arrive before that either.

// Adds the head of every message that is sent on while it arrives. Messages over the network are
// not: their proxies wait for the whole message.
void Lowering::add_heads() {
  const double chunk_bytes = costs_.tile_bytes() / outline_.alike_channels;
  const std::int32_t longest = outline_.longest_message();
  const int whole = whole_chunks(model_, config_, outline_.traits, chunk_bytes, longest);
  if (whole >= longest) return;
  const auto may_stream = [&](const Site& site) {
    const OutlineStep& step = step_of(site);
    if (!sends(step.opcode) || step.group != kNoGroup || step.count <= whole) return false;
    const NodeOrigin& origin = origins_[static_cast<std::size_t>(own_node_[site.step])];
    return !route_of(origin, block_of(site).channel).crosses_network;
  };
  std::vector<char> streams(outline_.steps.size(), 0);
  for_each_site([&](const Site& site) { streams[site.step] = may_stream(site) ? 1 : 0; });
  streams_in_.assign(outline_.steps.size(), 0);
  heads_ = arrival_;
  for_each_site([&](const Site& site) {
    if (streams[site.step] == 0 || !receives(step_of(site).opcode)) return;
    for (const IterationPiece& piece : incoming(site.step)) {
      if (streams[piece.step] == 0) continue;
      streams_in_[site.step] = 1;
      const TransferId flow = own_node_[piece.step];
      if (heads_[piece.step] != arrival_[piece.step]) continue;
      NodeCost cost = costs_.cost_of(costs_.record_of(flow));
      cost.work = Work::Head;
      NodeOrigin origin = origins_[static_cast<std::size_t>(flow)];
      origin.role = NodeRole::Head;
      const std::int32_t record = costs_.record(cost);
      origins_.push_back(origin);
      costs_.add_node(record);
      heads_[piece.step] = graph_->add_delay(latency_s(record), graph_->repeat(flow), true);
      head_nodes_.push_back(heads_[piece.step]);
    }
  });
  if (head_nodes_.empty()) {
    heads_.clear();
  } else {
    done_.assign(outline_.steps.size(), -1);
  }
}

// Adds the node at whose end a step that sends on a message is done.
void Lowering::add_done(const Site& site) {
  const NodeOrigin origin{.rank = site.rank,
                          .thread_block = site.thread_block,
                          .step = site.number,
                          .role = NodeRole::Done};
  const std::int32_t record =
      costs_.record({.work = Work::InPlace, .opcode = step_of(site).opcode});
  done_[site.step] = add_delay(record, origin, site.times);
}

// Adds the edges of a step that sends, besides those of its flow: the head of its message waits for
// what the flow waits for (requirements_).
void Lowering::connect_stream(const Site& site) {
  const TransferId flow = own_node_[site.step];
  const TransferId arrival = arrival_[site.step];
  if (heads_[site.step] != arrival) add_edges(heads_[site.step], site.times);
  if (!streams_in(site.step)) return;
  requirements_.clear();
  require_arrival(site.step, 0, {0, site.times, 0});
  if (arrival != flow) add_edges(arrival, site.times);
  requirements_.push_back({flow, 0, {0, site.times, 0}});
  add_edges(done_[site.step], site.times);
}

}  // namespace cclgym
