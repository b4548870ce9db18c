// Programs of the algorithms in SCCL's Figures 4 to 6, for a simulation against NCCL.
#include <filesystem>
#include <fmt/format.h>

#include "bench/synthesis/rows.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "core/files/text_file.hpp"
#include "support/shipped_fabric.hpp"
#include "synthesis/sccl/collective_steps.hpp"
#include "synthesis/sccl/inversion.hpp"
#include "synthesis/strategies/make_programs.hpp"

namespace cclgym::bench {

namespace {

using namespace synthesis;
using enum CollectiveKind;

struct Algorithm {
  CollectiveKind collective;
  int chunks;  // as are steps and rounds, in the paper's notation
  int steps;
  int rounds;
};

}  // namespace

void write_sccl_programs(const std::string& folder) {
  const std::shared_ptr<const Fabric> fabric = test::fabric_of("dgx1");
  const Instance instance = make_instance(*fabric);
  std::vector<Algorithm> algorithms{{AllToAll, 8, 2, 3}, {AllToAll, 8, 3, 3}, {AllToAll, 24, 8, 8}};
  for (int chunks = 1; chunks <= 6; ++chunks) {
    algorithms.push_back({AllGather, chunks, chunks + 1, chunks + 1});
    algorithms.push_back({AllReduce, 8 * chunks, 2 * chunks + 2, 2 * chunks + 2});
  }
  for (const Algorithm& one : algorithms) {
    const int chunks = one.chunks / sccl_chunk_factor(one.collective, fabric->ranks());
    const CollectiveSteps found =
        solve_collective_steps(instance, one.collective, chunks, one.steps, one.rounds);
    StepPlan plan{.instance = instance, .demand = found.demand, .copy = found.copies};
    // Plans have schedules of the inverse on reversed hops.
    if (found.reductions.steps() > 0) plan.reduce = reversed(found.reductions);
    for (const int instances : {1, 2, 4}) {
      const std::string name = fmt::format("{}-{}-{}-{}-r{}", to_string(one.collective), one.chunks,
                                           one.steps, one.rounds, instances);
      // SCCL's blocks serve one link each: nothing is fused.
      const SynthesizedProgram program = make_step_program(
          *fabric, plan, chunks,
          {.name = name, .collective = one.collective, .instances = instances, .fuse = false});
      write_text_file((std::filesystem::path(folder) / (name + ".xml")).string(),
                      to_msccl_xml(*program.program, {.end_bytes = XmlSettings::kNoEnd}));
    }
  }
}

}  // namespace cclgym::bench
