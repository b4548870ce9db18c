// A program's transfer graph with one node for all nodes that are alike, made once, and then timed
// for any size of the call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/lowering/graph_shape.hpp"
#include "sim/lowering/lowering.hpp"
#include "sim/noise/noise_profile.hpp"

namespace cclgym {

/// Times of one program on one machine whose condition does not change during a call.
///
/// The nodes and links of its transfer graph are put into classes of ones that are alike
/// (sim/graph/symmetry.hpp), and a graph of the classes is simulated, in which a flow stands for
/// all of its class. The dates are those of the whole graph, but for rounding: within 1e-12 of it,
/// and where tiles are carried on (sim/engine/steady_state.hpp), as exactly as that is. In
/// pipelines that are chaotic (docs/architecture.md), rounding breaks the symmetry of the whole
/// graph after some tiles and moves its dates by some 0.1 %; here it cannot. Where routes adapt,
/// choices break ties by the number of a flow, and every node is a class of its own: the whole
/// graph, lowered once. They depend on the program, the shape and the call, not on the size of the
/// call that it was made from. Immutable.
class QuotientProgram {
 public:
  /// Can there be one under this model and this noise? Not where they are random or change.
  [[nodiscard]] static bool possible(const CostModel& model, const NoiseProfile& noise);
  /// From what Simulator::lowered makes of a call on `fabric` under `model` and `noise`. With tiles
  /// there must be more than kMostSlots of them. Nothing where it cannot be done: programs of which
  /// only the outline is known or that use switches (which send groups of messages as one flow), or
  /// what possible() or the costs of sim/lowering/transfer_cost.hpp do not allow.
  [[nodiscard]] static std::unique_ptr<QuotientProgram> make(const LoweredProgram& lowered,
                                                             const Call& call, const Config& config,
                                                             std::shared_ptr<const Fabric> fabric,
                                                             const CostModel& model,
                                                             const NoiseProfile& noise);

  /// The classes of nodes.
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  struct Timed {
    double time_s = 0;
    double tile_error_s = 0;  ///< as Result has it
    bool periodic = true;
  };
  /// Transfers on the longest chain of dependent transfers of a tile.
  [[nodiscard]] int steps() const { return steps_; }
  /// The call must have the collective and root that it was made from, the configuration its
  /// algorithm, channels and instances, and both together its graph_shape().
  [[nodiscard]] Timed time(Engine& engine, const Call& call, const Config& config) const;
  /// The time of so many tiles, all of them simulated, each with `fill` times the bytes that
  /// config.tile_bytes > 0 allow.
  [[nodiscard]] double time_of_tiles_s(Engine& engine, const Config& config, std::int32_t tiles,
                                       double fill) const;

 private:
  enum class Kind : std::uint8_t { Fixed, Local, Flow, Arrival };
  /// What a node costs; many have the same.
  struct Cost {
    Kind kind = Kind::Fixed;
    Opcode opcode = Opcode::Nop;
    std::int32_t count = 0;  ///< chunks
    bool reducing = false;
    bool slow = false;                 ///< is a GPU at one of its ends slow?
    double latency_s = 0;              ///< if Fixed
    std::vector<LinkId> fabric_links;  ///< of a Flow, and of the one whose Arrival it is
  };
  struct Node {
    std::int32_t cost = 0;              ///< index into costs_
    bool once = false;                  ///< fires once, not once a tile
    std::int32_t class_of_bounds = -1;  ///< of a flow that stands for several: index into bounds_
  };
  /// All flows of a class move at once, so that none is faster than its share of a link.
  struct Bound {
    double narrowest_Bps = kNoRateCap;  ///< the least of capacity / load, without proxies
    std::int32_t most_proxy_load = 0;
  };
  struct Charge {
    double bytes = 0;
    double latency_s = 0;
    double rate_cap_Bps = kNoRateCap;
  };

  QuotientProgram(const LoweredProgram& lowered, std::shared_ptr<const Fabric> fabric,
                  const CostModel& model, const NoiseProfile& noise);
  friend class QuotientBuilder;
  [[nodiscard]] Charge charge(const Cost& cost, const Config& config, double tile_bytes) const;
  [[nodiscard]] std::vector<Charge> charges(const Config& config, double tile_bytes) const;
  [[nodiscard]] std::shared_ptr<const TransferGraph> graph_of(const Config& config,
                                                              std::int32_t tiles,
                                                              double tile_bytes) const;

  std::shared_ptr<const Fabric> fabric_;
  CostModel model_;
  double slow_rate_ = 1;
  CostTraits traits_;
  ProgramCut cut_;
  int steps_;
  double share_ = 1;  ///< classes of nodes by nodes
  std::vector<Cost> costs_;
  std::vector<Bound> bounds_;
  std::vector<Node> nodes_;                     ///< by class
  std::shared_ptr<const TransferGraph> graph_;  ///< of the classes, with any costs
  std::vector<std::uint8_t> is_proxy_;          ///< by class of links
  std::vector<TransferId> watched_;             ///< classes that a rank ends with
};

}  // namespace cclgym
