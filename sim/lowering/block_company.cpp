#include "sim/lowering/block_company.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/index.hpp"
#include "sim/prices/transfer_cost.hpp"

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

bool inside_node(const Fabric& fabric, int rank, std::int32_t peer) {
  return peer >= 0 && fabric.server_of(peer) == fabric.server_of(rank);
}

template <class Visit>
void for_each_block(const ProgramOutline& outline, Visit visit) {
  for (int rank = 0; rank < outline.ranks(); ++rank) {
    for (std::uint32_t b = outline.first_block(rank); b < outline.first_block(rank + 1); ++b) {
      visit(rank, b, outline.blocks[b]);
    }
  }
}

void count_peers(const ProgramOutline& outline, const Fabric& fabric,
                 std::vector<BlockCompany>& company) {
  std::vector<Pair> sent;
  std::vector<Pair> received;
  const auto for_each_first_sender = [&](auto visit) {
    for_each_block(outline, [&](int rank, std::uint32_t b, const OutlineBlock& block) {
      if (block.steps == 0 || !inside_node(fabric, rank, block.send_peer)) return;
      const std::uint32_t first = outline.loops_of(b).front().first;
      if (outline.steps[first].opcode == Opcode::Send && outline.waits_of(first).empty()) {
        visit(rank, b, block);
      }
    });
  };
  for_each_first_sender([&](int rank, std::uint32_t, const OutlineBlock& block) {
    sent.push_back({block.kernel, rank, block.send_peer});
    received.push_back({block.kernel, block.send_peer, rank});
  });
  const PeerCount targets(std::move(sent));
  const PeerCount sources(std::move(received));
  for_each_first_sender([&](int rank, std::uint32_t b, const OutlineBlock& block) {
    company[b].peers =
        std::max(targets.of(block.kernel, rank), sources.of(block.kernel, block.send_peer));
  });
}

void count_senders(const ProgramOutline& outline, const Fabric& fabric,
                   std::vector<BlockCompany>& company) {
  std::map<std::pair<std::int32_t, LinkId>, std::int32_t> senders;  // by kernel and link
  const auto for_each_sender = [&](auto visit) {
    for_each_block(outline, [&](int rank, std::uint32_t b, const OutlineBlock& block) {
      if (block.steps == 0 || block.send_peer < 0) return;
      const LinkId link = limiting_link(fabric, fabric.route(rank, block.send_peer, block.channel));
      visit(b, senders[{block.kernel, link}], inside_node(fabric, rank, block.send_peer));
    });
  };
  for_each_sender([](std::uint32_t, std::int32_t& count, bool) { ++count; });
  for_each_sender([&](std::uint32_t b, std::int32_t count, bool inside) {
    (inside ? company[b].senders : company[b].nic_senders) = count;
  });
}

// True if a block sends something after it has received, or after a wait for another block.
bool sends_on(const ProgramOutline& outline, std::uint32_t block) {
  bool received = false;
  for (const OutlineLoop& loop : outline.loops_of(block)) {
    // Sends of a second iteration come after receives of the first.
    for (int iteration = 0; iteration < std::min(loop.times, 2); ++iteration) {
      for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(loop.body); ++k) {
        const std::uint32_t step = loop.first + k;
        const Opcode opcode = outline.steps[step].opcode;
        const bool receiving = receives(opcode);
        if (sends(opcode) && (received || receiving || !outline.waits_of(step).empty())) {
          return true;
        }
        received = received || receiving;
      }
    }
  }
  return false;
}

// True if NCCL runs such a call of two ranks as a ring, in which neither passes anything on.
bool ring_of_two(const ProgramOutline& outline) {
  const CollectiveKind kind = outline.contract.kind();
  return outline.ranks() == 2 &&
         (kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter);
}

// Other programs of NCCL's in which nobody sends on what was received consist of sends and
// receives.
void find_exchanges(const ProgramOutline& outline, std::vector<BlockCompany>& company) {
  if (outline.traits.runtime != Runtime::Nccl || outline.traits.direct) return;
  if (ring_of_two(outline)) return;
  const std::uint32_t blocks = outline.first_block(outline.ranks());
  for (std::uint32_t b = 0; b < blocks; ++b) {
    if (sends_on(outline, b)) return;
  }
  std::set<std::tuple<int, std::int32_t, std::int32_t>> receiving;  // rank, kernel, channel
  for_each_block(outline, [&](int rank, std::uint32_t, const OutlineBlock& block) {
    if (block.recv_peer >= 0) receiving.insert({rank, block.kernel, block.channel});
  });
  for_each_block(outline, [&](int rank, std::uint32_t b, const OutlineBlock& block) {
    company[b].exchanging =
        block.send_peer >= 0 && receiving.contains({rank, block.kernel, block.channel});
  });
}

}  // namespace

bool prices_company(const CostModel& model) {
  return !model.hockney &&
         (model.peer_efficiency < 1 || model.even_efficiency < 1 || model.exchange_share < 1);
}

std::vector<BlockCompany> company_of_blocks(const ProgramOutline& outline, const Fabric& fabric) {
  std::vector<BlockCompany> company(outline.blocks.size());
  count_peers(outline, fabric, company);
  count_senders(outline, fabric, company);
  find_exchanges(outline, company);
  return company;
}

std::optional<BlockCompany> company_of_exchange(const Fabric& fabric, int channels,
                                                Runtime runtime) {
  std::map<int, std::vector<int>> nodes;
  for (int rank = 0; rank < fabric.ranks(); ++rank) {
    nodes[fabric.server_of(rank)].push_back(rank);
  }
  const std::size_t most = std::ranges::max_element(nodes, {}, [](const auto& node) {
                             return node.second.size();
                           })->second.size();
  for (const auto& [node, ranks] : nodes) {
    if (ranks.size() != most) return std::nullopt;
    for (const int rank : ranks) {
      std::set<LinkId> links;
      for (const int peer : ranks) {
        if (peer != rank) links.insert(fabric.route(rank, peer, 0).front());
      }
      if (links.size() > 1) return std::nullopt;
    }
  }
  std::map<LinkId, int> by_nic;  // ranks whose messages leave their node by this link
  for (int rank = 0; rank < fabric.ranks() && nodes.size() > 1; ++rank) {
    const auto& [first, ranks] = *nodes.begin();
    const int other = fabric.server_of(rank) == first ? nodes.rbegin()->second[0] : ranks[0];
    ++by_nic[limiting_link(fabric, fabric.route(rank, other, 0))];
  }
  const int sharing = by_nic.empty() ? 0 : by_nic.begin()->second;
  if (std::ranges::any_of(by_nic, [&](const auto& nic) { return nic.second != sharing; })) {
    return std::nullopt;
  }
  const int peers = std::max(static_cast<int>(most) - 1, 1);
  const int elsewhere = fabric.ranks() - static_cast<int>(most);
  return BlockCompany{.peers = peers,
                      .senders = peers * channels,
                      .nic_senders = sharing * elsewhere * channels,
                      .exchanging = runtime == Runtime::Nccl};
}

}  // namespace cclgym
