#include "synthesis/sccl/solve_steps.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/error.hpp"
#include "synthesis/sccl/encoding.hpp"

namespace cclgym::synthesis {
namespace {

/// One participant of the race: a restricted formula, or the full one.
struct Entrant {
  StepRestriction restriction{};
  int patience = 1;  ///< factor of its turns' conflicts
  std::unique_ptr<SatSolver> solver{};
  std::unique_ptr<StepEncoding> encoding{};

  [[nodiscard]] bool is_full() const {
    return restriction.group == nullptr && !restriction.shortest_paths;
  }
};

/// The largest groups that preserve the demand, at most one of each order.
std::vector<const InstanceGroup*> usable_groups(const std::vector<InstanceGroup>& groups,
                                                const Demand& demand) {
  constexpr std::size_t kMaxGroups = 2;
  std::vector<const InstanceGroup*> usable;
  for (const InstanceGroup& group : groups) {
    if (usable.size() == kMaxGroups) break;
    if (!usable.empty() && usable.back()->size() == group.size()) continue;
    if (chunk_permutations(demand, group)) usable.push_back(&group);
  }
  return usable;
}

std::vector<Entrant> make_entrants(const std::vector<InstanceGroup>& groups, const Demand& demand,
                                   const StepSearchOptions& options) {
  // Restricted schedules are found quickly or not at all: they get more conflicts per turn.
  constexpr int kPatience = 4;
  std::vector<Entrant> entrants;
  const std::vector<const InstanceGroup*> usable = usable_groups(groups, demand);
  const bool paths = std::any_of(demand.chunks.begin(), demand.chunks.end(),
                                 [](const auto& chunk) { return chunk.targets.size() == 1; });
  if (options.restricted && paths) {
    const InstanceGroup* group = usable.empty() ? nullptr : usable.front();
    entrants.push_back({.restriction = {group, true}, .patience = kPatience});
  }
  for (const InstanceGroup* group : usable) {
    entrants.push_back({.restriction = {group, false}, .patience = kPatience});
  }
  if (options.full) entrants.push_back({});
  return entrants;
}

void check_search(const Instance& instance, const Demand& demand, int steps, int rounds) {
  if (demand.ranks != instance.ranks) {
    throw UserError(fmt::format("the demand has {} ranks, but the instance has {}", demand.ranks,
                                instance.ranks));
  }
  if (steps < 1) throw UserError(fmt::format("{} steps; expected at least 1", steps));
  if (rounds < steps) {
    throw UserError(
        fmt::format("{} rounds for {} steps; expected at least one round per step", rounds, steps));
  }
}

/// True if some target is farther from its source than the number of steps.
bool too_far(const Instance& instance, const Demand& demand, int steps) {
  const std::vector<std::vector<int>> distance = instance.distances();
  for (const ChunkDemand& chunk : demand.chunks) {
    for (const int target : chunk.targets) {
      const int hops =
          distance[static_cast<std::size_t>(chunk.source)][static_cast<std::size_t>(target)];
      if (hops < 0 || hops > steps) return true;
    }
  }
  return false;
}

}  // namespace

StepAnswer solve_steps(const Instance& instance, const Demand& demand, int steps, int rounds,
                       const StepSearchOptions& options) {
  check_search(instance, demand, steps, rounds);
  if (too_far(instance, demand, steps)) return {.status = SatResult::Unsatisfiable};
  const std::vector<InstanceGroup> groups =
      options.restricted ? semiregular_groups(instance) : std::vector<InstanceGroup>{};
  std::vector<Entrant> entrants = make_entrants(groups, demand, options);
  constexpr int kFirstConflicts = 500;
  constexpr int kMaxConflicts = 1'000'000'000;
  const std::int64_t last = options.max_conflicts > 0 ? options.max_conflicts : kMaxConflicts;
  for (std::int64_t conflicts = kFirstConflicts; !entrants.empty() && conflicts <= last;
       conflicts *= 2) {
    for (std::size_t k = 0; k < entrants.size();) {
      Entrant& entrant = entrants[k];
      if (!entrant.solver) {
        entrant.solver = std::make_unique<SatSolver>();
        entrant.solver->set_seed(options.seed);
        entrant.encoding = std::make_unique<StepEncoding>(instance, demand, steps, rounds,
                                                          entrant.restriction, *entrant.solver);
      }
      if (options.deadline.over()) return {};
      entrant.solver->limit_conflicts(
          static_cast<int>(std::min<std::int64_t>(conflicts * entrant.patience, kMaxConflicts)));
      const SatResult result = entrant.solver->solve({}, options.deadline);
      if (result == SatResult::Satisfiable) {
        StepAnswer answer{.status = result, .schedule = entrant.encoding->schedule()};
        const InstanceGroup* group = entrant.restriction.group;
        if (group != nullptr) answer.group_order = static_cast<int>(group->size());
        const std::string problem = check_schedule(instance, demand, answer.schedule);
        if (!problem.empty() || answer.schedule.total_rounds() > rounds) {
          throw std::logic_error("the formula of a step schedule is wrong: " + problem);
        }
        return answer;
      }
      if (result == SatResult::Unsatisfiable) {
        if (entrant.is_full()) return {.status = result};
        entrants.erase(entrants.begin() + static_cast<std::ptrdiff_t>(k));
        continue;
      }
      ++k;
    }
  }
  return {};
}

SatResult prove_infeasible(const Instance& instance, const Demand& demand, int steps, int rounds,
                           UnsatCertificate& certificate, const StepSearchOptions& options) {
  check_search(instance, demand, steps, rounds);
  SatSolver solver;
  solver.set_seed(options.seed);
  solver.trace_proof();
  const StepEncoding encoding(instance, demand, steps, rounds, StepRestriction{}, solver);
  const SatResult result = solver.solve({}, options.deadline);
  if (result == SatResult::Unsatisfiable) {
    certificate.formula = solver.dimacs();
    certificate.proof = solver.close_proof();
  }
  return result;
}

std::string step_formula(const Instance& instance, const Demand& demand, int steps, int rounds) {
  check_search(instance, demand, steps, rounds);
  SatSolver solver;
  solver.trace_proof();  // the solver keeps the formula for proofs only
  const StepEncoding encoding(instance, demand, steps, rounds, StepRestriction{}, solver);
  return solver.dimacs();
}

}  // namespace cclgym::synthesis
