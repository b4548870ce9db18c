#include "sim/graph/node_shapes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace cclgym {

namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
// If too many shapes differ, equal ones are looked for again when there are so many times the
// nodes.
constexpr std::size_t kLater = 4;

// True if shapes must be shared no longer.
bool too_many(std::size_t distinct, std::size_t nodes) { return 2 * distinct > nodes; }

using Bits = std::array<std::uint64_t, sizeof(NodeShape) / sizeof(std::uint64_t)>;

bool equal(const NodeShape& a, const NodeShape& b) {
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

std::size_t hash(const NodeShape& shape) {
  std::uint64_t hash = 0x9e3779b97f4a7c15U;
  for (const std::uint64_t bits : std::bit_cast<Bits>(shape)) {
    hash = (hash ^ bits) * 0xff51afd7ed558ccdU;
    hash ^= hash >> 32U;
  }
  return static_cast<std::size_t>(hash);
}

}  // namespace

void NodeShapes::add_shared(const NodeShape& shape) {
  if (numbers_.empty()) {
    share();
    if (numbers_.empty()) {
      shapes_.push_back(shape);
      return;
    }
  }
  // Nodes are often added rank by rank, again and again: the shape is then that of the node before,
  // or the one that was made after it.
  const std::size_t before = numbers_.back();
  std::uint32_t number = 0;
  if (before + 1 >= first_in_table_ && before + 1 < shapes_.size() &&
      equal(shapes_[before + 1], shape)) {
    number = static_cast<std::uint32_t>(before + 1);
  } else if (before >= first_in_table_ && equal(shapes_[before], shape)) {
    number = static_cast<std::uint32_t>(before);
  } else {
    number = find_or_add(shape);
  }
  numbers_.push_back(number);
  if (std::has_single_bit(numbers_.size()) && too_many(shapes_.size(), numbers_.size())) {
    give_each_its_own();
  }
}

std::uint32_t NodeShapes::find_or_add(const NodeShape& shape) {
  if (2 * (shapes_.size() - first_in_table_ + 1) > table_.size()) grow_table();
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash(shape) & mask;
  for (; table_[slot] >= 0; slot = (slot + 1) & mask) {
    if (equal(shapes_[at(table_[slot])], shape)) return static_cast<std::uint32_t>(table_[slot]);
  }
  table_[slot] = static_cast<std::int32_t>(shapes_.size());
  shapes_.push_back(shape);
  return static_cast<std::uint32_t>(table_[slot]);
}

void NodeShapes::grow_table() {
  const std::size_t slots = std::max<std::size_t>(64, 2 * table_.size());
  table_.assign(slots, -1);
  for (std::size_t number = first_in_table_; number < shapes_.size(); ++number) {
    std::size_t slot = hash(shapes_[number]) & (slots - 1);
    while (table_[slot] >= 0) slot = (slot + 1) & (slots - 1);
    table_[slot] = static_cast<std::int32_t>(number);
  }
}

// Lets the nodes share equal shapes, unless too many differ.
void NodeShapes::share() {
  std::vector<NodeShape> each = std::exchange(shapes_, {});
  std::vector<std::uint32_t> numbers;
  for (const NodeShape& shape : each) {
    numbers.push_back(find_or_add(shape));
    if (too_many(shapes_.size(), each.size())) {
      shapes_ = std::move(each);
      table_ = {};
      share_at_ *= kLater;
      return;
    }
  }
  numbers_ = std::move(numbers);
}

void NodeShapes::give_each_its_own() {
  std::vector<NodeShape> each;
  each.reserve(numbers_.size());
  for (const std::uint32_t number : numbers_) each.push_back(shapes_[number]);
  shapes_ = std::move(each);
  numbers_ = {};
  table_ = {};
  first_in_table_ = shapes_.size();
  share_at_ = kNever;
}

void NodeShapes::finish() {
  table_ = {};
  first_in_table_ = shapes_.size();
  share_at_ = kNever;
}

}  // namespace cclgym
