#include "sim/prices/transfer_cost.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <limits>

#include "core/error.hpp"
#include "cost_models/symmetric/nccl_symmetric.hpp"
#include "sim/graph/transfer_graph.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

namespace {

// SCCL, section 4, for NVLink: pushing is about 10 % faster than pulling, and DMA engines, which
// send packets of the maximum size, have about 10 % more bandwidth than loads and stores.
constexpr double kPulledBytes = 1.1;
constexpr double kDmaRate = 1.1;

// Share of the rates of a full thread block that a block has. Blocks on one SM have the rate of one
// block with all their threads together, in equal parts.
double thread_share(const CostModel& model, const Config& config, double sharing_blocks) {
  const double blocks = std::max(1.0, sharing_blocks);
  const double full = model.full_threads;
  const double threads = std::min(blocks * config.threads, full);
  if (model.half_rate_threads == 0) return threads / full / blocks;
  const double half = model.half_rate_threads;
  return threads / (threads + half) * (full + half) / full / blocks;
}

// True if the host moves a message over the network out of the buffers in which it waits for its
// receive. The NIC puts larger messages where they belong.
bool moved_by_host(const CostModel& model, double wire_bytes) {
  return model.copy_end_bytes == 0 || wire_bytes <= static_cast<double>(model.copy_end_bytes);
}

// True if the host needs a call for that, because the message is too large for loads and stores.
bool copied(const CostModel& model, double wire_bytes) {
  return moved_by_host(model, wire_bytes) &&
         wire_bytes > static_cast<double>(model.copy_limit_bytes);
}

// True if a message over the network is so large that it is announced before it is sent.
bool announced(const CostModel& model, double wire_bytes) {
  return wire_bytes > static_cast<double>(model.eager_limit_bytes);
}

// Seconds from the arrival of a message that was sent by MPI until the receiver has added it.
double mpi_reduction_s(const MpiCost& mpi, const CostTraits& traits, double payload_bytes) {
  if (traits.reducer == Reducer::Gpu) {
    return mpi.reduce_launch_s + payload_bytes / mpi.reduce_rate_Bps;
  }
  // The message comes to the host's memory. The receiver's own data goes there and comes back.
  return payload_bytes * (2 / mpi.host_copy_rate_Bps + 1 / mpi.host_reduce_rate_Bps);
}

// Cost of a message between nodes that the hosts exchange by MPI. The NIC reads and writes the
// memory of the GPUs, so no thread block limits its rate.
TransferCost mpi_cost(const MpiCost& mpi, const CostTraits& traits, double alpha_s,
                      double payload_bytes, bool reducing, std::int64_t network_messages) {
  TransferCost cost;
  cost.wire_bytes = payload_bytes;
  cost.latency_s = mpi.message_s;
  cost.arrival_s = alpha_s + mpi.latency_s;
  cost.rate_cap_Bps = mpi.rate_Bps;
  if (payload_bytes > static_cast<double>(mpi.eager_limit_bytes)) {
    cost.arrival_s += mpi.rendezvous_latency_s;
  }
  if (mpi.match_limit > 0 && network_messages > mpi.match_limit) {
    cost.arrival_s += mpi.match_overflow_s;
  }
  if (reducing) cost.arrival_s += mpi_reduction_s(mpi, traits, payload_bytes);
  return cost;
}

// Adds the time that the library's message takes longer in a very large job.
void add_matching_cost(const MatchingCost& matching, bool reducing, std::int64_t network_messages,
                       TransferCost& cost) {
  if (matching.limit == 0 || network_messages <= matching.limit) return;
  cost.arrival_s += matching.overflow_s + (reducing ? matching.overflow_added_s : 0.0);
}

// Adds the costs that only messages between nodes (hosts) have.
void add_network_cost(const CostModel& model, const Config& config, const CostTraits& traits,
                      TransferCost& cost) {
  const ProtocolCost& protocol = model.protocols[static_cast<std::size_t>(config.protocol)];
  cost.arrival_s += protocol.network_latency_s;
  if (traits.tree_latency) cost.arrival_s += protocol.tree_latency_s;
  if (copied(model, cost.wire_bytes)) {
    cost.arrival_s += model.copy_latency_s;
    cost.rate_cap_Bps = std::min(cost.rate_cap_Bps, protocol.network_rate_Bps);
  }
  if (announced(model, cost.wire_bytes)) {
    // LL's messages leave from host memory, which the NIC reads without the GPU (docs/physics.md).
    const bool waits_for_gpu = config.protocol != Protocol::LL;
    cost.arrival_s += protocol.rendezvous_latency_s;
    if (waits_for_gpu) cost.arrival_s += model.rendezvous_latency_s;
  }
}

// Wire rate of a full thread block.
double block_rate_Bps(const ProtocolCost& protocol, const Fabric& fabric, const Config& config,
                      const CostTraits& traits, bool reducing) {
  if (in_symmetric_memory(traits) && config.protocol == Protocol::Simple) {
    // The sum is added in registers, between loads and stores.
    const GpuModel* gpu = find_gpu_model(fabric.gpu_model());
    return symmetric_block_rate_Bps(gpu == nullptr ? 0 : gpu->compute_capability);
  }
  if (!reducing) return protocol.thread_block_rate_Bps;
  return std::min(protocol.thread_block_rate_Bps, protocol.reduce_rate_Bps / protocol.efficiency);
}

}  // namespace

bool in_symmetric_memory(const CostTraits& traits) {
  return traits.runtime == Runtime::Nccl && traits.direct;
}

double instruction_cost_s(const CostModel& model, Runtime runtime) {
  return model.instruction_overhead_s +
         (runtime == Runtime::Interpreter ? model.interpreter_step_s : 0.0);
}

TransferCost transfer_cost(const CostModel& model, const Fabric& fabric,
                           std::span<const LinkId> route, const Config& given,
                           const CostTraits& traits, double payload_bytes, bool reducing,
                           std::int64_t network_messages, double sharing_blocks) {
  TransferCost cost;
  Config config = given;
  double alpha_s = 0;
  bool network = false;
  for (const LinkId id : route) {
    const Link& link = fabric.links()[static_cast<std::size_t>(id)];
    const auto& of_kind_s = model.alpha_s[static_cast<std::size_t>(link.kind)];
    alpha_s += link.latency_stated ? link.latency_s : of_kind_s.value_or(link.latency_s);
    network = network || link.kind == LinkKind::Network;
  }
  if (model.hockney) {
    cost.wire_bytes = payload_bytes;
    cost.latency_s = alpha_s;
    cost.rate_cap_Bps = kNoRateCap;
    return cost;
  }
  if (network && sends_by_mpi(model, traits)) {
    return mpi_cost(model.mpi, traits, alpha_s, payload_bytes, reducing, network_messages);
  }
  // A set without MPI's costs stands in with the library's. The flags of LL and LL128 are not
  // MPI's.
  if (network && traits.transport == Transport::Mpi) config.protocol = Protocol::Simple;
  const ProtocolCost& protocol = model.protocols[static_cast<std::size_t>(config.protocol)];
  cost.latency_s = instruction_cost_s(model, traits.runtime);
  cost.arrival_s = alpha_s + protocol.step_latency_s;
  cost.wire_bytes = payload_bytes / protocol.efficiency;
  cost.rate_cap_Bps = block_rate_Bps(protocol, fabric, config, traits, reducing) *
                      thread_share(model, config, sharing_blocks);
  if (network) {
    add_network_cost(model, config, traits, cost);
    add_matching_cost(model.matching, reducing, network_messages, cost);
    return cost;
  }
  if (traits.initiator == Initiator::Pull) cost.wire_bytes *= kPulledBytes;
  if (traits.copy == CopyEngine::Dma) {
    cost.wire_bytes /= kDmaRate;
    cost.rate_cap_Bps = kNoRateCap;
    cost.latency_s += model.kernel_launch_s;  // the host starts the copy as it starts a kernel
  }
  return cost;
}

double rate_among_peers(const CostModel& model, int peers) {
  if (model.hockney) return 1;
  return 1 - (1 - model.peer_efficiency) * (peers - 1) / peers;
}

double rate_of_exchange_Bps(const CostModel& model, double rate_Bps, bool network) {
  // NCCL_P2P_PER_CHANNEL_NET_BW of NCCL 2.28 (src/graph/paths.cc): what NCCL expects of a channel
  // of a send when it chooses how many share the speed of a NIC.
  constexpr double kSendChannel_Bps = 14e9;
  if (model.hockney || model.exchange_share >= 1) return rate_Bps;
  return network ? std::min(rate_Bps, kSendChannel_Bps) : rate_Bps * model.exchange_share;
}

LinkId limiting_link(const Fabric& fabric, std::span<const LinkId> route) {
  const auto network = std::ranges::find_if(route, [&](LinkId id) {
    return fabric.links()[static_cast<std::size_t>(id)].kind == LinkKind::Network;
  });
  return network == route.end() ? route.front() : *network;
}

double rate_near_limits(const CostModel& model, double blocks_Bps, double link_Bps) {
  if (model.hockney || model.even_efficiency >= 1) return 1;
  constexpr double kLeast = 0.5;  // the exponent is 1: times add
  const double exponent = -1 / std::log2(std::max(model.even_efficiency, kLeast));
  const double ratio = std::min(blocks_Bps, link_Bps) / std::max(blocks_Bps, link_Bps);
  return std::pow(1 + std::pow(ratio, exponent), -1 / exponent);
}

double streamed_unit_bytes(const CostModel& model, const Config& config, const CostTraits& traits) {
  // A thread moves 8 B of data with one load and store of LL, and 8 words of 8 B, one of 16 of
  // which are flags, with LL128 (NCCL's prims_ll.h and prims_ll128.h).
  constexpr double kLlThreadBytes = 8;
  constexpr double kLl128ThreadBytes = 60;
  const bool streams = !model.hockney && traits.runtime != Runtime::Sccl && !traits.direct &&
                       traits.copy == CopyEngine::Kernel && traits.initiator == Initiator::Push;
  if (!streams || config.protocol == Protocol::Simple) {
    return std::numeric_limits<double>::infinity();
  }
  return config.threads * (config.protocol == Protocol::LL ? kLlThreadBytes : kLl128ThreadBytes);
}

TransferCost switched_cost(const CostModel& model, const Fabric& fabric,
                           std::span<const LinkId> longest, const Config& config,
                           const CostTraits& traits, double payload_bytes) {
  TransferCost cost = transfer_cost(model, fabric, longest, config, traits, payload_bytes, false);
  const bool network = std::any_of(longest.begin(), longest.end(), [&](LinkId id) {
    return fabric.links()[static_cast<std::size_t>(id)].kind == LinkKind::Network;
  });
  if (model.hockney || network) return cost;
  cost.wire_bytes /= model.switch_efficiency;
  // The switches' latency is mostly that of the kernels of NVLS, which pass data on through FIFOs.
  if (in_symmetric_memory(traits)) return cost;
  cost.arrival_s += model.switch_latency_s -
                    model.protocols[static_cast<std::size_t>(config.protocol)].step_latency_s;
  return cost;
}

std::vector<double> link_capacities(const Fabric& fabric, const CostModel& model) {
  std::vector<double> capacities;
  capacities.reserve(fabric.links().size());
  for (const Link& link : fabric.links()) {
    const double efficiency =
        model.hockney ? 1.0 : model.link_efficiency[static_cast<std::size_t>(link.kind)];
    capacities.push_back(link.capacity_Bps() * efficiency);
  }
  return capacities;
}

bool sends_by_mpi(const CostModel& model, const CostTraits& traits) {
  return traits.transport == Transport::Mpi && model.mpi.given();
}

double proxy_capacity_Bps(const CostModel& model, Protocol protocol, double payload_bytes) {
  if (model.hockney || payload_bytes <= 0) return kNoRateCap;
  const ProtocolCost& cost = model.protocols[static_cast<std::size_t>(protocol)];
  const double wire_bytes = payload_bytes / cost.efficiency;
  const bool within = wire_bytes <= static_cast<double>(model.inline_limit_bytes);
  const double busy_s = model.proxy_message_s + cost.proxy_message_s +
                        (within ? cost.proxy_inline_s : 0.0) +
                        (announced(model, wire_bytes) ? model.proxy_rendezvous_s : 0.0) +
                        (copied(model, wire_bytes) ? cost.proxy_copy_s : 0.0) +
                        (moved_by_host(model, wire_bytes) ? wire_bytes / cost.proxy_rate_Bps : 0.0);
  return busy_s > wire_bytes / ProtocolCost::kUnlimited ? wire_bytes / busy_s : kNoRateCap;
}

double local_cost_s(const CostModel& model, const Config& config, Runtime runtime, Opcode opcode,
                    double bytes, double sharing_blocks) {
  if (model.hockney || opcode == Opcode::Nop || sends(opcode)) return 0;
  const ProtocolCost& protocol = model.protocols[static_cast<std::size_t>(config.protocol)];
  double rate_Bps = model.local_copy_rate_Bps;
  if (opcode == Opcode::Recv) rate_Bps = protocol.thread_block_rate_Bps * protocol.efficiency;
  if (opcode == Opcode::Reduce) rate_Bps = model.local_reduce_rate_Bps;
  if (opcode == Opcode::RecvReduceCopy) rate_Bps = protocol.reduce_rate_Bps;
  return instruction_cost_s(model, runtime) +
         bytes / (rate_Bps * thread_share(model, config, sharing_blocks));
}

// A link's alpha and beta do not cover it, so it costs the same under model "hockney".
double device_copy_cost_s(const Fabric& fabric, const Config& config, double bytes) {
  // Share of the memory's peak rate that a tuned transposition reaches: 88 % on H100
  // (yencal.github.io/gpu-matrix-transpose-optimization), 78 % on A100
  // (fridayswithfaraday.com/posts/cuda-kernel-eng-matrix-transpose-optimization), where a plain
  // copy reaches 92 %. Runs are longer than the elements of these matrices. Set by hand between
  // them, for all GPUs.
  constexpr double kShareOfPeak = 0.85;
  // Memory moves in cache lines: 128 B on MI200 and on NVIDIA's GPUs. A run begins on a line if its
  // length is a multiple of one.
  constexpr double kLineBytes = 128;
  const GpuModel* gpu = find_gpu_model(fabric.gpu_model());
  if (gpu == nullptr || gpu->memory_Bps <= 0) return 0;
  const double moved_bytes = 2 * std::ceil(bytes / kLineBytes) * kLineBytes;
  // Instances copy their parts at the same time and share the memory.
  return moved_bytes * config.instances / (gpu->memory_Bps * kShareOfPeak);
}

double connection_capacity_Bps(const CostModel& model) {
  const bool limited = !model.hockney && model.connection_rate_Bps < ProtocolCost::kUnlimited;
  return limited ? model.connection_rate_Bps : kNoRateCap;
}

// A real token bucket passes the first bytes at once, but then each later message would have to
// know about all traffic before it.
double capacity_with_burst_Bps(const CostModel& model, double capacity_Bps, double bytes,
                               int buckets) {
  constexpr double kMinBurstShare = 1.0 / 64;
  const double passed = buckets * static_cast<double>(model.network_burst_bytes);
  return capacity_Bps / std::max(1 - passed / bytes, kMinBurstShare);
}

double kernel_gap_s(const CostModel& model) { return model.hockney ? 0 : model.kernel_gap_s; }

double launch_cost_s(const CostModel& model, Runtime runtime, int channels, int thread_blocks) {
  if (model.hockney) return 0;
  return model.kernel_launch_s +
         (runtime == Runtime::Interpreter
              ? model.interpreter_launch_s + model.interpreter_block_s * thread_blocks
              : model.channel_overhead_s * channels);
}

}  // namespace cclgym
