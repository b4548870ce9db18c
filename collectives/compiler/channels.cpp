#include "collectives/compiler/channels.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "collectives/compiler/fuse.hpp"
#include "core/index.hpp"

namespace cclgym {

namespace {

constexpr std::int32_t kNone = Fusion::kNone;

/// For each operation, the operation that sends on its result, or kNone. Each operation sends on at
/// most one result.
std::vector<std::int32_t> chain_links(const Program& program, const ChunkDag& dag) {
  const std::vector<std::int32_t> forwarded = forwarded_operations(program, dag);
  const std::vector<std::int32_t> reverse_depth = reverse_depths(dag);
  std::vector<std::int32_t> next(program.operations.size(), kNone);
  for (std::size_t j = 0; j < forwarded.size(); ++j) {
    if (forwarded[j] == kNone) continue;
    const std::int32_t a = program.operations[at(forwarded[j])].channel;
    const std::int32_t b = program.operations[j].channel;
    if (a != kAutoChannel && b != kAutoChannel && a != b) continue;
    std::int32_t& known = next[at(forwarded[j])];
    if (known == kNone || reverse_depth[j] > reverse_depth[at(known)]) {
      known = static_cast<std::int32_t>(j);
    }
  }
  return next;
}

/// Peers that the thread blocks of a rank pair on a channel, by kernel.
class Pairings {
 public:
  explicit Pairings(const Program& program)
      : ranks_(static_cast<std::uint64_t>(program.contract.ranks())),
        partners_(at(program.kernels())) {}

  /// True if the rank may pair these peers on this channel.
  [[nodiscard]] bool legal(const Operation& received, const Operation& sent,
                           std::int32_t channel) const {
    const auto [receive, send] = keys(received, sent, channel);
    const auto& partner = partners_[at(received.kernel)];
    const auto next = partner.find(receive);
    if (next != partner.end() && next->second != sent.target.rank) return false;
    const auto previous = partner.find(send);
    return previous == partner.end() || previous->second == received.source.rank;
  }
  void add(const Operation& received, const Operation& sent, std::int32_t channel) {
    const auto [receive, send] = keys(received, sent, channel);
    auto& partner = partners_[at(received.kernel)];
    partner.try_emplace(receive, sent.target.rank);
    partner.try_emplace(send, received.source.rank);
  }

 private:
  [[nodiscard]] std::array<std::uint64_t, 2> keys(const Operation& received, const Operation& sent,
                                                  std::int32_t channel) const {
    const auto rank = static_cast<std::uint64_t>(sent.source.rank);
    const auto key = [&](std::int32_t peer, std::uint64_t direction) {
      return ((static_cast<std::uint64_t>(channel) * ranks_ + rank) * ranks_ +
              static_cast<std::uint64_t>(peer)) *
                 2 +
             direction;
    };
    return {key(received.source.rank, 0), key(sent.target.rank, 1)};
  }

  std::uint64_t ranks_;
  std::vector<std::unordered_map<std::uint64_t, std::int32_t>> partners_;  ///< by kernel
};

class ChannelAssignment {
 public:
  ChannelAssignment(Program& program, const ChunkDag& dag)
      : operations_(program.operations),
        pairings_(program),
        next_(chain_links(program, dag)),
        has_previous_(next_.size(), false) {
    for (const std::int32_t next : next_) {
      if (next != kNone) has_previous_[at(next)] = true;
    }
  }

  void run() {
    // Named channels first: the compiler's choices must fit them.
    for (const bool named : {true, false}) {
      for (std::size_t i = 0; i < operations_.size(); ++i) {
        if (has_previous_[i]) continue;
        find_chain(static_cast<std::int32_t>(i));
        if ((named_channel_ != kAutoChannel) != named) continue;
        place_chain(named ? named_channel_ : lowest_legal());
      }
    }
  }

 private:
  void find_chain(std::int32_t head) {
    chain_.clear();
    named_channel_ = kAutoChannel;
    for (std::int32_t i = head; i != kNone; i = next_[at(i)]) {
      const std::int32_t channel = operations_[at(i)].channel;
      if (channel != kAutoChannel && named_channel_ != kAutoChannel && channel != named_channel_) {
        // Two operations of the chain name different channels, so it ends before the second.
        next_[at(chain_.back())] = kNone;
        has_previous_[at(i)] = false;
        return;
      }
      if (channel != kAutoChannel) named_channel_ = channel;
      chain_.push_back(i);
    }
  }

  template <typename Visit>
  void for_each_pair(std::int32_t channel, Visit visit) const {
    for (std::size_t k = 0; k + 1 < chain_.size(); ++k) {
      const Operation& received = operations_[at(chain_[k])];
      for (std::int32_t instance = received.first_instance; instance < received.parallel;
           instance += received.instance_step) {
        visit(received, operations_[at(chain_[k + 1])], channel + instance);
      }
    }
  }

  [[nodiscard]] std::int32_t lowest_legal() const {
    for (std::int32_t channel = 0;; ++channel) {
      bool legal = true;
      for_each_pair(channel, [&](const Operation& a, const Operation& b, std::int32_t on) {
        legal = legal && pairings_.legal(a, b, on);
      });
      if (legal) return channel;
    }
  }

  void place_chain(std::int32_t channel) {
    for_each_pair(channel, [&](const Operation& a, const Operation& b, std::int32_t on) {
      pairings_.add(a, b, on);
    });
    for (const std::int32_t i : chain_) operations_[at(i)].channel = channel;
  }

  std::vector<Operation>& operations_;
  Pairings pairings_;
  std::vector<std::int32_t> next_;
  std::vector<bool> has_previous_;
  std::vector<std::int32_t> chain_;  ///< the current chain
  std::int32_t named_channel_ = kAutoChannel;
};

}  // namespace

void assign_channels(Program& program, const ChunkDag& dag, bool keep_chains) {
  if (keep_chains) {
    ChannelAssignment(program, dag).run();
  } else {
    for (Operation& operation : program.operations) {
      if (operation.channel == kAutoChannel) operation.channel = 0;
    }
  }
  program.channels = 1;
  for (const Operation& operation : program.operations) {
    program.channels = std::max(program.channels, operation.channel + operation.parallel);
  }
}

}  // namespace cclgym
