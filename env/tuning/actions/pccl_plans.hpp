// The choices of PCCL's engine: how the ranks are divided into levels, and how each level runs
// (Singh et al., "The Big Send-off", arXiv 2504.18658; docs/collectives.md, "Collectives over
// levels").
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "env/tuning/actions/knob.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Level of Knob::Algorithm that runs the engine.
inline constexpr std::string_view kPcclEngine = "pccl";
/// The knobs of the engine, in the order in which a policy decides.
inline constexpr std::array<Knob, 6> kPcclKnobs{Knob::Hierarchy, Knob::Inter,    Knob::Nic,
                                                Knob::Reduce,    Knob::Subcomms, Knob::Shuffle};

/// Names of the levels of a knob of the engine, the same on every machine. Those of
/// Knob::Hierarchy are factor vectors, innermost first, for N nodes of M GPUs: "nodes" is M x N,
/// "flat" M N, "pairs" 2 x M/2 x N, and "nodes-K" M x K x N/K.
[[nodiscard]] const std::vector<std::string>& pccl_levels(Knob knob);

/// One choice of the engine.
struct PcclPlan {
  std::array<std::int32_t, kPcclKnobs.size()> levels{};  ///< by kPcclKnobs
  std::string program;  ///< name in the library: "hierarchical:8x4:ring+recursive:avoided"

  [[nodiscard]] std::int32_t level(Knob knob) const;
  /// True if the program reduces on hosts.
  [[nodiscard]] bool host() const { return level(Knob::Reduce) != 0; }
};

/// The choices that have a meaning on the fabric and whose levels are all `allowed`, ascending. A
/// knob without a meaning stays at its first level: on one node the NIC, the processor that reduces
/// and the groups across nodes, and for a single level also the shuffle. Empty if the nodes are not
/// alike or there is a single rank. Nothing is built or simulated.
[[nodiscard]] std::vector<PcclPlan> pccl_plans(
    const Fabric& fabric, const std::function<bool(Knob, std::int32_t)>& allowed);

}  // namespace cclgym
