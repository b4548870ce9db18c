// One lowering at work: the state that the files sim/lowering/lowering_*.cpp share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collectives/outline.hpp"
#include "sim/lowering/block_company.hpp"
#include "sim/lowering/lowering.hpp"
#include "sim/lowering/network_use.hpp"
#include "sim/prices/node_cost_table.hpp"

namespace cclgym {

/// Maximum number of detours of a message where routing is adaptive (docs/fabrics.md gives the
/// reason for the number).
inline constexpr int kAlternativeRoutes = 32;

// Thrown if the loops of an outline do not fit nodes that fire many times: it must be unrolled.
struct CannotFold {};

// One of at most two things that complete a step.
struct CompletionPart {
  enum class Kind : std::uint8_t {
    None,
    Own,      // node of a step (`id`: index into ProgramOutline::steps)
    Arrival,  // message that a step receives (`id`: the step)
    Group,    // flow of the group that a step sends in (`id`: the group)
    Launch    // node that fires once (`id`: the node)
  };
  static constexpr std::int32_t kSame = -1;

  Kind kind = Kind::None;
  std::int32_t id = -1;
  std::int32_t iteration = kSame;  // iteration of step `id`; kSame: the completed step's iteration
};

// Nodes that are done when a step is done. A receive needs no node of its own as long as two parts
// suffice, so that a ring costs one flow per step and peer.
struct Completion {
  CompletionPart parts[2];
};

// Pairs of an iteration i of a step, for i in [begin, end), with firing i + shift of the node that
// it waits for.
struct Iterations {
  std::int32_t begin;
  std::int32_t end;
  std::int32_t shift;
};

struct Requirement {
  TransferId node;
  std::int32_t tile_lag;  // lag of the edge if nodes fire once per tile
  Iterations iterations;
};

// One direction of a channel between two ranks, with exactly one thread block at each end.
struct Connection {
  std::int32_t source_block = -1;  // index over all ranks
  std::int32_t target_block = -1;
};

inline std::uint64_t connection_key(int source, int target, int channel, int kernel) {
  // 22 bits per rank, 12 per channel, 8 per kernel: far above any program's size.
  return (static_cast<std::uint64_t>(source) << 42) | (static_cast<std::uint64_t>(target) << 20) |
         (static_cast<std::uint64_t>(channel) << 8) | static_cast<std::uint64_t>(kernel);
}

// Nodes stand for the steps of the outline. A step of a loop is one node that fires once per
// iteration; with tiles there are no loops, and a step's node fires once per tile.
//
// The parts below decide the structure: nodes, their cost records, routes and edges. Numbers come
// only from `costs_` (sim/prices/price.hpp). The structure uses a price only to check whether a
// node takes time, because a launch, an arrival or a receive that takes none needs no node.
class Lowering {
 public:
  Lowering(const ProgramOutline& outline, const Fabric& fabric, const CostModel& model,
           const Call& call, const Config& config, std::span<const double> start_delays_s,
           const std::optional<LaunchedBlocks>& launched = {});

  LoweredProgram run();

 private:
  // A step of the outline and its place.
  struct Site {
    int rank = 0;
    int thread_block = 0;
    std::uint32_t block = 0;    // index over all ranks
    std::uint32_t loop = 0;     // index into ProgramOutline::loops
    std::uint32_t step = 0;     // index into ProgramOutline::steps
    std::int32_t times = 1;     // runs per tile
    std::int32_t number = 0;    // number of its first iteration in the block
    std::int32_t sent = 0;      // sends of the block before its first iteration
    std::int32_t received = 0;  // receives of the block before its first iteration
    bool first_of_loop = false;
    bool first_of_block = false;
  };
  struct Route {
    std::int32_t id;          // index in the graph
    std::int32_t cost_class;  // NodeCost::route
    std::vector<LinkId> links;
    bool crosses_network;
  };
  struct Receiver {
    std::int32_t block = -1;  // index over all ranks
    std::int32_t number = 0;  // step of the block that receives the first message
    bool reduces = false;
  };
  struct Message {
    TransferId flow;
    TransferId arrival;  // node at whose end the message has arrived; flow if flight takes no time
  };
  // A message of a group that switches copy or add.
  struct GroupMember {
    std::uint32_t step;  // step of the sender
    NodeOrigin origin;
    int channel;
    Opcode opcode;  // opcode of the sender's step
    std::int32_t chunks;
    bool reducing;
    std::int32_t answers;  // OutlineStep::answers
  };

  [[nodiscard]] const OutlineStep& step_of(const Site& site) const {
    return outline_.steps[site.step];
  }
  [[nodiscard]] const OutlineBlock& block_of(const Site& site) const {
    return outline_.blocks[site.block];
  }
  [[nodiscard]] std::span<const IterationPiece> incoming(std::uint32_t step) const {
    return {incoming_.data() + first_incoming_[step], incoming_.data() + first_incoming_[step + 1]};
  }
  [[nodiscard]] bool has_arrival(std::uint32_t step) const { return !incoming(step).empty(); }
  [[nodiscard]] static CompletionPart arrival_at(std::uint32_t step) {
    return {CompletionPart::Kind::Arrival, static_cast<std::int32_t>(step)};
  }
  [[nodiscard]] std::size_t start_index(int rank, int kernel) const {
    return static_cast<std::size_t>(rank * kernels_ + kernel);
  }
  [[nodiscard]] TransferId start_of(int rank, int kernel) const {
    return starts_[start_index(rank, kernel)];
  }
  [[nodiscard]] bool is_launch(TransferId node) const {
    return origins_[static_cast<std::size_t>(node)].thread_block < 0;
  }

  template <typename Visit>
  void for_each_site(Visit visit) const;

  // sim/lowering/lowering.cpp: nodes, launches, kernels, the last nodes of each rank.
  [[nodiscard]] double latency_s(std::int32_t record) const {
    return costs_.price_of(record).latency_s;
  }
  TransferId add_delay(std::int32_t record, const NodeOrigin& origin, std::int32_t times = 1,
                       double start_delay_s = 0);
  [[nodiscard]] std::vector<int> channels_by_kernel() const;
  void add_starts();
  void start_after(std::uint32_t block, TransferId start);
  void connect_kernels();
  void collect_last();

  // sim/lowering/lowering_links.cpp: links and their capacities.
  void set_links();
  [[nodiscard]] std::int32_t pair_link(std::int32_t a, std::int32_t b) const;
  [[nodiscard]] bool crosses_network(std::span<const LinkId> links) const;
  [[nodiscard]] bool comes_by_mpi(const Site& site) const;
  [[nodiscard]] int alike_in(int kernel) const;
  void add_alternatives(std::int32_t route, const NodeOrigin& origin, int channel,
                        std::span<const LinkId> links);
  void count_bytes(const NodeOrigin& origin, std::span<const LinkId> route, double bytes);
  void pass_bursts();

  // sim/lowering/lowering_messages.cpp: connections and their flows.
  void find_connections();
  void claim(std::int32_t& owner, int rank, std::uint32_t block, bool sending) const;
  void match_receives();
  void add_flows();
  [[nodiscard]] Receiver receiver_of(const Site& site);
  [[nodiscard]] const Route& route_of(const NodeOrigin& origin, int channel);
  [[nodiscard]] BlockCompany company_of(std::uint32_t block) const {
    if (launched_) return launched_->company;
    return company_.empty() ? BlockCompany{.senders = 0} : company_[block];
  }
  Message add_message(const NodeOrigin& origin, const Site& site, bool reducing);
  Message add_flow(const NodeOrigin& origin, std::int32_t route, std::int32_t record,
                   std::int32_t times);

  // sim/lowering/lowering_messages.cpp: steps that send a message on while it arrives.
  void add_heads();
  [[nodiscard]] bool streams_in(std::uint32_t step) const {
    return !heads_.empty() && streams_in_[step] != 0;
  }
  [[nodiscard]] TransferId done_node(std::uint32_t step) const {
    return !done_.empty() && done_[step] >= 0 ? done_[step] : own_node_[step];
  }
  void add_done(const Site& site);
  void connect_stream(const Site& site);

  // sim/lowering/lowering_groups.cpp: messages that switches copy and add.
  void add_groups();
  TransferId add_group(std::span<const GroupMember> members, std::span<const GroupMember> answer);
  [[nodiscard]] std::vector<std::vector<LinkId>> routes_of_group(
      std::span<const GroupMember> members) const;
  void require_computing(std::span<const LinkId> route, const NodeOrigin& origin) const;

  // sim/lowering/lowering_steps.cpp: completion of steps, and edges.
  [[nodiscard]] Completion last_of_loop(std::uint32_t loop) const;
  [[nodiscard]] Completion last_of_block(std::uint32_t block) const {
    return last_of_loop(outline_.blocks[block + 1].first_loop - 1);
  }
  [[nodiscard]] Completion before(const Site& site) const;
  void complete(const Site& site);
  [[nodiscard]] bool takes_while_arriving(std::uint32_t step) const;
  [[nodiscard]] bool may_merge(const Site& site) const;
  [[nodiscard]] bool only_receives(const Site& site) const;
  bool merge_receive(const Site& site);
  void connect(const Site& site);
  void require(const Completion& completion, std::int32_t tile_lag, const Iterations& iterations);
  void require_arrival(std::uint32_t step, std::int32_t tile_lag, const Iterations& iterations) {
    require_sent(arrival_, step, tile_lag, iterations);
  }
  void require_sent(const std::vector<TransferId>& nodes, std::uint32_t step, std::int32_t tile_lag,
                    const Iterations& iterations);
  void require_each(MessageIndex::Of what, std::uint32_t block, std::int32_t first,
                    std::int32_t stride, std::int32_t begin, std::int32_t end,
                    std::int32_t tile_lag);
  void require_slot(const Site& site);
  void add_edges(TransferId node, std::int32_t times);
  [[nodiscard]] std::int32_t lag_of(const Requirement& requirement, std::int32_t times) const;

  const ProgramOutline& outline_;
  const Fabric& fabric_;
  const CostModel& model_;
  const Config& config_;
  int slots_;  // messages that a connection holds; 0: any number
  std::span<const double> start_delays_s_;
  std::optional<LaunchedBlocks> launched_;  // none: the blocks of the outline
  MessageIndex index_;
  int kernels_;
  NetworkUse use_;
  std::vector<BlockCompany> company_;  // by block; empty: it makes no difference
  std::int32_t tiles_;
  NodeCostTable costs_;
  std::shared_ptr<TransferGraph> graph_;
  std::vector<NodeOrigin> origins_;
  std::vector<TransferId> starts_;       // by rank and kernel, -1: none
  std::vector<std::int32_t> target_of_;  // by block, over all ranks: receiver of its messages
  std::vector<std::int32_t> source_of_;  // by block, over all ranks: sender of its messages
  // By step of the outline:
  std::vector<Completion> completions_;
  std::vector<TransferId> own_node_;  // -1: none
  std::vector<TransferId> arrival_;   // by send: node at whose end its message has arrived
  // By send: node at whose end the receiver can begin to send the message on; as arrival_ where it
  // waits for the whole message. Empty if no message of the program is sent on while it arrives.
  std::vector<TransferId> heads_;
  std::vector<char> streams_in_;  // by step: it sends on a message while it arrives
  std::vector<TransferId> done_;  // by step of streams_in_: node at whose end it is done; -1: none
  std::vector<TransferId> head_nodes_;
  std::vector<std::uint32_t> first_incoming_;  // by receive: its first send in incoming_
  std::vector<IterationPiece> incoming_;
  std::map<std::int32_t, std::vector<GroupMember>> groups_;
  std::map<std::int32_t, TransferId> group_flow_;
  std::unordered_map<std::uint64_t, Connection> connections_;
  bool proxies_ = false;               // true: messages over the network load proxies
  std::int32_t first_pair_ = -1;       // link of the connection of ranks 0 and 1; -1: no limit
  std::vector<double> network_bytes_;  // by link; empty if no link passes bursts
  std::unordered_map<std::uint64_t, Route> routes_;
  // Set of alternative routes between two switches of the network; -1: none.
  std::map<std::pair<NodeId, NodeId>, std::int32_t> alternatives_;
  std::vector<IterationPiece> scratch_pieces_;
  std::vector<Requirement> requirements_;  // requirements of the current step
  std::vector<std::pair<TransferId, std::int32_t>> scratch_edges_;  // node, lag
  std::vector<std::size_t> rank_last_offset_;
  std::vector<TransferId> rank_last_;
};

template <typename Visit>
void Lowering::for_each_site(Visit visit) const {
  Site site;
  for (site.rank = 0; site.rank < outline_.ranks(); ++site.rank) {
    site.thread_block = 0;
    for (site.block = outline_.first_block(site.rank);
         site.block < outline_.first_block(site.rank + 1); ++site.block, ++site.thread_block) {
      site.first_of_block = true;
      for (site.loop = outline_.blocks[site.block].first_loop;
           site.loop < outline_.blocks[site.block + 1].first_loop; ++site.loop) {
        const OutlineLoop& loop = outline_.loops[site.loop];
        site.times = loop.times;
        site.first_of_loop = true;
        site.sent = index_.first(MessageIndex::Of::Sends, site.loop);
        site.received = index_.first(MessageIndex::Of::Receives, site.loop);
        for (std::int32_t i = 0; i < loop.body; ++i) {
          site.step = loop.first + static_cast<std::uint32_t>(i);
          site.number = loop.first_step + i;
          visit(static_cast<const Site&>(site));
          const Opcode opcode = outline_.steps[site.step].opcode;
          site.sent += sends(opcode) ? 1 : 0;
          site.received += receives(opcode) ? 1 : 0;
          site.first_of_loop = site.first_of_block = false;
        }
      }
    }
  }
}

}  // namespace cclgym
