// A synthesised program, with the schedule that it came from and what is known about its time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "collectives/ir.hpp"
#include "synthesis/demand.hpp"
#include "synthesis/flow_graph.hpp"
#include "synthesis/instance.hpp"
#include "synthesis/step_schedule.hpp"
#include "synthesis/tree_packing.hpp"
#include "topology_models/rational.hpp"

namespace cclgym::synthesis {

/// Step schedules of a program. A reduction has its schedule on instance.reversed(), to be run
/// backwards; AllReduce has both.
struct StepPlan {
  Instance instance{};
  Demand demand{};
  std::optional<StepSchedule> reduce{};
  std::optional<StepSchedule> copy{};
};

/// Trees of a program: `inward` for reductions, `outward` for copies; AllReduce has both.
struct TreePlan {
  FlowGraph graph{};
  std::optional<TreePacking> inward{};
  std::optional<TreePacking> outward{};
};

using Plan = std::variant<StepPlan, TreePlan>;

/// A program and its costs: (C, S, R) of SCCL, section 3.3. Trees have their depth as S, and as R
/// the rounds in which the busiest link carries its load.
struct SynthesizedProgram {
  std::string name{};  ///< valid name of an algorithm, unique for fabric and collective
  CollectiveKind collective = CollectiveKind::AllGather;
  int root = 0;
  int chunks = 1;     ///< C: chunks of a call (Contract::chunks_per_call) per slice, as SCCL counts
  int instances = 1;  ///< copies of the program, each with its part of every chunk
  int steps = 1;      ///< S
  Rational rounds{1};      ///< R
  bool pipelined = false;  ///< its chunks are meant to be cut into tiles
  double latency_s = 0;    ///< latency of the slowest hop, s
  double unit_Bps = 1;     ///< bandwidth of a link unit, B/s
  /// Costs at which it is optimal: "latency", "bandwidth", "latency and bandwidth"; empty: none
  /// proven.
  std::string optimal{};
  std::shared_ptr<const ThreadBlockProgram> program{};
  std::shared_ptr<const Plan> plan{};

  /// R / C, which no schedule for the fabric can lower below the bound of the collective.
  [[nodiscard]] Rational rounds_per_chunk() const { return rounds / chunks; }
  /// Time of a call by the alpha-beta formula, s: S alpha + R L / unit, L being the bytes of a
  /// chunk. With tiles, the steps before the last tile add alpha and the time of one tile each.
  [[nodiscard]] double estimate_s(std::uint64_t bytes, std::uint64_t tile_bytes = 0) const;
  /// Bytes of a chunk of the plan in a call of `bytes`.
  [[nodiscard]] double chunk_bytes(std::uint64_t bytes) const;
  /// Tile size with the least estimate, bytes, a power of two; 0 if the program is not pipelined.
  [[nodiscard]] std::uint64_t best_tile(std::uint64_t bytes) const;
};

}  // namespace cclgym::synthesis
