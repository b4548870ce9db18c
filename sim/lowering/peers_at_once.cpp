#include "sim/lowering/peers_at_once.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "core/index.hpp"

namespace cclgym {

namespace {

// A pair of ranks of a node between which a kernel begins with a message.
struct Pair {
  std::int32_t kernel;
  std::int32_t of;  // rank whose peers are counted
  std::int32_t peer;
  friend auto operator<=>(const Pair&, const Pair&) = default;
};

// Number of different peers of each rank in each kernel.
class PeerCount {
 public:
  explicit PeerCount(std::vector<Pair> pairs) : pairs_(std::move(pairs)) {
    std::ranges::sort(pairs_);
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
  }
  [[nodiscard]] std::int32_t of(std::int32_t kernel, std::int32_t rank) const {
    const auto first = std::ranges::lower_bound(pairs_, Pair{kernel, rank, 0});
    const auto end = std::ranges::lower_bound(pairs_, Pair{kernel, rank + 1, 0});
    return static_cast<std::int32_t>(end - first);
  }

 private:
  std::vector<Pair> pairs_;
};

}  // namespace

std::vector<std::int32_t> peers_at_once(const ProgramOutline& outline, const Fabric& fabric) {
  std::vector<Pair> sent;
  std::vector<Pair> received;
  const auto for_each_first_sender = [&](auto visit) {
    for (int rank = 0; rank < outline.ranks(); ++rank) {
      for (std::uint32_t b = outline.first_block(rank); b < outline.first_block(rank + 1); ++b) {
        const OutlineBlock& block = outline.blocks[b];
        if (block.steps == 0 || block.send_peer < 0) continue;
        const std::uint32_t first = outline.loops_of(b).front().first;
        if (outline.steps[first].opcode != Opcode::Send || !outline.waits_of(first).empty())
          continue;
        if (fabric.server_of(block.send_peer) == fabric.server_of(rank)) visit(rank, b, block);
      }
    }
  };
  for_each_first_sender([&](int rank, std::uint32_t, const OutlineBlock& block) {
    sent.push_back({block.kernel, rank, block.send_peer});
    received.push_back({block.kernel, block.send_peer, rank});
  });
  const PeerCount targets(std::move(sent));
  const PeerCount sources(std::move(received));
  std::vector<std::int32_t> peers(outline.blocks.size(), 1);
  for_each_first_sender([&](int rank, std::uint32_t b, const OutlineBlock& block) {
    peers[b] = std::max(targets.of(block.kernel, rank), sources.of(block.kernel, block.send_peer));
  });
  return peers;
}

std::optional<int> peers_on_node(const Fabric& fabric) {
  std::map<int, int> ranks;
  for (int rank = 0; rank < fabric.ranks(); ++rank) ++ranks[fabric.server_of(rank)];
  const int most = std::ranges::max_element(ranks, {}, &std::pair<const int, int>::second)->second;
  const bool equal =
      std::ranges::all_of(ranks, [most](const auto& of) { return of.second == most; });
  if (!equal) return std::nullopt;
  return std::max(most - 1, 1);
}

}  // namespace cclgym
