// The legal combinations of levels, as a tree of the legal prefixes of an action.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cclgym {

inline constexpr std::size_t kMostKnobs = 16;
inline constexpr std::size_t kMostLevels = 32;

/// A node stands for a prefix of choices; the first node stands for the empty prefix. Nodes are in
/// breadth-first order: the children of a node are adjacent, in ascending order of their level.
struct MaskNode {
  std::uint32_t levels = 0;  ///< bit v: level v is legal next; at least one bit is set
  std::uint32_t first_child = 0;
};
using MaskTree = std::vector<MaskNode>;

/// The node for the prefix of `node` extended by `level`, which must be legal there.
[[nodiscard]] std::size_t mask_child(const MaskNode& node, std::size_t level);

/// The tree of a list of actions, which are ascending, distinct and concatenated; each has `knobs`
/// levels. Throws std::logic_error if they are not, or if a level is outside 0 .. kMostLevels - 1.
[[nodiscard]] MaskTree make_mask_tree(std::span<const std::int32_t> actions, std::size_t knobs);

/// A tree as in policy files: `levels` and `first_child` of each node in turn.
[[nodiscard]] std::vector<std::uint32_t> mask_tree_values(const MaskTree& tree);
/// Reads such a tree. `levels` is the number of levels of each knob. On success `fault` is empty;
/// otherwise it describes the error: a node without a parent, a level that does not exist, …
[[nodiscard]] MaskTree read_mask_tree(std::span<const std::uint32_t> values,
                                      std::span<const std::size_t> levels, std::string& fault);

}  // namespace cclgym
