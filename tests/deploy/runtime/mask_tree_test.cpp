// Tests of trees of legal actions: building, writing, reading, and errors for incomplete trees.
#include "deploy/runtime/mask_tree.hpp"

#include "support/catch.hpp"

namespace cclgym {
namespace {

const std::vector<std::int32_t> kActions{0, 0, 0, 1, 0, 2, 1, 1, 0, 2, 0, 1};
const std::vector<std::size_t> kLevels{3, 2, 3};

TEST_CASE("a tree has each legal prefix as a node", "[deploy][mask-tree]") {
  const MaskTree tree = make_mask_tree(kActions, 3);
  REQUIRE(tree.size() == 8);
  CHECK(tree[0].levels == 0b111);
  const MaskNode& one = tree[mask_child(tree[0], 1)];
  CHECK(one.levels == 0b11);
  CHECK(tree[mask_child(one, 0)].levels == 0b100);
  CHECK(tree[mask_child(one, 1)].levels == 0b001);
  const MaskNode& two = tree[mask_child(tree[0], 2)];
  CHECK(two.levels == 0b01);
  CHECK(tree[mask_child(two, 0)].levels == 0b010);

  std::string fault;
  const MaskTree read = read_mask_tree(mask_tree_values(tree), kLevels, fault);
  CHECK(fault.empty());
  CHECK(mask_tree_values(read) == mask_tree_values(tree));
}

TEST_CASE("actions that are not ascending, or out of range, are refused", "[deploy][mask-tree]") {
  CHECK_THROWS_AS(make_mask_tree(std::vector<std::int32_t>{}, 2), std::logic_error);
  CHECK_THROWS_AS(make_mask_tree(std::vector<std::int32_t>{0, 1, 0}, 2), std::logic_error);
  CHECK_THROWS_AS(make_mask_tree(std::vector<std::int32_t>{0, 1, 0, 1}, 2), std::logic_error);
  CHECK_THROWS_AS(make_mask_tree(std::vector<std::int32_t>{1, 0, 0, 1}, 2), std::logic_error);
  CHECK_THROWS_AS(make_mask_tree(std::vector<std::int32_t>{0, 32}, 2), std::logic_error);
  CHECK_THROWS_AS(make_mask_tree(std::vector<std::int32_t>{0, -1}, 2), std::logic_error);
}

TEST_CASE("a tree that was changed anywhere is refused or another whole tree",
          "[deploy][mask-tree]") {
  const std::vector<std::uint32_t> values = mask_tree_values(make_mask_tree(kActions, 3));
  std::size_t refused = 0;
  for (std::size_t at = 0; at < values.size(); ++at) {
    for (const std::uint32_t value : {0U, 1U, 2U, 7U, 8U, 0x80000000U, 0xffffffffU}) {
      std::vector<std::uint32_t> changed = values;
      changed[at] = value;
      std::string fault;
      const MaskTree tree = read_mask_tree(changed, kLevels, fault);
      if (!fault.empty()) {
        ++refused;
        continue;
      }
      // Every path must stay inside the tree.
      for (const MaskNode& node : tree) {
        for (std::size_t level = 0; level < kMostLevels; ++level) {
          if (((node.levels >> level) & 1U) != 0) REQUIRE(mask_child(node, level) < tree.size());
        }
      }
    }
  }
  CHECK(refused > 60);
  std::string fault;
  for (std::size_t size = 0; size < values.size(); ++size) {
    (void)read_mask_tree(std::span(values).first(size), kLevels, fault);
    CHECK_FALSE(fault.empty());
  }
}

}  // namespace
}  // namespace cclgym
