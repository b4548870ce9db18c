// The tree along which the ranks of a group send to each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cclgym {

/// Address of a rank's listening socket, and the node that the rank is on.
struct RankAddress {
  std::string host;  ///< IPv4 address, "10.77.0.1"
  std::uint16_t port = 0;
  std::int32_t node = 0;
  friend bool operator==(const RankAddress&, const RankAddress&) = default;
};

/// A tree with rank 0 at its root. The first rank of a node is the parent of its other ranks; the
/// first ranks of nodes form a tree in which each has up to kNodeChildren children.
class RankTree {
 public:
  static constexpr std::size_t kNodeChildren = 8;

  /// `nodes` has the node of each rank; nodes are numbered as one likes.
  explicit RankTree(std::span<const std::int32_t> nodes);

  /// -1 for rank 0.
  [[nodiscard]] std::int32_t parent(std::int32_t rank) const {
    return parents_[static_cast<std::size_t>(rank)];
  }
  /// The neighbour of `from` on the way to `to`, which is another rank.
  [[nodiscard]] std::int32_t next_hop(std::int32_t from, std::int32_t to) const;
  /// Max number of steps from a rank to rank 0.
  [[nodiscard]] int depth() const;

 private:
  std::vector<std::int32_t> parents_;
};

}  // namespace cclgym
