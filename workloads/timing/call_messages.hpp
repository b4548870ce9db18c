// A call as the messages of its program, appended to the graph of a job.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/transfer_graph.hpp"
#include "workloads/timing/group_views.hpp"

namespace cclgym {

/// Nodes of one call in the graph of a job, by rank of its communicator.
struct AppendedCall {
  struct Member {
    std::vector<TransferId> starts;  ///< nodes that wait for the rank to reach the call
    TransferId launched = -1;        ///< the end of the first kernel's launch; -1: none
    TransferId done = -1;            ///< the rank is done
    std::int32_t sms = 0;            ///< SMs that its thread blocks take meanwhile
  };
  std::vector<Member> members;
};

/// The messages of one call with its configuration, ready to be appended any number of times.
class CallMessages {
 public:
  /// Lowers the call. `graph` gets the routes and the links that only this communicator has (its
  /// proxies); `capacities` are those of the graph's links. `fabric_links`: number of links of the
  /// fabric, which come first. `memories`: link of each rank's memory, which its messages cross.
  CallMessages(const ConfiguredCall& planned, TransferGraph& graph, std::vector<double>& capacities,
               std::size_t fabric_links, std::vector<std::int32_t> memories);

  [[nodiscard]] std::int64_t nodes() const { return lowered_.graph->size(); }
  [[nodiscard]] std::int64_t firings() const { return lowered_.graph->firings(); }
  [[nodiscard]] AppendedCall append(TransferGraph& graph) const;

 private:
  void add_routes(TransferGraph& graph, std::vector<double>& capacities, std::size_t fabric_links);

  LoweredProgram lowered_;
  std::vector<std::int32_t> memories_;
  /// By node: route in the job's graph; -1: a delay.
  std::vector<std::int32_t> route_of_;
  std::vector<std::int32_t> sms_;  ///< by rank
};

}  // namespace cclgym
