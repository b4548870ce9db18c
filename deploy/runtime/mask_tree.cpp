#include "deploy/runtime/mask_tree.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace cclgym {

namespace {

struct Range {
  std::size_t begin;
  std::size_t end;
};

}  // namespace

std::size_t mask_child(const MaskNode& node, std::size_t level) {
  const std::uint32_t below = node.levels & ((std::uint32_t{1} << level) - 1U);
  return node.first_child + static_cast<std::size_t>(std::popcount(below));
}

MaskTree make_mask_tree(std::span<const std::int32_t> actions, std::size_t knobs) {
  if (knobs == 0 || actions.empty() || actions.size() % knobs != 0) {
    throw std::logic_error("make_mask_tree: the last action is incomplete");
  }
  const std::size_t rows = actions.size() / knobs;
  const auto row_of = [&](std::size_t row) { return actions.subspan(row * knobs, knobs); };
  for (std::size_t row = 0; row < rows; ++row) {
    for (const std::int32_t level : row_of(row)) {
      if (level < 0 || static_cast<std::size_t>(level) >= kMostLevels) {
        throw std::logic_error("make_mask_tree: a level out of range");
      }
    }
    if (row > 0 && !std::ranges::lexicographical_compare(row_of(row - 1), row_of(row))) {
      throw std::logic_error("make_mask_tree: actions are not ascending");
    }
  }
  MaskTree tree;
  std::vector<Range> ranges{{0, rows}};
  for (std::size_t knob = 0; knob < knobs; ++knob) {
    std::vector<Range> below;
    const std::size_t first_below = tree.size() + ranges.size();
    for (const Range& range : ranges) {
      MaskNode node{.first_child = static_cast<std::uint32_t>(first_below + below.size())};
      for (std::size_t row = range.begin; row < range.end;) {
        const std::int32_t level = row_of(row)[knob];
        const std::size_t begin = row;
        while (row < range.end && row_of(row)[knob] == level) ++row;
        node.levels |= std::uint32_t{1} << static_cast<unsigned>(level);
        below.push_back({begin, row});
      }
      // Nodes of the last knob have no children.
      if (knob + 1 == knobs) node.first_child = 0;
      tree.push_back(node);
    }
    ranges = std::move(below);
  }
  return tree;
}

std::vector<std::uint32_t> mask_tree_values(const MaskTree& tree) {
  std::vector<std::uint32_t> values;
  values.reserve(2 * tree.size());
  for (const MaskNode& node : tree) {
    values.push_back(node.levels);
    values.push_back(node.first_child);
  }
  return values;
}

MaskTree read_mask_tree(std::span<const std::uint32_t> values, std::span<const std::size_t> levels,
                        std::string& fault) {
  fault.clear();
  MaskTree tree(values.size() / 2);
  for (std::size_t i = 0; i < tree.size(); ++i) tree[i] = {values[2 * i], values[2 * i + 1]};
  const auto failed = [&](std::size_t node, const char* what) {
    fault = "node " + std::to_string(node) + " " + what;
    return MaskTree{};
  };
  if (values.size() % 2 != 0 || tree.empty()) return failed(0, "is not there");
  // Layer by layer: the children of one layer are exactly the next layer, in order.
  Range layer{0, 1};
  for (std::size_t knob = 0; knob < levels.size(); ++knob) {
    const std::uint64_t all = (std::uint64_t{1} << levels[knob]) - 1;
    std::uint64_t next = layer.end;
    for (std::size_t i = layer.begin; i < layer.end; ++i) {
      if (tree[i].levels == 0) return failed(i, "has no legal level");
      if ((tree[i].levels & ~all) != 0) return failed(i, "has a level that the knob does not have");
      const bool last = knob + 1 == levels.size();
      if (tree[i].first_child != (last ? 0 : next)) return failed(i, "has wrong children");
      if (!last) next += static_cast<std::uint64_t>(std::popcount(tree[i].levels));
    }
    if (next > tree.size()) return failed(tree.size(), "is not there");
    layer = {layer.end, static_cast<std::size_t>(next)};
  }
  if (layer.end != tree.size()) return failed(layer.end, "has no parent");
  return tree;
}

}  // namespace cclgym
