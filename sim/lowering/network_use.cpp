#include "sim/lowering/network_use.hpp"

#include <algorithm>
#include <cstddef>

namespace cclgym {

NetworkUse network_use(const ProgramOutline& outline, const Fabric& fabric) {
  NetworkUse use{.crosses = std::vector<std::uint8_t>(static_cast<std::size_t>(outline.kernels()))};
  for (int rank = 0; rank < outline.ranks(); ++rank) {
    for (std::uint32_t b = outline.first_block(rank); b < outline.first_block(rank + 1); ++b) {
      const OutlineBlock& block = outline.blocks[b];
      if (block.recv_peer < 0 || fabric.server_of(block.recv_peer) == fabric.server_of(rank)) {
        continue;
      }
      use.crosses[static_cast<std::size_t>(block.kernel)] = 1;
      // Within a kernel, a connection ends in at most one block.
      std::int64_t messages = 0;
      for (const OutlineLoop& loop : outline.loops_of(b)) {
        const auto* first = outline.steps.data() + loop.first;
        messages += loop.times * std::count_if(first, first + loop.body, [](const auto& step) {
                      return receives(step.opcode);
                    });
      }
      use.messages = std::max(use.messages, messages);
    }
  }
  return use;
}

}  // namespace cclgym
