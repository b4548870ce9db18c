// NCCL's kernels for symmetric memory (2.27 and newer, src/device/symmetric): buffers that every
// GPU of a node has at the same place of its address space, so that a kernel loads from and stores
// to the buffers of its peers, without FIFOs. Each block of a kernel, here a channel, serves all
// peers.
//
//   symmetric-ll       every rank stores its data as lines of LL into a buffer of every other rank,
//                      which adds them up or copies them (AllReduce_AGxLL_R, AllGather_LL,
//                      ReduceScatter_LL)
//   symmetric-llmc     the same with one store, which the switches copy (AllReduce_AGxLLMC_R,
//                      AllGather_LLMC)
//   symmetric-ldst     the owner of a slice loads it from all ranks, adds, and stores the sum to
//                      all ranks (AllReduce_RSxLD_AGxST, AllGather_ST, ReduceScatter_LD)
//   symmetric-ldstmc   the same by switches that add and copy (AllReduce_RSxLDMC_AGxSTMC,
//                      AllGather_STMC, ReduceScatter_LDMC)
//
// All run in place. NCCL's blocks share out a slice by warps; here each channel has an equal part.
#include <fmt/core.h>
#include <optional>
#include <string>
#include <vector>

#include "collectives/algorithms/algorithms.hpp"

namespace cclgym::algorithms {

namespace {

std::vector<int> all_but(int self, int ranks) {
  std::vector<int> others;
  for (int i = 1; i < ranks; ++i) others.push_back((self + i) % ranks);
  return others;
}

// The chunks of a request: `slices` of each channel. AllReduce by lines has one slice, all others
// one per rank. Results are in the buffer in which the rank's own data is.
struct Chunks {
  Chunks(const AlgorithmRequest& request, bool lines)
      : channels(request.channels),
        buffer(request.collective == CollectiveKind::AllGather ? Buffer::Output : Buffer::Input),
        sliced(!(lines && request.collective == CollectiveKind::AllReduce)),
        contract(Contract::make(request.collective, request.ranks,
                                request.collective == CollectiveKind::AllReduce && !lines
                                    ? request.ranks * channels
                                    : channels,
                                true)) {}

  [[nodiscard]] int index(int slice, int channel) const {
    return (sliced ? slice : 0) * channels + channel;
  }

  int channels;
  Buffer buffer;
  bool sliced;
  Contract contract;
};

// The lines of rank r are in slot r of every other rank's buffer of this channel.
int slot_of(const AlgorithmRequest& request, int rank, int channel) {
  return channel * request.ranks + rank;
}

void send_lines(ProgramBuilder& p, const AlgorithmRequest& request, const Chunks& chunks, int rank,
                int channel, bool by_switch) {
  const std::vector<int> peers = all_but(rank, request.ranks);
  const int slot = slot_of(request, rank, channel);
  if (by_switch) {
    p.chunk(rank, chunks.buffer, chunks.index(rank, channel))
        .multicast(peers, Buffer::Scratch, slot, {.channel = channel});
    return;
  }
  const bool scatters = request.collective == CollectiveKind::ReduceScatter;
  for (const int peer : peers) {
    (void)p.chunk(rank, chunks.buffer, chunks.index(scatters ? peer : rank, channel))
        .copy(peer, Buffer::Scratch, slot, {.channel = channel});
  }
}

void take_lines(ProgramBuilder& p, const AlgorithmRequest& request, const Chunks& chunks, int rank,
                int channel) {
  const bool copies = request.collective == CollectiveKind::AllGather;
  for (const int peer : all_but(rank, request.ranks)) {
    const ChunkRef lines = p.chunk(rank, Buffer::Scratch, slot_of(request, peer, channel));
    if (copies) {
      (void)lines.copy(rank, chunks.buffer, chunks.index(peer, channel), {.channel = channel});
    } else {
      (void)p.chunk(rank, chunks.buffer, chunks.index(rank, channel))
          .reduce(lines, {.channel = channel});
    }
  }
}

Program by_lines(const AlgorithmRequest& request, const char* name, bool by_switch) {
  const Chunks chunks(request, true);
  ProgramBuilder p(name, chunks.contract);
  for (int channel = 0; channel < request.channels; ++channel) {
    for (int rank = 0; rank < request.ranks; ++rank) {
      send_lines(p, request, chunks, rank, channel, by_switch);
    }
    for (int rank = 0; rank < request.ranks; ++rank) {
      take_lines(p, request, chunks, rank, channel);
    }
  }
  return p.finish();
}

Program symmetric_ll(const AlgorithmRequest& request) {
  return by_lines(request, "symmetric-ll", false);
}

Program symmetric_llmc(const AlgorithmRequest& request) {
  return by_lines(request, "symmetric-llmc", true);
}

// The stores of an AllReduce have channels of their own, so that no load is fused with one store
// while the other stores wait for both.
int store_channel(const AlgorithmRequest& request, int channel) {
  return request.collective == CollectiveKind::AllReduce ? request.channels + channel : channel;
}

void load(ProgramBuilder& p, const AlgorithmRequest& request, const Chunks& chunks, int owner,
          int channel) {
  const int index = chunks.index(owner, channel);
  ChunkRef sum = p.chunk(owner, chunks.buffer, index);
  for (const int peer : all_but(owner, request.ranks)) {
    sum = sum.reduce(p.chunk(peer, chunks.buffer, index), {.channel = channel});
  }
}

void store(ProgramBuilder& p, const AlgorithmRequest& request, const Chunks& chunks, int owner,
           int channel) {
  const int index = chunks.index(owner, channel);
  for (const int peer : all_but(owner, request.ranks)) {
    (void)p.chunk(owner, chunks.buffer, index)
        .copy(peer, chunks.buffer, index, {.channel = store_channel(request, channel)});
  }
}

Program symmetric_ldst(const AlgorithmRequest& request) {
  const Chunks chunks(request, false);
  ProgramBuilder p("symmetric-ldst", chunks.contract);
  const bool loads = request.collective != CollectiveKind::AllGather;
  const bool stores = request.collective != CollectiveKind::ReduceScatter;
  for (int channel = 0; channel < request.channels; ++channel) {
    for (int owner = 0; loads && owner < request.ranks; ++owner) {
      load(p, request, chunks, owner, channel);
    }
    for (int owner = 0; stores && owner < request.ranks; ++owner) {
      store(p, request, chunks, owner, channel);
    }
  }
  return p.finish();
}

Program symmetric_ldstmc(const AlgorithmRequest& request) {
  const Chunks chunks(request, false);
  ProgramBuilder p("symmetric-ldstmc", chunks.contract);
  for (int channel = 0; channel < request.channels; ++channel) {
    for (int owner = 0; owner < request.ranks; ++owner) {
      const int index = chunks.index(owner, channel);
      const std::vector<int> peers = all_but(owner, request.ranks);
      if (request.collective != CollectiveKind::AllGather) {
        std::vector<ChunkRef> theirs;
        for (const int peer : peers) theirs.push_back(p.chunk(peer, chunks.buffer, index));
        (void)p.chunk(owner, chunks.buffer, index).reduce_in_switch(theirs, {.channel = channel});
      }
      if (request.collective == CollectiveKind::ReduceScatter) continue;
      p.chunk(owner, chunks.buffer, index)
          .multicast(peers, chunks.buffer, index, {.channel = store_channel(request, channel)});
    }
  }
  return p.finish();
}

std::optional<std::string> check_one_node(const AlgorithmRequest& request) {
  if (request.ranks <= request.ranks_per_server) return std::nullopt;
  return fmt::format("needs all ranks on one node; {} ranks have {} per node", request.ranks,
                     request.ranks_per_server);
}

// Blocks to and from each other rank, for loads and for stores.
std::int64_t load_store_blocks(const AlgorithmRequest& request) {
  const int halves = request.collective == CollectiveKind::AllReduce ? 2 : 1;
  return halves * all_pairs_blocks(request);
}

AlgorithmEntry entry_of(const char* name, const char* description,
                        std::vector<CollectiveKind> collectives, SwitchUse switches, bool lines,
                        Program (*trace)(const AlgorithmRequest&)) {
  return {.name = name,
          .description = description,
          .collectives = std::move(collectives),
          .check = check_one_node,
          .traits = {.runtime = Runtime::Nccl, .direct = true},
          .switches = switches,
          .trace = trace,
          .thread_blocks = lines ? all_pairs_blocks : load_store_blocks,
          // One channel is compiled for all of them, so that racks of many GPUs cost little.
          .outline = [trace](const AlgorithmRequest& request) -> std::optional<ProgramOutline> {
            return outline_of(compile(trace(request), request.compile), false);
          },
          .different_channels = [](const AlgorithmRequest&) { return DifferentChannels{}; }};
}

}  // namespace

AlgorithmEntry symmetric_ll_entry() {
  return entry_of(
      "symmetric-ll", "NCCL's symmetric memory: lines of LL to every other rank; for small sizes",
      {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter},
      SwitchUse::None, true, symmetric_ll);
}

AlgorithmEntry symmetric_llmc_entry() {
  return entry_of("symmetric-llmc", "NCCL's symmetric memory: lines of LL that NVSwitches copy",
                  {CollectiveKind::AllReduce, CollectiveKind::AllGather}, SwitchUse::Everywhere,
                  true, symmetric_llmc);
}

AlgorithmEntry symmetric_ldst_entry() {
  return entry_of(
      "symmetric-ldst", "NCCL's symmetric memory: loads from all ranks, stores to all ranks",
      {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter},
      SwitchUse::None, false, symmetric_ldst);
}

AlgorithmEntry symmetric_ldstmc_entry() {
  return entry_of(
      "symmetric-ldstmc", "NCCL's symmetric memory: loads and stores that NVSwitches add and copy",
      {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter},
      SwitchUse::Everywhere, false, symmetric_ldstmc);
}

}  // namespace cclgym::algorithms
