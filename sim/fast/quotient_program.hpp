// A program's transfer graph with one node for each class of equal nodes, made once, and then timed
// for any size of the call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/lowering/graph_shape.hpp"
#include "sim/lowering/lowering.hpp"
#include "sim/noise/noise_profile.hpp"
#include "sim/prices/price.hpp"

namespace cclgym {

/// Times of one program on one machine whose condition does not change during a call. Immutable.
///
/// Nodes with equal cost records and equal surroundings form a class (sim/graph/symmetry.hpp), as
/// do links, and a graph of the classes is simulated, in which a flow stands for all flows of its
/// class. The dates are those of the full graph except for rounding (docs/collective-tuning.md).
/// Where routes adapt, every node is a class of its own, because choices break ties by the number
/// of a flow. Dates depend on the program, the shape and the timed call, not on the size of the
/// call from which the quotient was made.
class QuotientProgram {
 public:
  /// True if a quotient can exist under this model and this noise: they are not random, and do not
  /// change during a call.
  [[nodiscard]] static bool possible(const CostModel& model, const NoiseProfile& noise);
  /// Builds one from the program that Simulator::lowered returns for a call on `fabric` under
  /// `model` and `noise`. With tiles there must be more than kMostSlots of them. Returns null if
  /// possible() is false, if only the program's outline is known, or if the program uses switches
  /// (which send groups of messages as one flow).
  [[nodiscard]] static std::unique_ptr<QuotientProgram> make(const LoweredProgram& lowered,
                                                             std::shared_ptr<const Fabric> fabric,
                                                             const CostModel& model,
                                                             const NoiseProfile& noise);

  /// Number of classes of nodes.
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  struct Timed {
    double time_s = 0;
    double tile_error_s = 0;  ///< see Result::tile_error_s
    bool periodic = true;
  };
  /// Transfers on the longest chain of dependent transfers of a tile.
  [[nodiscard]] int steps() const { return steps_; }
  /// The call must have the collective and root of the call from which the quotient was made, and
  /// the configuration must have that call's algorithm, channels and instances. The graph_shape()
  /// of both must be the quotient's.
  [[nodiscard]] Timed time(Engine& engine, const Call& call, const Config& config) const;
  /// Time of `tiles` tiles, s, all of them simulated, each with `fill` times the bytes that
  /// config.tile_bytes > 0 allow.
  [[nodiscard]] double time_of_tiles_s(Engine& engine, const Config& config, std::int32_t tiles,
                                       double fill) const;

 private:
  struct Node {
    std::int32_t record = 0;            ///< index into records_
    bool once = false;                  ///< fires once, not once per tile
    std::int32_t class_of_bounds = -1;  ///< index into bounds_; -1 for delays
  };
  /// Limits of a class of flows, which all move at once: none is faster than its share of a link.
  struct Bound {
    double narrowest_Bps = kNoRateCap;  ///< minimum of capacity / load, without proxies
    std::int32_t max_proxy_load = 0;
  };

  QuotientProgram(const LoweredProgram& lowered, std::shared_ptr<const Fabric> fabric,
                  const CostModel& model);
  friend class QuotientBuilder;
  /// Prices by record.
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
  std::int64_t network_messages_ = 0;        ///< PriceTerms::network_messages
  double sharing_blocks_ = 1;                ///< PriceTerms::sharing_blocks
  std::vector<std::vector<LinkId>> routes_;  ///< NodeCosts::routes
  std::vector<NodeCost> records_;
  std::vector<Bound> bounds_;
  std::vector<Node> nodes_;  ///< by class
  std::shared_ptr<const TransferGraph>
      graph_;  ///< graph of the classes; each simulation gives it costs (with_costs)
  std::vector<std::uint8_t> is_proxy_;  ///< by class of links
  std::vector<TransferId> watched_;     ///< classes of the last nodes of ranks
};

}  // namespace cclgym
