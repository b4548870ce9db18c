// What a transfer costs: alpha and beta by link kind and protocol, thread-block rates, overheads.
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

/// How one protocol moves data.
struct ProtocolCost {
  double step_latency_s =
      0;  ///< synchronisation of one step (flag or fence), on top of the link's alpha, s
  double network_latency_s =
      0;  ///< on top of that if the route crosses a network link (proxy, rendezvous), s
  /// On top of that on a tree, where one block serves several peers, s.
  double tree_latency_s = 0;
  double efficiency = 1;  ///< payload bytes / bytes on the wire, 0 < efficiency <= 1
  double thread_block_rate_Bps =
      kUnlimited;  ///< wire rate of one thread block with full_threads threads, B/s
  double reduce_rate_Bps = kUnlimited;  ///< payload rate of receive-and-reduce by such a block, B/s
  /// Wire rate of one connection that crosses a network link (the proxy between GPU and NIC), B/s.
  double network_rate_Bps = kUnlimited;
  // What keeps a rank's proxy busy, on top of CostModel::proxy_message_s (docs/physics.md), s:
  double proxy_message_s = 0;  ///< each message
  double proxy_inline_s = 0;   ///< one of at most CostModel::inline_limit_bytes
  double proxy_copy_s = 0;     ///< one that is copied, besides its bytes
  /// Wire rate at which a rank's proxy copies what it sends and receives, all connections
  /// together, B/s.
  double proxy_rate_Bps = kUnlimited;
  std::uint64_t slot_bytes = 0;  ///< data in one slot of a connection's FIFO, B; 0: not stated
  int slots = 0;                 ///< slots of the FIFO; 0: any number
  int message_slots = 1;         ///< slots that are filled before the receiver is told
  static constexpr double kUnlimited = 1e30;

  /// Data that is handed on as one message, B; 0: a message moves whole.
  [[nodiscard]] std::uint64_t tile_bytes() const {
    return slot_bytes * static_cast<std::uint64_t>(message_slots);
  }
  /// Such messages that the FIFO holds; 0: any number.
  [[nodiscard]] int tile_slots() const {
    return slots > message_slots ? slots / message_slots : (slots > 0 ? 1 : 0);
  }
};

/// A complete set of cost parameters. Model "hockney": a transfer of L bytes costs alpha + L * beta
/// and nothing else; model "protocol": everything below.
struct CostModel {
  std::string name;         ///< e.g. "a100"
  std::string description;  ///< one line
  /// GPU models that the set describes (Fabric::gpu_model); empty: it does not say, or any.
  std::vector<std::string> gpu_models{};
  /// In what way this is not a set of the fabric's GPUs, as cost_model_for found: "no set for
  /// MI250X", "not of MI300X"; empty: it is, or nobody can tell.
  std::string misfit{};
  bool hockney = false;  ///< true: only links' alpha and beta count
  /// alpha by link kind, s a traversal; nullopt: the fabric link's own latency, which also wins
  /// where the user stated it (Link::latency_stated). Index: LinkKind.
  std::array<std::optional<double>, 4> alpha_s;
  /// Share of a link's raw bandwidth that payload and protocol flags can use, by link kind.
  std::array<double, 4> link_efficiency{1, 1, 1, 1};
  std::array<ProtocolCost, kProtocols> protocols;  ///< index: Protocol
  int full_threads = 512;                          ///< threads at which a block reaches its rates
  /// How fewer threads scale rates: t / (t + h), relative to full_threads, for h =
  /// half_rate_threads; 0: linearly.
  int half_rate_threads = 0;
  double instruction_overhead_s = 0;                      ///< of every instruction, s
  double local_copy_rate_Bps = ProtocolCost::kUnlimited;  ///< local copy by one full block, B/s
  double local_reduce_rate_Bps =
      ProtocolCost::kUnlimited;   ///< local reduction by such a block, B/s
  double kernel_launch_s = 0;     ///< from the call to the first instruction, s
  double channel_overhead_s = 0;  ///< Runtime::Nccl: launch cost of each channel, on top of it, s
  /// Runtime::Interpreter: launch cost on top of kernel_launch_s, and of each of a GPU's thread
  /// blocks on top of that, s; cost of every step on top of instruction_overhead_s, s.
  double interpreter_launch_s = 0;
  double interpreter_block_s = 0;
  double interpreter_step_s = 0;
  double kernel_gap_s = 0;  ///< between two kernels of one program on a GPU, s
  /// SMs of a GPU: thread blocks that it can run at once if each fills one. A program whose GPU
  /// needs more cannot be launched, because its blocks wait for each other. 0: any number.
  int max_thread_blocks = 0;
  /// Threads that fit on an SM (registers): blocks of fewer threads share one. 0: they do not.
  int resident_threads = 0;
  // What switches copy or add inside a server (docs/physics.md):
  double switch_efficiency = 1;  ///< share of a link's rate that it can have, on link_efficiency
  double switch_latency_s = 0;   ///< in place of the protocol's step_latency, s
  double start_skew_s = 0;  ///< mean of the exponential per-rank start delay (seeded), s; 0: none
  // What a message over the network pays on top, by its bytes on the wire (docs/physics.md).
  /// A rank's proxy, the host thread that serves all its connections to other servers, is busy with
  /// each message for so long, s, and as long as it copies it (ProtocolCost::proxy_rate_Bps).
  double proxy_message_s = 0;
  /// Messages up to here go inside the NIC's command (ProtocolCost::proxy_inline_s).
  std::uint64_t inline_limit_bytes = 0;
  /// Larger ones are copied by the host: they take copy_latency_s more, and only they are held to
  /// network_rate and proxy_rate.
  std::uint64_t copy_limit_bytes = 0;
  double copy_latency_s = 0;
  /// Larger ones are announced before they are sent, which takes rendezvous_latency_s more and
  /// keeps the proxies busy for proxy_rendezvous_s more.
  std::uint64_t eager_limit_bytes = 0;
  double rendezvous_latency_s = 0;
  double proxy_rendezvous_s = 0;
  /// What a link of the network passes at once before its rate holds, B: the token bucket of a rate
  /// limiter, full when a call begins.
  std::uint64_t network_burst_bytes = 0;
  /// Wire rate of both directions together of all messages over the network between two ranks: one
  /// socket, which is served in turn, B/s.
  double connection_rate_Bps = ProtocolCost::kUnlimited;

  /// Thread blocks of so many threads that a GPU can run at once; 0: any number.
  [[nodiscard]] int resident_thread_blocks(int threads) const;
  /// The name, with the misfit if there is one, as it stands in results: "hockney (no set for
  /// MI250X)".
  [[nodiscard]] std::string label() const;
  /// Every parameter with all its bits: two models with the same text simulate alike.
  [[nodiscard]] std::string canonical_text() const;
  /// True if results depend on the seed.
  [[nodiscard]] bool random() const { return !hockney && start_skew_s > 0; }
};

}  // namespace cclgym
