// Edges of a transfer graph, sorted by their sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "core/index.hpp"

namespace cclgym {

using TransferId = std::int32_t;

/// An edge to a node; TransferGraph has the meaning of the lag.
struct TransferEdge {
  TransferId target;
  std::int32_t lag;
};

/// Edges of one node, which are stored without lags if no edge of the graph has any.
class EdgeRow {
 public:
  class Iterator {
   public:
    // NOLINTBEGIN(readability-identifier-naming): names of the standard library
    using value_type = TransferEdge;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    // NOLINTEND(readability-identifier-naming)
    Iterator() = default;
    Iterator(const TransferEdge* edge, const TransferId* target) : edge_(edge), target_(target) {}
    TransferEdge operator*() const { return edge_ != nullptr ? *edge_ : TransferEdge{*target_, 0}; }
    Iterator& operator++() {
      edge_ != nullptr ? static_cast<void>(++edge_) : static_cast<void>(++target_);
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const TransferEdge* edge_ = nullptr;  ///< null: the edges have no lags
    const TransferId* target_ = nullptr;
  };

  EdgeRow(std::span<const TransferEdge> edges, std::span<const TransferId> targets)
      : edges_(edges), targets_(targets) {}
  [[nodiscard]] std::size_t size() const { return edges_.size() + targets_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] TransferEdge operator[](std::size_t i) const {
    return targets_.empty() ? edges_[i] : TransferEdge{targets_[i], 0};
  }
  [[nodiscard]] TransferEdge front() const { return (*this)[0]; }
  [[nodiscard]] Iterator begin() const {
    return targets_.empty() ? Iterator(edges_.data(), nullptr) : Iterator(nullptr, targets_.data());
  }
  [[nodiscard]] Iterator end() const {
    return targets_.empty() ? Iterator(edges_.data() + edges_.size(), nullptr)
                            : Iterator(nullptr, targets_.data() + targets_.size());
  }

 private:
  std::span<const TransferEdge> edges_;  ///< or
  std::span<const TransferId> targets_;
};

/// All edges of a graph: four bytes per edge and node, and four more per edge if lags are needed.
/// Edges that are added in the order of their sources need no other memory while a graph is built.
class EdgeRows {
 public:
  void add(TransferId source, TransferId target, std::int32_t lag);
  /// Sorts the edges of `nodes` nodes by source, and stably. `lags`: true if edges must have lags.
  /// Throws std::logic_error if there are 2^32 edges or more.
  void finish(std::size_t nodes, bool lags);
  /// Allows to add edges again.
  void reopen();
  /// Gives all edges lags.
  void add_lags();

  [[nodiscard]] std::size_t size() const { return lagged_ ? edges_.size() : targets_.size(); }
  [[nodiscard]] bool lagged() const { return lagged_; }
  // After finish:
  [[nodiscard]] std::size_t first(TransferId node) const { return begin_[at(node)]; }
  [[nodiscard]] std::size_t end(TransferId node) const { return begin_[at(node) + 1]; }
  /// Targets of all edges, if they have no lags.
  [[nodiscard]] const TransferId* targets() const { return targets_.data(); }
  /// All edges, if they have lags.
  [[nodiscard]] std::span<const TransferEdge> edges() const { return edges_; }
  [[nodiscard]] EdgeRow row(TransferId node) const {
    const std::size_t count = end(node) - first(node);
    if (lagged_) return {{edges_.data() + first(node), count}, {}};
    return {{}, {targets_.data() + first(node), count}};
  }
  /// Bytes of the edges and rows, after finish.
  [[nodiscard]] std::size_t memory_bytes() const {
    return begin_.size() * sizeof(std::uint32_t) + edges_.size() * sizeof(TransferEdge) +
           targets_.size() * sizeof(TransferId);
  }

 private:
  void list_sources();
  template <class Item>
  void sort(std::vector<Item>& items);

  std::vector<std::uint32_t> begin_{0};  ///< by node; while building, up to the last source
  std::vector<TransferEdge> edges_;      ///< if lagged_
  std::vector<TransferId> targets_;      ///< otherwise
  std::vector<TransferId> sources_;      ///< by edge, if they are not in order; only while building
  bool lagged_ = false;
  bool in_order_ = true;
};

}  // namespace cclgym
