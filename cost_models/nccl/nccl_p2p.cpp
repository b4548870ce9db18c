#include "cost_models/nccl/nccl_p2p.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cclgym {

namespace {

constexpr NcclVersion kFirstLl{2, 14, 0};          // sends may use LL
constexpr NcclVersion kLlByChannel{2, 22, 0};      // threshold applies per existing channel
constexpr NcclVersion kLlByUsedChannel{2, 28, 0};  // threshold applies per used channel
constexpr NcclVersion kChannelsByNic{2, 28, 0};    // channels to other nodes by the NIC's speed
constexpr std::uint64_t kLlMost = 16 * 1024;       // NCCL_P2P_LL_THRESHOLD, B
constexpr std::uint64_t kLlSlot = 64 * 1024;       // half of it are flags
constexpr int kPeersABatch = 8;                    // NCCL_MAX_DEV_WORK_P2P_PER_BATCH
constexpr double kNicChannel_Bps = 14e9;           // NCCL_P2P_PER_CHANNEL_NET_BW

int power_of_two_up(int value) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(1, value))));
}

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

struct Channels {
  int all = 1;   // channels of all sends together
  int peer = 1;  // maximum channels per send
};

Channels channels_of(const NcclVersion& version, const NcclComm& comm) {
  Channels channels{.all = power_of_two_up(comm.channels), .peer = comm.channels};
  if (comm.ranks > comm.nodes) {
    channels.peer = std::min(channels.peer, 2 * std::max(1, comm.nvlinks_to_peer));
  }
  if (comm.nodes > 1) {
    // 2.8.4 has one channel to a peer on another node; later releases have two.
    int over_network = family(version) == NcclFamily::V2_8 ? 1 : 2;
    if (version >= kChannelsByNic) {
      over_network =
          std::max(over_network, static_cast<int>(std::ceil(comm.nic_Bps / kNicChannel_Bps)));
    } else if (family(version) != NcclFamily::V2_8) {
      while (over_network * comm.ranks > comm.channels * 4 && over_network > 1) over_network /= 2;
    }
    channels.peer = std::min(channels.peer, over_network);
  }
  channels.peer = std::min(power_of_two_up(channels.peer), channels.all);
  if (comm.nodes > 1 && version >= kChannelsByNic) {
    const int batches = (comm.ranks + kPeersABatch - 1) / kPeersABatch;
    while (channels.peer * batches > channels.all && channels.peer > 1) channels.peer /= 2;
  }
  return channels;
}

std::uint64_t simple_slot(const NcclVersion& version, const NcclComm& comm) {
  constexpr std::uint64_t kNetwork = 128 * 1024;  // NCCL_P2P_NET_CHUNKSIZE
  constexpr std::uint64_t kPcie = 128 * 1024;     // NCCL_P2P_PCI_CHUNKSIZE
  constexpr std::uint64_t kNvlink = 512 * 1024;   // NCCL_P2P_NVL_CHUNKSIZE
  if (comm.nodes > 1) return kNetwork;
  const bool nvlink = comm.nvlinks_to_peer > 0 || family(version) == NcclFamily::V2_8;
  return nvlink ? kNvlink : kPcie;
}

}  // namespace

NcclP2pChoice nccl_p2p(const NcclVersion& version, const NcclComm& comm,
                       std::uint64_t bytes_to_peer) {
  const Channels channels = channels_of(version, comm);
  // One channel per send, if all peers together fill the channels.
  int fewest = channels.peer;
  while (fewest * comm.ranks > channels.all && fewest > 1) fewest /= 2;
  const auto used_with = [&](std::uint64_t slot) {
    const std::uint64_t least = comm.nodes > 1 ? slot / 2 : slot / 8;
    const std::uint64_t most = comm.nodes > 1 ? slot : slot * 32;
    int used =
        static_cast<int>(std::min(static_cast<std::uint64_t>(fewest),
                                  std::max<std::uint64_t>(1, ceil_div(bytes_to_peer, least))));
    const auto part = [&] { return ceil_div(bytes_to_peer, static_cast<std::uint64_t>(used)); };
    while (part() > most && used <= channels.peer / 2) used *= 2;
    return used;
  };
  const std::uint64_t slot = simple_slot(version, comm);
  NcclP2pChoice choice{.channels = used_with(slot), .chunk_bytes = slot};
  if (version >= kFirstLl && comm.nodes == 1) {
    const int counted =
        version >= kLlByUsedChannel || version < kLlByChannel ? choice.channels : channels.peer;
    if (bytes_to_peer <= static_cast<std::uint64_t>(counted) * kLlMost) {
      choice.protocol = Protocol::LL;
      choice.chunk_bytes = kLlSlot / 2;
      if (version >= kLlByChannel && version < kLlByUsedChannel) {
        choice.channels = used_with(kLlSlot);
      }
    }
  }
  if (comm.nodes > 1 && family(version) != NcclFamily::V2_8) {
    if (bytes_to_peer < slot) {
      choice.chunk_bytes /= 4;
    } else if (bytes_to_peer < 8 * slot) {
      choice.chunk_bytes /= 2;
    }
  }
  return choice;
}

}  // namespace cclgym
