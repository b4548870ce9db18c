// The engine interface: runs a transfer graph and returns the start and end of every transfer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/graph/capacity_process.hpp"
#include "sim/graph/graph_stalled.hpp"
#include "sim/graph/transfer_graph.hpp"

namespace cclgym {

/// Result of one run. Spans stay valid until the engine runs or loads again.
struct EngineResult {
  double makespan_s = 0;            ///< date at which the last node is done; the clock starts at 0
                                    ///< (without the background)
  std::span<const double> start_s;  ///< by node: date at which its last firing started
  std::span<const double> end_s;    ///< by node: date at which its last firing was done
};

/// Receives every firing except background ones, in the order in which they finish (ties in an
/// engine-specific fixed order).
class FiringObserver {
 public:
  virtual ~FiringObserver() = default;
  /// False if only the order of the firings of each node matters. A run may then be faster.
  [[nodiscard]] virtual bool needs_order() const { return true; }
  /// Called before a run in which each firing takes its latency and the transfer time of its shape
  /// (NodeShapes::number), as soon as the last of its dependencies is done: s + latency + transfer,
  /// rounded twice. Never called for an observer that needs the order.
  virtual void on_fixed_rates(std::span<const double> /*transfer_s*/) {}
  /// By node: 1 if its firings need not be reported any more. Empty: all are needed. The answer
  /// holds until it changes, and may change with every firing; a run may ask for it rarely, or
  /// never.
  [[nodiscard]] virtual std::span<const std::uint8_t> unneeded() const { return {}; }
  virtual void on_firing(TransferId node, std::int32_t iteration, double start_s, double end_s) = 0;
  /// Called only for flows with a choice, before they move bytes, with the index of the alternative
  /// route that they take (TransferGraph::links_on_way). An observer that needs no order may miss
  /// calls with `way` 0.
  virtual void on_choice(TransferId /*node*/, std::int32_t /*iteration*/, std::int32_t /*way*/) {}
};

/// Runs transfer graphs. One engine belongs to one thread; any number of engines may exist, within
/// the limits that `EngineInfo` states. Runs are independent and reproducible bit for bit.
class Engine {
 public:
  virtual ~Engine() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Prepares a graph (which must be finished) for any number of runs.
  virtual void load(std::shared_ptr<const TransferGraph> graph) = 0;

  /// Runs the loaded graph from date 0; with `capacities`, link capacities change during the run.
  /// Throws GraphStalled if some node can never fire.
  virtual EngineResult run(FiringObserver* observer = nullptr,
                           CapacityProcess* capacities = nullptr) = 0;
};

struct EngineInfo {
  std::string name;
  std::string description;
  bool thread_safe = false;  ///< engines may run in several threads
};

/// The engines of this build, the default one first.
[[nodiscard]] const std::vector<EngineInfo>& engine_infos();

/// Creates an engine by name. Throws UserError naming the nearest engine if the name is unknown.
[[nodiscard]] std::unique_ptr<Engine> make_engine(std::string_view name);

}  // namespace cclgym
