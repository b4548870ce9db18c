// Maximum flow with whole-number capacities, for the exact metrics of a fabric.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace cclgym {

/// A flow network whose capacities may change between solutions.
class MaxFlow {
 public:
  explicit MaxFlow(int nodes);
  ~MaxFlow();
  MaxFlow(const MaxFlow&) = delete;
  MaxFlow& operator=(const MaxFlow&) = delete;

  /// Adds an edge of capacity 0 both ways; returns its index.
  int add_edge(int u, int v);
  /// Sets the capacities u -> v and v -> u of an edge, each >= 0. Their sum over all edges must
  /// stay below 2^63.
  void set_capacity(int edge, std::int64_t forwards, std::int64_t backwards);

  /// The value of a maximum flow (= minimum cut) from `source` to `sink`.
  [[nodiscard]] std::int64_t solve(int source, int sink);
  /// Nodes on the source's side of a minimum cut of the last solve(), by node.
  [[nodiscard]] std::vector<bool> source_side() const;

 private:
  struct Network;
  std::unique_ptr<Network> network_;
};

}  // namespace cclgym
