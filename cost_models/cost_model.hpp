// Cost of transfers: alpha and beta by link kind and protocol, thread-block rates, overheads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology_models/fabric.hpp"

namespace cclgym {

enum class Protocol : std::uint8_t { LL, LL128, Simple };
inline constexpr std::size_t kProtocols = 3;

[[nodiscard]] std::string_view to_string(Protocol protocol);
[[nodiscard]] std::optional<Protocol> parse_protocol(std::string_view name);  ///< case ignored
[[nodiscard]] const std::vector<Protocol>& all_protocols();

/// Cost of moving data with one protocol. The parameters are described to users in cost_fields.cpp.
struct ProtocolCost {
  /// Synchronisation of one step (flag or fence), on top of the link's alpha, s.
  double step_latency_s = 0;
  /// Additional latency if the route crosses a network link (proxy, rendezvous), s.
  double network_latency_s = 0;
  /// Additional latency on a tree, where one thread block serves several peers, s.
  double tree_latency_s = 0;
  double efficiency = 1;  ///< payload bytes / bytes on the wire, 0 < efficiency <= 1
  /// Wire rate of one thread block with full_threads threads, B/s.
  double thread_block_rate_Bps = kUnlimited;
  /// Payload rate at which such a thread block receives and reduces, B/s.
  double reduce_rate_Bps = kUnlimited;
  /// Wire rate of one connection that crosses a network link (the proxy between GPU and NIC), B/s.
  double network_rate_Bps = kUnlimited;
  /// Additional latency of a message that is announced (CostModel::eager_limit_bytes), s, on top of
  /// CostModel::rendezvous_latency_s, which LL does not have.
  double rendezvous_latency_s = 0;
  // Time for which a message keeps a rank's proxy busy, on top of CostModel::proxy_message_s
  // (docs/physics.md), s:
  double proxy_message_s = 0;  ///< for each message
  double proxy_inline_s = 0;   ///< for a message of at most CostModel::inline_limit_bytes
  double proxy_copy_s = 0;     ///< for a message that is copied with a call
  /// Wire rate at which a rank's proxy moves the messages that it sends and receives, all
  /// connections together, unless they are announced (CostModel::copy_end_bytes), B/s.
  double proxy_rate_Bps = kUnlimited;
  std::uint64_t slot_bytes = 0;  ///< data in one slot of a connection's FIFO, B; 0: not stated
  int slots = 0;                 ///< slots of the FIFO; 0: any number
  int message_slots = 1;         ///< slots that are filled before the receiver is notified
  static constexpr double kUnlimited = 1e30;

  /// Size of a tile, which is passed on as one message, B; 0: messages are not divided.
  [[nodiscard]] std::uint64_t tile_bytes() const {
    return slot_bytes * static_cast<std::uint64_t>(message_slots);
  }
  /// Number of tiles that the FIFO holds; 0: any number.
  [[nodiscard]] int tile_slots() const {
    return slots > message_slots ? slots / message_slots : (slots > 0 ? 1 : 0);
  }
};

/// Costs of messages between nodes that the host sends by MPI point to point (Transport::Mpi), and
/// of additions outside the library's kernels. All as below: a set does not state them, and such
/// messages cost what those of the library cost.
struct MpiCost {
  double message_s = 0;  ///< time for which the host works on a message before it leaves, s
  double latency_s = 0;  ///< time after the last byte until the receiver's host knows, s
  /// Larger messages are announced before they are sent, which takes rendezvous_latency_s more.
  std::uint64_t eager_limit_bytes = 0;
  double rendezvous_latency_s = 0;
  double rate_Bps = 1e30;  ///< wire rate of one message, B/s
  /// A kernel that adds a message to the receiver's data: its launch and synchronisation, s, and
  /// its payload rate, B/s.
  double reduce_launch_s = 0;
  double reduce_rate_Bps = 1e30;
  /// Reducer::Host: rates of a copy between the memories of GPU and host, and of the addition by
  /// the host, B/s.
  double host_copy_rate_Bps = 1e30;
  double host_reduce_rate_Bps = 1e30;
  /// On a connection that carries more messages than this in a kernel, each message takes
  /// match_overflow_s more; 0: never.
  int match_limit = 0;
  double match_overflow_s = 0;

  friend bool operator==(const MpiCost&, const MpiCost&) = default;
  [[nodiscard]] bool given() const { return *this != MpiCost{}; }
};

/// Costs of the library's own messages between nodes in very large jobs, where the NIC cannot match
/// all of them with their receives and leaves some to software.
struct MatchingCost {
  /// On a connection that carries more messages than this in a kernel, each message takes longer;
  /// 0: never.
  int limit = 0;
  double overflow_s = 0;        ///< time that a message takes longer, s
  double overflow_added_s = 0;  ///< the same for a message that its receiver adds, s

  friend bool operator==(const MatchingCost&, const MatchingCost&) = default;
  [[nodiscard]] bool given() const { return *this != MatchingCost{}; }
};

/// A complete set of cost parameters. Under model "hockney", a transfer of L bytes costs only alpha
/// + L * beta; under model "protocol", everything below applies.
struct CostModel {
  std::string name;         ///< e.g. "a100"
  std::string description;  ///< one line
  /// GPU models that the set describes (Fabric::gpu_model); empty: any, or not stated.
  std::vector<std::string> gpu_models{};
  /// Reason why this set does not describe the fabric's GPUs, as found by cost_model_for: "no set
  /// for MI250X", "not of MI300X"; empty if it does or if that is unknown.
  std::string misfit{};
  bool hockney = false;  ///< true: only the links' alpha and beta apply
  /// alpha by link kind, s per traversal; nullopt: the latency of the fabric's link, which also
  /// takes priority if the user stated it (Link::latency_stated). Index: LinkKind.
  std::array<std::optional<double>, 4> alpha_s;
  /// Share of a link's raw bandwidth that payload and protocol flags can use, by link kind.
  std::array<double, 4> link_efficiency{1, 1, 1, 1};
  std::array<ProtocolCost, kProtocols> protocols;  ///< index: Protocol
  int full_threads = 512;  ///< threads at which a thread block reaches its rates
  /// h, where t threads scale rates as t / (t + h), relative to full_threads; 0: rates scale
  /// linearly.
  int half_rate_threads = 0;
  double instruction_overhead_s = 0;  ///< fixed cost of every instruction, s
  /// Rates of a copy and of a reduction inside a GPU by one full thread block, B/s.
  double local_copy_rate_Bps = ProtocolCost::kUnlimited;
  double local_reduce_rate_Bps = ProtocolCost::kUnlimited;
  double kernel_launch_s = 0;     ///< time from the call to the first instruction, s
  double channel_overhead_s = 0;  ///< Runtime::Nccl: additional launch cost per channel, s
  // Costs under Runtime::Interpreter, s:
  double interpreter_launch_s = 0;  ///< launch cost on top of kernel_launch_s
  double interpreter_block_s = 0;   ///< launch cost per thread block of a GPU
  double interpreter_step_s = 0;    ///< cost per step on top of instruction_overhead_s
  double kernel_gap_s = 0;          ///< time between two kernels of one program on a GPU, s
  /// Number of SMs of a GPU, and so of thread blocks that it can run at once if each fills an SM. A
  /// program whose GPU needs more cannot be launched, because its thread blocks wait for each
  /// other. 0: any number.
  int max_thread_blocks = 0;
  /// Threads that fit on an SM (registers): smaller thread blocks share an SM. 0: they never share
  /// one.
  int resident_threads = 0;
  // Parameters of steps in which switches of a node copy or add (docs/physics.md):
  double switch_efficiency = 1;  ///< share of a link's rate, on top of link_efficiency
  double switch_latency_s = 0;   ///< replaces the protocol's step_latency, s
  /// Share of the rates inside a node that is left to messages which a GPU exchanges with very many
  /// peers at once (transfer_cost.hpp: rate_among_peers).
  double peer_efficiency = 1;
  /// Share of the rates inside a node that is left where the thread blocks of a GPU could send
  /// exactly as much as its link carries (transfer_cost.hpp: rate_near_limits).
  double even_efficiency = 1;
  /// Share of its rate that a thread block has for a message inside a node if it receives another
  /// one at the same time, as in NCCL's sends.
  double exchange_share = 1;
  double start_skew_s = 0;  ///< mean of the exponential per-rank start delay (seeded), s; 0: none
  // Cost of a message over the network, by its bytes on the wire (docs/physics.md).
  /// Time for which each message keeps a rank's proxy busy (the host thread that serves all its
  /// connections to other nodes), s, on top of the time to copy it (ProtocolCost::proxy_rate_Bps).
  double proxy_message_s = 0;
  /// Messages up to this size go inside the NIC's command (ProtocolCost::proxy_inline_s).
  std::uint64_t inline_limit_bytes = 0;
  /// Larger messages are copied by the host with a call: they take copy_latency_s longer, and only
  /// they are limited to network_rate.
  std::uint64_t copy_limit_bytes = 0;
  double copy_latency_s = 0;
  /// Messages above this size are not moved by the host: they are announced first, so that the NIC
  /// puts them where they belong. 0: no such size.
  std::uint64_t copy_end_bytes = 0;
  /// Larger messages are announced before they are sent, which takes rendezvous_latency_s more and
  /// keeps the proxies busy for proxy_rendezvous_s longer.
  std::uint64_t eager_limit_bytes = 0;
  double rendezvous_latency_s = 0;
  double proxy_rendezvous_s = 0;
  /// Bytes that a network link passes at once before its rate applies: the token bucket of a rate
  /// limiter, full when a call begins.
  std::uint64_t network_burst_bytes = 0;
  /// Wire rate of all messages over the network between two ranks, both directions together: one
  /// socket, B/s.
  double connection_rate_Bps = ProtocolCost::kUnlimited;
  MpiCost mpi{};
  MatchingCost matching{};

  /// Number of thread blocks with `threads` threads that a GPU can run at once; 0: any number.
  [[nodiscard]] int resident_thread_blocks(int threads) const;
  /// Name of the model in results, with `misfit` if it is not empty: "h100 (no set for B200)".
  [[nodiscard]] std::string label() const;
  /// Every parameter with all its bits: two models with the same text give the same times.
  [[nodiscard]] std::string canonical_text() const;
  /// True if results depend on the seed.
  [[nodiscard]] bool random() const { return !hockney && start_skew_s > 0; }
};

}  // namespace cclgym
