#include <fmt/format.h>

#include "synthesis/lowering/path_program.hpp"
#include "synthesis/strategies/make_programs.hpp"
#include "synthesis/strategies/work.hpp"

namespace cclgym::synthesis {

namespace {

constexpr int kMaxPathParts = 12;     // per pair of ranks: more have too many messages
const Rational kWorthAPart(97, 100);  // rounds must fall to this part of the best so far

}  // namespace

// Few parts need few messages, many come nearer to the shares of the flow.
void add_flow_programs(SynthesisWork& work) {
  if (!work.exchange) {
    work.made.notes.push_back("There are no programs of flows without the bound of AllToAll.");
    return;
  }
  Rational best{0};
  for (int parts = 1; parts <= kMaxPathParts; ++parts) {
    TreePlan plan{.graph = work.graph};
    plan.outward = rounded_paths(work.graph, work.exchange->paths, parts);
    const Rational rounds = rounds_of_paths(work.graph, *plan.outward) / parts;
    const bool better = best == Rational(0) || rounds < best * kWorthAPart ||
                        (rounds == work.copy_bound && best != rounds);
    if (!better) continue;
    best = rounds;
    SynthesizedProgram program = make_path_program(work.fabric, std::move(plan), parts,
                                                   work.request(fmt::format("flows-{}", parts)));
    work.set_optimal(program);
    work.say(fmt::format("{}: {} channels, {} steps, {} thread blocks per GPU", program.name,
                         program.program->channels, program.steps,
                         program.program->most_resident_blocks()));
    work.made.programs.push_back(std::move(program));
    if (rounds == work.copy_bound) break;
  }
}

}  // namespace cclgym::synthesis
