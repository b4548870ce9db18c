// Ends of latencies, in queues that need no sorting.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// Graphs usually have few distinct latencies. Latencies of the same length end in the order in
/// which they began, so that each length has a queue, and the next end is the earliest of the
/// queues' fronts.
class LatencyLanes {
 public:
  /// Number of lengths that have a queue. The next end is searched in all of them.
  static constexpr std::size_t kMost = 4;

  /// Makes queues for the first kMost lengths of a graph.
  void load(const TransferGraph& graph) {
    lanes_.clear();
    for (TransferId id = 0; id < graph.size() && lanes_.size() < kMost; ++id) {
      const double latency_s = graph.latency_s(id);
      if (latency_s > 0 && find(latency_s) == nullptr) lanes_.push_back({.latency_s = latency_s});
    }
  }
  /// Empties the queues. `used`: false if this run must not use them.
  void reset(bool used) {
    used_ = used;
    for (Lane& lane : lanes_) lane.first = lane.count = 0;
    next_s_ = kNever;
  }

  /// Date at which the next latency in a queue ends; infinite if there is none.
  [[nodiscard]] double next_date() const { return next_s_; }

  /// The latency of `node` begins at `now_s`, which is not before that of the last call. False if
  /// there is no queue for its length.
  [[nodiscard]] bool add(TransferId node, double latency_s, double now_s) {
    Lane* const lane = used_ ? find(latency_s) : nullptr;
    if (lane == nullptr) return false;
    const double end_s = now_s + latency_s;
    lane->push({end_s, node});
    next_s_ = std::min(next_s_, end_s);
    return true;
  }

  /// Removes one whose latency ends at next_date().
  [[nodiscard]] TransferId pop() {
    TransferId node = -1;
    double next_s = kNever;
    for (Lane& lane : lanes_) {
      if (lane.count > 0 && node < 0 && lane.front().end_s == next_s_) node = lane.pop();
      if (lane.count > 0) next_s = std::min(next_s, lane.front().end_s);
    }
    next_s_ = next_s;
    return node;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  struct Waiting {
    double end_s;
    TransferId node;
  };
  struct Lane {
    double latency_s = 0;
    std::size_t first = 0;
    std::size_t count = 0;
    std::vector<Waiting> ring{};  ///< its size is a power of two

    [[nodiscard]] const Waiting& front() const { return ring[first]; }
    void push(const Waiting& waiting) {
      if (count == ring.size()) grow();
      ring[(first + count++) & (ring.size() - 1)] = waiting;
    }
    TransferId pop() {
      const TransferId node = ring[first].node;
      first = (first + 1) & (ring.size() - 1);
      --count;
      return node;
    }
    void grow() {
      std::vector<Waiting> larger(std::max<std::size_t>(16, 2 * ring.size()));
      for (std::size_t i = 0; i < count; ++i) larger[i] = ring[(first + i) & (ring.size() - 1)];
      ring.swap(larger);
      first = 0;
    }
  };
  [[nodiscard]] Lane* find(double latency_s) {
    for (Lane& lane : lanes_) {
      if (lane.latency_s == latency_s) return &lane;
    }
    return nullptr;
  }

  bool used_ = false;
  std::vector<Lane> lanes_;
  double next_s_ = kNever;
};

}  // namespace cclgym
