// The error of a transfer graph that cannot finish.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// Some nodes never fired: the graph has a cycle or an unsatisfiable dependency. The caller, who
/// knows the meaning of the nodes, converts it into SimulationStalled.
class GraphStalled : public std::runtime_error {
 public:
  GraphStalled(const std::string& message, std::vector<TransferId> waiting)
      : std::runtime_error(message), waiting_(std::move(waiting)) {}
  /// Nodes with unfinished firings, ascending.
  [[nodiscard]] const std::vector<TransferId>& waiting() const { return waiting_; }

 private:
  std::vector<TransferId> waiting_;
};

}  // namespace cclgym
