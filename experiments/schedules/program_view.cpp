#include "experiments/schedules/program_view.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "core/counted.hpp"
#include "core/index.hpp"
#include "core/units.hpp"
#include "synthesis/lowering/load_audit.hpp"

namespace cclgym {

namespace {

using namespace synthesis;

// Arrows of the sends of each step; `reversed`: the schedule runs backwards on reversed hops.
void add_steps(ScheduleView& view, const StepPlan& plan, const StepSchedule& schedule,
               bool reversed) {
  const int steps = schedule.steps();
  const int shown = plan.demand.chunks.front().source;
  std::vector<std::map<std::pair<int, int>, ScheduleArrow>> arrows(at(steps));
  std::vector<int> sends(at(steps), 0);
  for (const StepSend& send : schedule.sends) {
    const int step = reversed ? steps - 1 - send.step : send.step;
    const Hop& hop = plan.instance.hops[at(send.hop)];
    const auto [one, inserted] = arrows[at(step)].try_emplace(
        {hop.source, hop.target}, ScheduleArrow{hop.source, hop.target, 0, ScheduleArrow::kMuted});
    ++one->second.chunks;
    if (plan.demand.chunks[at(send.chunk)].source == shown) one->second.colour = 0;
    ++sends[at(step)];
  }
  for (int step = 0; step < steps; ++step) {
    const int rounds = schedule.rounds[at(reversed ? steps - 1 - step : step)];
    auto& list = view.steps.emplace_back();
    for (const auto& [ends, one] : arrows[at(step)]) list.push_back(one);
    view.step_captions.push_back(
        fmt::format("step {}: {}, {}", view.steps.size(), counted(rounds, "round"),
                    counted(sends[at(step)], reversed ? "reduction" : "message")));
  }
}

// Levels of all trees of the first root.
void add_levels(ScheduleView& view, const TreePacking& packing, bool inward) {
  if (packing.trees.empty()) return;
  const int root = packing.trees.front().root;
  std::vector<std::vector<ScheduleArrow>> levels;
  int number = 0;
  for (const Tree& tree : packing.trees) {
    if (tree.root != root) continue;
    std::map<int, int> depth{{root, 0}};
    for (const TreeEdge& edge : tree.edges) {
      const int level = depth.at(edge.source);
      depth[edge.target] = level + 1;
      if (levels.size() <= at(level)) levels.resize(at(level) + 1);
      levels[at(level)].push_back({inward ? edge.target : edge.source,
                                   inward ? edge.source : edge.target, static_cast<int>(tree.count),
                                   number});
    }
    ++number;
  }
  if (inward) std::reverse(levels.begin(), levels.end());
  for (auto& level : levels) {
    view.steps.push_back(std::move(level));
    view.step_captions.push_back(fmt::format("{} of rank {}'s {} tree{}, level {}",
                                             inward ? "reduction" : "copy", root, number,
                                             number == 1 ? "" : "s", view.steps.size()));
  }
}

void add_loads(ScheduleView& view, const SynthesizedProgram& program, const Fabric& fabric) {
  const std::vector<std::int64_t> loads = link_loads(*program.program, fabric);
  const double rounds = boost::rational_cast<double>(program.rounds) * program.instances;
  for (std::size_t k = 0; k < loads.size(); ++k) {
    if (loads[k] == 0) continue;
    const Link& link = fabric.links()[k];
    const double capacity = rounds * link.capacity_Bps() / program.unit_Bps;
    view.loads.push_back({.link = fabric.nodes()[at(link.source)].name + " -> " +
                                  fabric.nodes()[at(link.target)].name,
                          .share = static_cast<double>(loads[k]) / capacity,
                          .text = fmt::format("{}, {:.0f} %", counted(loads[k], "chunk"),
                                              100 * static_cast<double>(loads[k]) / capacity)});
  }
  std::stable_sort(view.loads.begin(), view.loads.end(),
                   [](const ScheduleLoad& a, const ScheduleLoad& b) { return a.share > b.share; });
}

}  // namespace

ScheduleView view_of(const SynthesizedProgram& program, const Fabric& fabric) {
  ScheduleView view{.name = program.name,
                    .ranks = fabric.ranks(),
                    .ranks_per_node = fabric.ranks_per_server().value_or(fabric.ranks())};
  view.facts = {
      {"chunks C", fmt::format("{}", program.chunks)},
      {"steps S", fmt::format("{}", program.steps)},
      {"rounds R", text_of(program.rounds)},
      {"rounds per chunk", text_of(program.rounds_per_chunk())},
      {"optimal for", program.optimal.empty() ? "not proven" : program.optimal},
      {"channels", fmt::format("{}", program.program->channels)},
      {"thread blocks per GPU", fmt::format("{}", program.program->most_resident_blocks())}};
  if (const auto* steps = std::get_if<StepPlan>(program.plan.get())) {
    view.steps_title = "Steps";
    const int shown = steps->demand.chunks.front().source;
    view.legend = fmt::format(
        "Coloured arrows carry chunks {} rank {}, grey ones only others. Wider arrows carry more.",
        !steps->reduce ? "that start on"
        : steps->copy  ? "reduced to, and copied from,"
                       : "reduced to",
        shown);
    if (steps->reduce) add_steps(view, *steps, *steps->reduce, true);
    if (steps->copy) add_steps(view, *steps, *steps->copy, false);
  } else if (const auto* trees = std::get_if<TreePlan>(program.plan.get())) {
    view.steps_title = "Trees of one rank, by level";
    view.legend = "Every tree has a colour. Wider arrows stand for several equal trees.";
    if (trees->inward) add_levels(view, *trees->inward, true);
    if (trees->outward) add_levels(view, *trees->outward, false);
  }
  add_loads(view, program, fabric);
  return view;
}

}  // namespace cclgym
