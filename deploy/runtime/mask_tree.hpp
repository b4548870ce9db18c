// Which combinations of levels are legal: the tree of the legal prefixes of an action.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cclgym {

inline constexpr std::size_t kMostKnobs = 16;
inline constexpr std::size_t kMostLevels = 32;

/// A node stands for the choices so far; the first one for none. Breadth first: the children of a
/// node lie together, in ascending order of their level.
struct MaskNode {
  std::uint32_t levels = 0;  ///< bit v: level v is legal next; at least one is
  std::uint32_t first_child = 0;
};
using MaskTree = std::vector<MaskNode>;

/// The node of the choices of `node` and then `level`, which is legal there.
[[nodiscard]] std::size_t mask_child(const MaskNode& node, std::size_t level);

/// The tree of some actions of `knobs` levels each, ascending and distinct, one behind the other.
/// Throws std::logic_error if they are not, or a level is negative or kMostLevels and more.
[[nodiscard]] MaskTree make_mask_tree(std::span<const std::int32_t> actions, std::size_t knobs);

/// A tree as policy files have it: `levels` and `first_child` of each node by turns.
[[nodiscard]] std::vector<std::uint32_t> mask_tree_values(const MaskTree& tree);
/// Reads it. `levels` is the number of levels of each knob. On success `fault` is empty; otherwise
/// it says what is wrong: a node that is nobody's child, a level that there is not, …
[[nodiscard]] MaskTree read_mask_tree(std::span<const std::uint32_t> values,
                                      std::span<const std::size_t> levels, std::string& fault);

}  // namespace cclgym
