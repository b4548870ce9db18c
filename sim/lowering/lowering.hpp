// Lowering: (thread-block program, fabric, cost model, call) -> transfer graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/ir.hpp"
#include "collectives/outline.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/call/call.hpp"
#include "sim/graph/transfer_graph.hpp"
#include "sim/lowering/block_company.hpp"
#include "sim/lowering/message_index.hpp"
#include "sim/prices/node_cost.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Role of a graph node within its step.
enum class NodeRole : std::uint8_t {
  Step,     ///< the work of the step: sending, copying, reducing, taking out of the FIFO
  Arrival,  ///< a message on its way from its last byte to the step that receives it
  Head,     ///< the first unit of a message, until it has arrived (streamed_unit_bytes)
  Done,     ///< end of a step that sends on a message while it arrives
  Launch,   ///< the host launches a kernel of the rank (`step` is the kernel)
  Start,    ///< a kernel after the first starts on the rank (`step` is the kernel)
};

/// Step of a program that a graph node stands for. For the node of a folded loop, this is the step
/// in the first iteration (see step_of_firing).
struct NodeOrigin {
  std::int32_t rank = -1;
  std::int32_t thread_block = -1;  ///< -1: a kernel of the rank
  std::int32_t step = -1;
  std::int32_t peer_rank = -1;  ///< receiver of a transfer, -1 for a local node
  std::int32_t peer_thread_block = -1;
  std::int32_t peer_step = -1;
  NodeRole role = NodeRole::Step;
};

/// Classes of equal nodes, where a graph has one node for each.
struct NodeClasses {
  std::vector<std::int64_t> nodes;  ///< by node of the graph: number of nodes that it stands for
  /// By link of the program: its class, which is a link of the graph; -1 if no message crosses it.
  std::vector<std::int32_t> link;
  /// True if the outline lists only one message of each class (lower_some), in thread blocks whose
  /// numbers mean nothing.
  bool examples = false;
};

/// A program made ready to simulate.
struct LoweredProgram {
  std::shared_ptr<const ProgramOutline> outline;
  std::shared_ptr<const ThreadBlockProgram> program;  ///< null if only its outline is known
  std::shared_ptr<const TransferGraph> graph;
  /// Fabric of its routes, with the NICs that the program uses (NicUse); set by Simulator.
  std::shared_ptr<const Fabric> fabric;
  std::vector<NodeOrigin> origins;  ///< by node; the arrival of a flow is the node after it
  NodeCosts costs;  ///< cost records; prices plus delays give the latencies of the graph
  /// Rank r is done when nodes rank_last[rank_last_offset[r] .. rank_last_offset[r + 1]) are done.
  std::vector<std::size_t> rank_last_offset;
  std::vector<TransferId> rank_last;
  /// Kernels of the program. Those of a rank after the first begin with the nodes among its
  /// rank_last that have the role Start, in order.
  int kernels = 1;
  /// Number of the graph's links that belong to the fabric; the links after them are the ranks'
  /// proxies. With `classes`, the links are those of NodeClasses::link.
  std::size_t fabric_links = 0;
  int steps = 0;           ///< transfers on a tile's longest chain of dependent transfers
  std::int32_t tiles = 1;  ///< every node except launches fires once per tile
  /// True if nodes fire once per iteration of the loop that contains their step; `tiles` is 1 then.
  bool folded = false;
  std::shared_ptr<const MessageIndex> messages;  ///< index of the outline's messages, if folded
  /// Null if every node stands for itself (sim/classes/class_program.hpp).
  std::shared_ptr<const NodeClasses> classes;
};

/// Thread blocks that every rank launches, and the channels that they use.
struct LaunchedBlocks {
  int channels = 0;
  std::int64_t blocks = 0;
  BlockCompany company{.senders = 0};  ///< company of each block
};

/// Condition under which each step of a loop becomes one node that fires once per iteration,
/// instead of one node per iteration. The dates are the same except for rounding; the graph is
/// small.
enum class Folding : std::uint8_t {
  Large,   ///< programs of more than kFoldedSteps steps
  Always,  ///< whenever the loops allow it
  Never
};
inline constexpr std::int64_t kFoldedSteps = 1 << 16;

/// Lowers a program. Each message is one flow, followed by a delay until it arrives if the cost
/// model has one. A thread block runs its steps in order. A send is done when its flow is done. A
/// receive is done when its message has arrived and its own work, after the block's previous step
/// and the step's dependencies, is done. A fused step starts when its message has arrived.
///
/// Kernel k of a rank starts when the host has launched it (launches follow one after another, and
/// wait for nothing) and, kernel_gap later, all thread blocks of kernel k - 1 of the rank are done.
/// A kernel with a gate (KernelGate) starts kernel_gap after that kernel of the other rank is done.
///
/// With config.tile_bytes, chunks are cut into the minimum number of equal tiles that keeps every
/// message at most that large, and every node fires once per tile: a block runs all its steps on
/// one tile, then all on the next, and dependencies between blocks hold tile by tile. With
/// config.slots, a connection holds that many messages: message i starts only when message
/// i - slots has been received (docs/cost-models.md).
///
/// Loops are folded, as `folding` says, if there is one tile and the steps that an iteration waits
/// for advance from each to the next as the iterations do; otherwise they are unrolled.
///
/// `start_delays_s`: seconds by which each rank starts late; empty if none does.
/// An unmatched receive becomes a node that can never fire, so that engines report it by name.
/// Throws UserError if slots are not 0 to 8, if there are too many tiles, if the program does not
/// fit the fabric's ranks, if two thread blocks share a direction of a connection, or if a send has
/// no receive.
[[nodiscard]] LoweredProgram lower(std::shared_ptr<const ThreadBlockProgram> program,
                                   const Fabric& fabric, const CostModel& model, const Call& call,
                                   const Config& config,
                                   std::span<const double> start_delays_s = {},
                                   Folding folding = Folding::Large);
[[nodiscard]] LoweredProgram lower(std::shared_ptr<const ProgramOutline> program,
                                   const Fabric& fabric, const CostModel& model, const Call& call,
                                   const Config& config,
                                   std::span<const double> start_delays_s = {},
                                   Folding folding = Folding::Large);

/// Lowers a program of one kernel and without loops, of which the outline lists only some thread
/// blocks: launches cost as much as those of all.
[[nodiscard]] LoweredProgram lower_some(std::shared_ptr<const ProgramOutline> program,
                                        const Fabric& fabric, const CostModel& model,
                                        const Call& call, const Config& config,
                                        const LaunchedBlocks& launched);

/// Step that a firing of a node stands for, counted within its thread block; for an arrival, the
/// receiving step. With tiles it is the same for every firing.
[[nodiscard]] std::int32_t step_of_firing(const LoweredProgram& lowered, TransferId node,
                                          std::int32_t firing);
/// Step of the peer's thread block that receives the message of a firing of a flow.
[[nodiscard]] std::int32_t receiving_step(const LoweredProgram& lowered, TransferId flow,
                                          std::int32_t firing);

/// Size of the largest message of a program, in chunks.
[[nodiscard]] int longest_message(const ThreadBlockProgram& program);

/// Description of a firing of a node: "rank 1, thread block 0, step 2: recv from rank 0 on channel
/// 0".
[[nodiscard]] std::string describe_node(const LoweredProgram& lowered, TransferId node,
                                        std::int32_t firing = 0);

}  // namespace cclgym
