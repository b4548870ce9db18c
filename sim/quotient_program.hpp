// A program's transfer graph with one node for all nodes that are alike, made once, and then timed
// for any size of the call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/engine.hpp"
#include "sim/lowering.hpp"
#include "sim/noise_profile.hpp"
#include "sim/steady_state.hpp"

namespace cclgym {

/// What of a program says how a call is cut into messages.
struct ProgramCut {
  int chunks_per_call = 1;
  int longest_message = 1;  ///< chunks
  int most_messages = 0;    ///< that a thread block sends a tile
};
[[nodiscard]] ProgramCut program_cut(const ThreadBlockProgram& program);
/// Into how many tiles a call is cut.
[[nodiscard]] std::int32_t tiles_of_call(const ProgramCut& cut, const Call& call,
                                         const Config& config);
/// The call of so many tiles (config.tile_bytes > 0), of which each has `fill` times the bytes that
/// a tile may have, fill > (tiles - 1) / tiles; smaller by less than a byte.
[[nodiscard]] Call call_of_tiles(const ProgramCut& cut, Call call, const Config& config,
                                 std::int32_t tiles, double fill);
/// Does it have transfers that switches copy or add?
[[nodiscard]] bool uses_switches(const ThreadBlockProgram& program);

/// What of a call and a configuration shapes the graph, apart from the program: where all of it is
/// equal, graphs differ in the costs of their nodes and the repeats alone.
struct GraphShape {
  bool tiled = false;
  bool proxies = false;  ///< do the ranks' proxies limit messages over the network?
  int slots = 0;         ///< 0: no message waits for a slot
  friend auto operator<=>(const GraphShape&, const GraphShape&) = default;
};
[[nodiscard]] GraphShape graph_shape(const ProgramCut& cut, const CostModel& model,
                                     const Call& call, const Config& config);

/// Times of one program on one machine whose condition does not change during a call.
///
/// The nodes and links of its transfer graph are put into classes of ones that are alike
/// (sim/symmetry.hpp), and a graph of the classes is simulated, in which a flow stands for all of
/// its class. The dates are those of the whole graph, but for rounding: within 1e-12 of it, and
/// where tiles are carried on (sim/steady_state.hpp), as exactly as that is. In pipelines that are
/// chaotic (docs/architecture.md), rounding breaks the symmetry of the whole graph after some tiles
/// and moves its dates by some 0.1 %; here it cannot. They depend on the
/// program, the shape and the call, not on the size of the call that it was made from. Immutable.
class QuotientProgram {
 public:
  /// Can there be one under this model and this noise? Not where they are random or change.
  [[nodiscard]] static bool possible(const CostModel& model, const NoiseProfile& noise);
  /// From what Simulator::lowered makes of a call on `fabric` under `model` and `noise`. With tiles
  /// there must be more than kMostSlots of them. Nothing where it cannot be done: programs of which
  /// only the outline is known or that use switches (which send groups of messages as one flow),
  /// adaptive routes, or what possible() or the costs of sim/transfer_cost.hpp do not allow.
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
  enum class Cost : std::uint8_t { Fixed, Local, Flow, Arrival };
  struct Node {
    Cost cost = Cost::Fixed;
    Opcode opcode = Opcode::Nop;
    std::int32_t count = 0;  ///< chunks
    bool reducing = false;
    bool slow = false;  ///< is a GPU at one of its ends slow?
    bool overlapping = false;
    bool once = false;        ///< fires once, not once a tile
    double latency_s = 0;     ///< if Fixed
    std::int32_t route = -1;  ///< index into routes_
    std::int32_t flow = -1;   ///< of an Arrival: the class of what arrives
  };
  struct Route {
    std::vector<LinkId> fabric_links;  ///< of the first node of the class: what it costs
    std::vector<std::int32_t> links;   ///< classes of links that may limit it
    std::vector<std::int32_t> loads;
    double narrowest_Bps = 0;  ///< the least of capacity / load, without proxies
    std::int32_t most_proxy_load = 0;
  };
  struct Edge {
    TransferId source;
    TransferId target;
    std::int32_t lag;
  };
  struct Costs {
    double bytes = 0;
    double latency_s = 0;
    double rate_cap_Bps = kNoRateCap;
  };

  QuotientProgram(const LoweredProgram& lowered, std::shared_ptr<const Fabric> fabric,
                  const CostModel& model, const NoiseProfile& noise);
  friend class QuotientBuilder;
  void find_costs(const Config& config, double tile_bytes, std::vector<Costs>& costs) const;
  [[nodiscard]] std::shared_ptr<const TransferGraph> graph_of(const Config& config,
                                                              std::int32_t tiles,
                                                              double tile_bytes) const;

  std::shared_ptr<const Fabric> fabric_;
  CostModel model_;
  double slow_rate_ = 1;
  Runtime runtime_;
  ProgramCut cut_;
  int steps_;
  double share_;             ///< classes of nodes by nodes
  std::vector<Node> nodes_;  ///< by class
  std::vector<Route> routes_;
  std::vector<Edge> edges_;
  std::vector<double> capacity_Bps_;    ///< by class of links; of proxies, set for each call
  std::vector<std::uint8_t> is_proxy_;  ///< by class of links
  std::vector<TransferId> watched_;     ///< classes that a rank ends with
};

}  // namespace cclgym
