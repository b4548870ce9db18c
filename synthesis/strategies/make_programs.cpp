#include "synthesis/strategies/make_programs.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "collectives/compiler/compile.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/index.hpp"
#include "synthesis/lowering/load_audit.hpp"
#include "synthesis/lowering/path_program.hpp"
#include "synthesis/lowering/schedule_program.hpp"
#include "synthesis/lowering/tree_program.hpp"

namespace cclgym::synthesis {

namespace {

ProgramForm form_of(const ProgramRequest& request) {
  return {.name = request.name,
          .collective = request.collective,
          .root = request.root,
          .group = request.group};
}

std::shared_ptr<const ThreadBlockProgram> compiled(const Program& program,
                                                   const ProgramRequest& request) {
  CompileOptions options = lowered_compile_options(request.fuse);
  options.instances = request.instances;
  auto result = std::make_shared<const ThreadBlockProgram>(compile(program, options));
  if (const VerifyReport report = verify(*result); !report.ok) {
    throw std::logic_error(
        fmt::format("program '{}' is wrong: {}", program.name, report.problems.front()));
  }
  return result;
}

void require_plan(const std::string& problem, const std::string& name) {
  if (!problem.empty()) {
    throw std::logic_error(fmt::format("program '{}' differs from its plan: {}", name, problem));
  }
}

SynthesizedProgram common(const ProgramRequest& request) {
  SynthesizedProgram result;
  result.name = request.name;
  result.collective = request.collective;
  result.root = request.root;
  result.optimal = request.optimal;
  result.instances = request.instances;
  return result;
}

double slowest_hop_s(const Instance& instance) {
  double slowest = 0;
  for (const Hop& hop : instance.hops) slowest = std::max(slowest, hop.latency_s);
  return slowest;
}

// Latency of the slowest edge of a tree: the sum over its links.
double slowest_edge_s(const Fabric& fabric, const FlowGraph& graph, const TreePacking& packing) {
  double slowest = 0;
  for (const Tree& tree : packing.trees) {
    for (const TreeEdge& edge : tree.edges) {
      double latency_s = 0;
      int here = edge.source;
      const auto pass = [&](int next) {
        for (const Link& link : fabric.links()) {
          if (link.source == graph.devices[at(here)] && link.target == graph.devices[at(next)]) {
            latency_s += link.latency_s;
            break;
          }
        }
        here = next;
      };
      for (const int node : edge.through) pass(node);
      pass(edge.target);
      slowest = std::max(slowest, latency_s);
    }
    break;  // trees have equal edges on all but the most irregular fabrics
  }
  return slowest;
}

// Rounds in which the busiest link carries its load.
Rational rounds_of_loads(const std::vector<std::int64_t>& loads, const Fabric& fabric,
                         double unit_Bps) {
  Rational rounds{0};
  for (std::size_t k = 0; k < loads.size(); ++k) {
    if (loads[k] == 0) continue;
    const auto units = static_cast<std::int64_t>(fabric.links()[k].capacity_Bps() / unit_Bps + 0.5);
    rounds = std::max(rounds, Rational(loads[k], units));
  }
  return rounds;
}

}  // namespace

SynthesizedProgram make_step_program(const Fabric& fabric, StepPlan plan, int chunks,
                                     const ProgramRequest& request) {
  const HopChannels channels{.per_hop = request.max_channels, .fabric = &fabric};
  const ProgramForm form = form_of(request);
  Program traced =
      plan.reduce && plan.copy
          ? lower_all_reduce(plan.instance, form, chunks, *plan.reduce, *plan.copy, channels)
          : lower_schedule(plan.instance, form, chunks, plan.reduce ? *plan.reduce : *plan.copy,
                           channels);
  SynthesizedProgram result = common(request);
  int rounds = 0;
  result.steps = 0;
  for (const auto& schedule : {plan.reduce, plan.copy}) {
    if (!schedule) continue;
    result.steps += schedule->steps();
    rounds += schedule->total_rounds();
  }
  require_plan(audit_limits(link_loads(traced, fabric), plan.instance, rounds), request.name);
  result.rounds = Rational(rounds);
  result.chunks = chunks * sccl_chunk_factor(request.collective, plan.demand.ranks);
  result.latency_s = slowest_hop_s(plan.instance);
  result.unit_Bps = plan.instance.unit_Bps;
  result.program = compiled(traced, request);
  result.plan = std::make_shared<const Plan>(std::move(plan));
  return result;
}

SynthesizedProgram make_tree_program(const Fabric& fabric, TreePlan plan,
                                     const ProgramRequest& request) {
  const ProgramForm form = form_of(request);
  const TreeOptions options{.channels = request.max_channels};
  const TreePacking& first = plan.outward ? *plan.outward : *plan.inward;
  const Program traced =
      plan.inward && plan.outward
          ? lower_trees(plan.graph, &fabric, form, *plan.outward, *plan.inward, options)
          : lower_trees(plan.graph, &fabric, form, first, options);
  std::vector<std::int64_t> planned(fabric.links().size(), 0);
  SynthesizedProgram result = common(request);
  result.steps = 0;
  for (const bool inward : {true, false}) {
    const auto& packing = inward ? plan.inward : plan.outward;
    if (!packing) continue;
    const auto loads = planned_link_loads(plan.graph, fabric, *packing, inward);
    for (std::size_t k = 0; k < loads.size(); ++k) planned[k] += loads[k];
    result.steps += packing->depth();
    result.latency_s = std::max(result.latency_s, slowest_edge_s(fabric, plan.graph, *packing));
  }
  const std::vector<std::int64_t> loads = link_loads(traced, fabric);
  require_plan(audit_loads(loads, planned, fabric), request.name);
  result.rounds = rounds_of_loads(loads, fabric, plan.graph.unit_Bps);
  // The parts of a root; AllReduce cuts the buffer into those of all roots.
  const bool all_roots = request.collective == CollectiveKind::AllReduce;
  std::int64_t parts = 0;
  for (const Tree& tree : first.trees) {
    if (all_roots || tree.root == first.trees.front().root) parts += tree.count;
  }
  result.chunks = static_cast<int>(parts);
  result.pipelined = true;
  result.unit_Bps = plan.graph.unit_Bps;
  result.program = compiled(traced, request);
  result.plan = std::make_shared<const Plan>(std::move(plan));
  return result;
}

SynthesizedProgram make_path_program(const Fabric& fabric, TreePlan plan, int parts,
                                     const ProgramRequest& request) {
  const TreePacking& paths = *plan.outward;
  const Program traced =
      lower_paths(plan.graph, &fabric, form_of(request), paths, parts, request.max_channels);
  SynthesizedProgram result = common(request);
  const std::vector<std::int64_t> loads = link_loads(traced, fabric);
  require_plan(audit_loads(loads, planned_link_loads(plan.graph, fabric, paths), fabric),
               request.name);
  result.steps = paths.depth();
  result.rounds = rounds_of_loads(loads, fabric, plan.graph.unit_Bps);
  const int members =
      request.group.empty() ? fabric.ranks() : static_cast<int>(std::ssize(request.group));
  result.chunks = parts * sccl_chunk_factor(request.collective, members);
  result.latency_s = slowest_edge_s(fabric, plan.graph, paths);
  result.pipelined = true;
  result.unit_Bps = plan.graph.unit_Bps;
  result.program = compiled(traced, request);
  result.plan = std::make_shared<const Plan>(std::move(plan));
  return result;
}

}  // namespace cclgym::synthesis
