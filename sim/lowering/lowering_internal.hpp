// One lowering at work: the state that the parts of sim/lowering*.cpp share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collectives/outline.hpp"
#include "sim/lowering/lowering.hpp"
#include "sim/lowering/transfer_cost.hpp"

namespace cclgym {

/// Detours that a message may take where routes are adaptive (docs/fabrics.md says why so many).
inline constexpr int kDetours = 32;

// The outline's loops do not fit nodes that fire many times: it has to be unrolled.
struct CannotFold {};

// One of the two things that must be done for a step to be done.
struct CompletionPart {
  enum class Kind : std::uint8_t {
    None,
    Own,      // the node of a step (an index into ProgramOutline::steps)
    Arrival,  // the message that a step receives
    Group,    // the flow of a group that a step sends in (the group's number)
    Launch    // a node that fires once
  };
  static constexpr std::int32_t kSame = -1;

  Kind kind = Kind::None;
  std::int32_t id = -1;
  std::int32_t iteration = kSame;  // of the step `id`; kSame: that of the step which is done
};

// A receive needs no node of its own as long as two parts say it all, so that a ring costs one flow
// a step and peer.
struct Completion {
  CompletionPart parts[2];
};

// Iteration i of a step, for i in [begin, end), and firing i + shift of what it waits for.
struct Iterations {
  std::int32_t begin;
  std::int32_t end;
  std::int32_t shift;
};

struct Requirement {
  TransferId node;
  std::int32_t tile_lag;  // with tiles, which are what nodes fire for
  Iterations iterations;
};

// One direction of a channel between two ranks; exactly one thread block at either end.
struct Connection {
  std::int32_t source_block = -1;  // over all ranks
  std::int32_t target_block = -1;
};

inline std::uint64_t connection_key(int source, int target, int channel, int kernel) {
  // 22 bits a rank, 12 a channel, 8 a kernel: far above any program's size.
  return (static_cast<std::uint64_t>(source) << 42) | (static_cast<std::uint64_t>(target) << 20) |
         (static_cast<std::uint64_t>(channel) << 8) | static_cast<std::uint64_t>(kernel);
}

// Nodes stand for the steps of the outline. A step of a loop is one node that fires once an
// iteration; with tiles there are no loops, and a step's node fires once a tile.
class Lowering {
 public:
  Lowering(const ProgramOutline& outline, const Fabric& fabric, const CostModel& model,
           const Call& call, const Config& config, std::span<const double> start_delays_s);

  LoweredProgram run();

 private:
  // A step of the outline, and where it stands.
  struct Site {
    int rank = 0;
    int thread_block = 0;
    std::uint32_t block = 0;  // over all ranks
    std::uint32_t loop = 0;   // index into ProgramOutline::loops
    std::uint32_t step = 0;   // index into ProgramOutline::steps
    std::int32_t times = 1;   // that it runs a tile
    std::int32_t number = 0;  // of its first iteration in the block
    std::int32_t sent = 0;    // sends of the block before its first iteration
    std::int32_t received = 0;
    bool first_of_loop = false;
    bool first_of_block = false;
  };
  struct Route {
    std::int32_t id;
    std::vector<LinkId> links;
  };
  struct Receiver {
    std::int32_t block = -1;  // over all ranks
    std::int32_t number = 0;  // step of the block that receives the first message
    bool reduces = false;
  };
  struct Message {
    TransferId flow;
    TransferId arrival;  // when the receiver has it: the flow itself if flight takes no time
  };
  // Of a message that switches copy or add with others.
  struct GroupMember {
    std::uint32_t step;  // that sends it
    NodeOrigin origin;
    int channel;
    std::int32_t count;
    bool reducing;
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
  TransferId add_local_node(double delay_s, const NodeOrigin& origin, std::int32_t times = 1);

  // sim/lowering/lowering.cpp: launches, kernels, the last nodes of each rank.
  [[nodiscard]] std::vector<int> channels_by_kernel() const;
  void add_starts();
  void connect_kernels();
  void collect_last();

  // sim/lowering/lowering_messages.cpp: connections and their flows.
  void set_links();
  [[nodiscard]] bool crosses_network(std::span<const LinkId> links) const;
  void find_connections();
  void claim(std::int32_t& owner, int rank, std::uint32_t block, bool sending) const;
  void match_receives();
  void add_flows();
  [[nodiscard]] Receiver receiver_of(const Site& site);
  void add_alternatives(std::int32_t route, const NodeOrigin& origin, int channel,
                        std::span<const LinkId> links);
  void count_bytes(const NodeOrigin& origin, std::span<const LinkId> route, double bytes);
  void pass_bursts();
  [[nodiscard]] std::int32_t pair_link(std::int32_t a, std::int32_t b) const;
  Message add_message(const NodeOrigin& origin, int channel, int chunks, bool reducing,
                      std::int32_t times);
  Message add_flow(const NodeOrigin& origin, std::int32_t route, const TransferCost& cost,
                   std::int32_t times);

  // sim/lowering/lowering_groups.cpp: what switches copy and add.
  void add_groups();
  [[nodiscard]] std::vector<std::vector<LinkId>> ways_of_group(
      std::span<const GroupMember> members) const;
  void require_computing(std::span<const LinkId> way, const NodeOrigin& origin) const;

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
  void require_arrival(std::uint32_t step, std::int32_t tile_lag, const Iterations& iterations);
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
  std::span<const double> start_delays_s_;
  MessageIndex index_;
  int kernels_;
  std::int32_t tiles_;
  double tile_bytes_;  // of one chunk
  std::shared_ptr<TransferGraph> graph_;
  std::vector<NodeOrigin> origins_;
  std::vector<TransferId> starts_;  // by rank and kernel, -1: none
  // By block, over all ranks: the one that receives what it sends, that sends what it receives.
  std::vector<std::int32_t> target_of_;
  std::vector<std::int32_t> source_of_;
  // By step of the outline:
  std::vector<Completion> completions_;
  std::vector<TransferId> own_node_;           // -1: none
  std::vector<TransferId> arrival_;            // of a send: what says its message is there
  std::vector<std::uint32_t> first_incoming_;  // of a receive: the sends that it meets
  std::vector<IterationPiece> incoming_;
  std::map<std::int32_t, std::vector<GroupMember>> groups_;
  std::map<std::int32_t, TransferId> group_flow_;
  std::unordered_map<std::uint64_t, Connection> connections_;
  bool proxies_ = false;          // do messages over the network load the proxies of their ranks?
  std::int32_t first_pair_ = -1;  ///< link of the connection of ranks 0 and 1; -1: no limit
  std::vector<double> network_bytes_;  ///< by link; empty: links pass nothing at once
  /// A link whose bucket holds all of a call is at most so many times faster.
  static constexpr double kLeastBurstShare = 1.0 / 64;
  std::unordered_map<std::uint64_t, Route> routes_;
  std::map<std::pair<NodeId, NodeId>, std::int32_t> ways_;  // between two switches, -1: one only
  std::vector<IterationPiece> scratch_pieces_;
  std::vector<Requirement> requirements_;                           // of the step at hand
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
