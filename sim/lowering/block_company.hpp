// Other messages that move at the same time as those of a thread block.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/outline.hpp"
#include "cost_models/cost_model.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Other messages in whose company a thread block sends.
struct BlockCompany {
  /// Other ranks of its node to which the block's rank sends at once, or from which the receiver of
  /// its messages receives at once, whichever is larger. Only blocks of one kernel whose first step
  /// sends, and waits for nothing but the kernel, are sure to send at once: those of an AllToAll or
  /// of All-Pairs are among n - 1 peers, those of a ring have 1. All other blocks have 1, too, so a
  /// program that begins with one peer and goes on to others counts one.
  std::int32_t peers = 1;
  /// Thread blocks of the rank in the same kernel, this one included, whose messages inside the
  /// node leave the GPU by the same link.
  std::int32_t senders = 1;
  /// Thread blocks of all ranks in the same kernel, this one included, whose messages leave the
  /// node by the same NIC; 0: the block sends no messages to other nodes.
  std::int32_t nic_senders = 0;
  /// True if the block also receives a message that has nothing to do with the one that it sends:
  /// NCCL's kernel for sends and receives runs those of a channel in one block, and so does the
  /// block of this rank and channel that receives.
  bool exchanging = false;
  friend bool operator==(const BlockCompany&, const BlockCompany&) = default;
};

/// True if prices under this model depend on the company of thread blocks.
[[nodiscard]] bool prices_company(const CostModel& model);

/// By thread block.
[[nodiscard]] std::vector<BlockCompany> company_of_blocks(const ProgramOutline& outline,
                                                          const Fabric& fabric);

/// The company of all blocks of a direct exchange with this many channels, in which every rank
/// sends to every other one; nullopt if the ranks' blocks differ: nodes with different numbers of
/// ranks, or GPUs whose messages inside a node leave by several links.
[[nodiscard]] std::optional<BlockCompany> company_of_exchange(const Fabric& fabric, int channels,
                                                              Runtime runtime);

}  // namespace cclgym
