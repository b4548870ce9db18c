#include "synthesis/strategies/work.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "synthesis/strategies/request.hpp"
#include "synthesis/symmetry/automorphisms.hpp"

namespace cclgym::synthesis {

namespace {

constexpr int kMaxRanksOfExchange = 64;
constexpr double kMaxShareTime_s = 3;  // limit of the search for shares: most need 0.1 s

void set_bounds(SynthesisWork& work, const CutBound& copies, const CutBound& reductions) {
  work.copy_bound = copies.value;
  work.reduce_bound = reductions.value;
  if (work.record) work.record->cuts(copies, reductions);
}

// Optimal shares of the roots of an AllReduce, each of any size.
void find_shares(SynthesisWork& work) {
  if (work.fabric.ranks() > 2 * kMaxParetoRanks) return;
  try {
    work.shares = allreduce_shares(
        work.graph, {.group = work.options.group,
                     .deadline = work.deadline.within(kMinSolverTime_s, kMaxShareTime_s),
                     .max_iterations = work.options.max_iterations});
    if (work.record) work.record->shares(*work.shares);
  } catch (const UserError& error) {
    work.made.notes.push_back(fmt::format("No shares per root: {}", error.what()));
  }
}

void bound_exchange(SynthesisWork& work) {
  if (work.fabric.ranks() > kMaxRanksOfExchange) return;
  try {
    AllToAllOptions options{.group = work.options.group,
                            .deadline = work.deadline.within(kMinSolverTime_s)};
    // Symmetries need not keep the ranks of a group.
    if (work.options.group.empty()) {
      options.symmetries = automorphism_group(coloured_digraph(work.graph)).generators;
    }
    work.exchange = alltoall_flow(work.graph, options);
    work.copy_bound = work.exchange->rounds;
    if (work.record) work.record->lengths(*work.exchange);
  } catch (const UserError&) {
    work.made.notes.push_back("The bound on the rounds of AllToAll is not known exactly.");
  }
}

// The cut of SCCL between ranks, for Gather and Scatter: all chunks pass the links of the root.
void bound_root(SynthesisWork& work) {
  if (work.fabric.ranks() > kMaxParetoRanks) return;
  const Instance instance = make_instance(work.fabric);
  const RoundsCut cut = rounds_cut(instance, make_demand(copied(work.collective), instance.ranks, 1,
                                                         work.options.root, work.options.group));
  work.copy_bound = cut.rounds / Rational(work.units_in(instance.unit_Bps));
  if (work.record) work.record->rank_cut(instance, work.collective, cut);
}

}  // namespace

SynthesisWork::SynthesisWork(const Fabric& on, CollectiveKind kind, const SynthesisOptions& wanted)
    : fabric(on),
      collective(kind),
      options(wanted),
      deadline(wanted.time_limit_s, wanted.clock),
      graph(make_flow_graph(on)) {
  if (!wanted.certificates) return;
  record.emplace(on, graph, CertificateSubject{kind, wanted.root, wanted.group}, wanted.proofs);
}

void SynthesisWork::say(const std::string& sentence) const {
  if (options.on_progress) options.on_progress(sentence);
}

int SynthesisWork::members() const {
  return options.group.empty() ? fabric.ranks() : static_cast<int>(options.group.size());
}

Rational SynthesisWork::bound() const {
  const int factor = sccl_chunk_factor(collective, members());
  if (shares) return 1 / shares->algbw;
  if (is_composed(collective)) return (copy_bound + reduce_bound) / factor;
  return (is_inverted(collective) ? reduce_bound : copy_bound) / factor;
}

std::int64_t SynthesisWork::units_in(double unit_Bps) const {
  return static_cast<std::int64_t>(unit_Bps / graph.unit_Bps + 0.5);
}

ProgramRequest SynthesisWork::request(const std::string& variant) const {
  return {.name = fmt::format("{}{}-{}", options.prefix, to_string(collective), variant),
          .collective = collective,
          .root = options.root,
          .group = options.group,
          .fuse = options.fuse};
}

void SynthesisWork::set_optimal(SynthesizedProgram& program) const {
  const Rational least = bound() * Rational(units_in(program.unit_Bps));
  const bool bandwidth = least > Rational(0) && program.rounds_per_chunk() <= least;
  program.optimal = bandwidth ? "bandwidth" : "";
}

void find_bounds(SynthesisWork& work) {
  switch (copied(work.collective)) {
    case CollectiveKind::AllGather:
      set_bounds(work, allgather_bound(work.graph, work.options.group),
                 allgather_bound(work.graph.reversed(), work.options.group));
      if (is_composed(work.collective)) find_shares(work);
      break;
    case CollectiveKind::Broadcast:
      set_bounds(work, broadcast_bound(work.graph, work.options.root, work.options.group),
                 broadcast_bound(work.graph.reversed(), work.options.root, work.options.group));
      break;
    case CollectiveKind::AllToAll:
      bound_exchange(work);
      break;
    case CollectiveKind::Gather:
    case CollectiveKind::Scatter:
      bound_root(work);
      break;
    default:
      break;
  }
}

}  // namespace cclgym::synthesis
