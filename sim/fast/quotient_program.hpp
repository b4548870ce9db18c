// A program's transfer graph with one node for each class of equal nodes, made once, and then timed
// for any size of the call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/lowering/graph_shape.hpp"
#include "sim/lowering/lowering.hpp"
#include "sim/lowering/price.hpp"
#include "sim/noise/noise_profile.hpp"

namespace cclgym {

/// Times of one program on one machine whose condition does not change during a call.
///
/// Nodes with equal cost records and equal surroundings form a class (sim/graph/symmetry.hpp), as
/// do links, and a graph of the classes is simulated, in which a flow stands for all of its class.
/// The dates are those of the whole graph except for rounding: within 1e-12 of it, and if tiles
/// are extrapolated (sim/engine/steady_state.hpp), as exact as that is. In chaotic pipelines
/// (docs/architecture.md), rounding breaks the symmetry of the whole graph after some tiles and
/// moves its dates by about 0.1 %; here it cannot. Where routes adapt, choices break ties by the
/// number of a flow, and every node is a class of its own: the whole graph, lowered once. Dates
/// depend on the program, the shape and the timed call, not on the size of the call from which the
/// quotient was made. Immutable.
class QuotientProgram {
 public:
  /// True if a quotient can exist under this model and this noise: they are not random, and do not
  /// change during a call.
  [[nodiscard]] static bool possible(const CostModel& model, const NoiseProfile& noise);
  /// Builds one from the program that Simulator::lowered returns for a call on `fabric` under
  /// `model` and `noise`. With tiles there must be more than kMostSlots of them. Returns null for
  /// programs of which only the outline is known or that use switches (which send groups of
  /// messages as one flow), and where possible() is false.
  [[nodiscard]] static std::unique_ptr<QuotientProgram> make(const LoweredProgram& lowered,
                                                             std::shared_ptr<const Fabric> fabric,
                                                             const CostModel& model,
                                                             const NoiseProfile& noise);

  /// Number of classes of nodes.
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  struct Timed {
    double time_s = 0;
    double tile_error_s = 0;  ///< as Result has it
    bool periodic = true;
  };
  /// Transfers on the longest chain of dependent transfers of a tile.
  [[nodiscard]] int steps() const { return steps_; }
  /// The call must have the collective and root that the quotient was made from, the configuration
  /// its algorithm, channels and instances, and both together its graph_shape().
  [[nodiscard]] Timed time(Engine& engine, const Call& call, const Config& config) const;
  /// Time of `tiles` tiles, s, all of them simulated, each with `fill` times the bytes that
  /// config.tile_bytes > 0 allow.
  [[nodiscard]] double time_of_tiles_s(Engine& engine, const Config& config, std::int32_t tiles,
                                       double fill) const;

 private:
  struct Node {
    std::int32_t record = 0;            ///< index into records_
    bool once = false;                  ///< fires once, not once per tile
    std::int32_t class_of_bounds = -1;  ///< index into bounds_ for a flow that stands for several
  };
  /// All flows of a class move at once, so that none is faster than its share of a link.
  struct Bound {
    double narrowest_Bps = kNoRateCap;  ///< minimum of capacity / load, without proxies
    std::int32_t max_proxy_load = 0;
  };

  QuotientProgram(const LoweredProgram& lowered, std::shared_ptr<const Fabric> fabric,
                  const CostModel& model);
  friend class QuotientBuilder;
  /// By record.
  [[nodiscard]] std::vector<Price> prices(const Config& config, double tile_bytes) const;
  [[nodiscard]] std::shared_ptr<const TransferGraph> graph_of(const Config& config,
                                                              std::int32_t tiles,
                                                              double tile_bytes) const;

  std::shared_ptr<const Fabric> fabric_;
  CostModel model_;
  CostTraits traits_;
  ProgramCut cut_;
  int steps_;
  double share_ = 1;                         ///< number of classes of nodes / number of nodes
  std::vector<std::vector<LinkId>> routes_;  ///< NodeCosts::routes
  std::vector<NodeCost> records_;
  std::vector<Bound> bounds_;
  std::vector<Node> nodes_;                     ///< by class
  std::shared_ptr<const TransferGraph> graph_;  ///< graph of the classes; its numbers do not count
  std::vector<std::uint8_t> is_proxy_;          ///< by class of links
  std::vector<TransferId> watched_;             ///< classes of the last nodes of ranks
};

}  // namespace cclgym
