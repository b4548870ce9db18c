// Steps of any program, and the time of its data on the busiest link.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "env/tuning/estimates/fabric_features.hpp"
#include "sim/fast/call_timer.hpp"
#include "sim/simulator.hpp"

namespace cclgym {

/// S and R / C of a program (SCCL, section 3.3) in units of time.
struct PlanLoad {
  double near_steps = 0;  ///< steps of the longest chain within nodes; 0 if not known
  double far_steps = 0;   ///< its steps between nodes
  double s_per_B = 0;     ///< time of the busiest link per byte of the call: (R / C) beta
  [[nodiscard]] bool known() const { return near_steps + far_steps > 0; }
};

/// Measures programs on the graph of their messages: model hockney, in which flows carry the
/// payload only. Not thread-safe.
class PlanLoads {
 public:
  explicit PlanLoads(std::shared_ptr<const CallSite> site);

  /// Load of a program with the channels and the NIC binding of a configuration; copies of a
  /// program count as channels. Unknown if the configuration cannot run.
  [[nodiscard]] const PlanLoad& load(CollectiveKind collective, const PlainConfig& config);

 private:
  [[nodiscard]] PlanLoad measure(CollectiveKind collective, const PlainConfig& config);

  std::shared_ptr<const CallSite> site_;
  /// By binding; created on first use.
  struct Bound {
    std::unique_ptr<Simulator> simulator;
    FabricFeatures features;
  };
  std::vector<Bound> bound_;
  std::map<std::tuple<CollectiveKind, int, int, int>, PlanLoad> known_;
};

}  // namespace cclgym
