// Numbers of the nodes of a transfer graph, of which few differ in large graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/index.hpp"

namespace cclgym {

using TransferId = std::int32_t;

/// Work of one firing of a node (TransferGraph::add_flow, add_delay), and number of firings.
struct NodeShape {
  double bytes = 0;
  double latency_s = 0;
  double rate_cap_Bps = 0;
  std::int32_t route = -1;  ///< -1 for a delay
  std::int32_t repeat = 1;  ///< number of firings; negative if they overlap
  [[nodiscard]] std::int32_t firings() const { return repeat < 0 ? -repeat : repeat; }
  [[nodiscard]] bool overlapping() const { return repeat < 0; }
};

/// The shapes of the nodes of one graph. Nodes of a large graph share equal shapes, so that a node
/// costs the four bytes of a number; if more than half of the shapes differ, or in a graph of at
/// most kOwn nodes, each node has a shape of its own, which is found without a number. Shapes are
/// equal if all their bits are.
class NodeShapes {
 public:
  /// Most nodes of a graph whose nodes all have shapes of their own.
  static constexpr std::size_t kOwn = 4096;

  void add(const NodeShape& shape) {
    if (numbers_.empty() && shapes_.size() < share_at_) {
      shapes_.push_back(shape);
    } else {
      add_shared(shape);
    }
  }
  void reserve(std::size_t nodes) { shapes_.reserve(nodes); }
  /// No node that is added later shares a shape with a present one.
  void finish();

  [[nodiscard]] std::size_t size() const {
    return numbers_.empty() ? shapes_.size() : numbers_.size();
  }
  [[nodiscard]] const NodeShape& operator[](TransferId id) const { return shapes_[number(id)]; }
  /// Number of the node's shape, less than distinct(), for state by shape.
  [[nodiscard]] std::size_t number(TransferId id) const {
    return numbers_.empty() ? at(id) : numbers_[at(id)];
  }
  [[nodiscard]] std::size_t distinct() const { return shapes_.size(); }
  /// A shape by its number. Its nodes change with it.
  [[nodiscard]] NodeShape& shape(std::size_t number) { return shapes_[number]; }
  [[nodiscard]] const NodeShape& shape(std::size_t number) const { return shapes_[number]; }
  /// Bytes of the shapes and numbers.
  [[nodiscard]] std::size_t memory_bytes() const {
    return shapes_.size() * sizeof(NodeShape) + numbers_.size() * sizeof(std::uint32_t);
  }

 private:
  void add_shared(const NodeShape& shape);
  void share();
  void give_each_its_own();
  [[nodiscard]] std::uint32_t find_or_add(const NodeShape& shape);
  void grow_table();

  std::vector<NodeShape> shapes_;
  std::vector<std::uint32_t> numbers_;  ///< by node; empty: each node has the shape of its number
  std::vector<std::int32_t> table_;     ///< shapes by hash, -1 is free; used only while building
  std::size_t first_in_table_ = 0;      ///< shapes before this one are not in the table
  std::size_t share_at_ = kOwn;         ///< number of nodes at which to look for equal shapes
};

}  // namespace cclgym
