#include "synthesis/strategies/synthesize.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "synthesis/strategies/request.hpp"
#include "synthesis/strategies/work.hpp"

namespace cclgym::synthesis {

namespace {

// The distance of the best program from the bound, if a search stopped before its end.
void note_gap(SynthesisWork& work) {
  Synthesis& made = work.made;
  if (!work.unfinished || made.programs.empty() || made.min_rounds == Rational(0)) return;
  Rational best = made.programs.front().rounds_per_chunk();
  for (const SynthesizedProgram& program : made.programs) {
    best = std::min(best, program.rounds_per_chunk());
  }
  if (best <= made.min_rounds) return;
  made.notes.push_back(fmt::format(
      "The search stopped early: the best program has R/C {}, {:.1f} % more than the bound {}.",
      text_of(best), 100 * (boost::rational_cast<double>(best / made.min_rounds) - 1),
      text_of(made.min_rounds)));
}

// Puts all programs in the order of their steps, and their rounds into the widest link unit.
void finish(SynthesisWork& work) {
  Synthesis& made = work.made;
  double widest_Bps = work.graph.unit_Bps;
  for (const SynthesizedProgram& program : made.programs) {
    widest_Bps = std::max(widest_Bps, program.unit_Bps);
  }
  made.min_rounds = work.bound() * Rational(work.units_in(widest_Bps));
  if (work.record) {
    made.certificates = work.record->take(widest_Bps);
    for (const std::string& note : work.record->notes()) made.notes.push_back(note);
  }
  for (SynthesizedProgram& program : made.programs) {
    program.rounds *= Rational(work.units_in(widest_Bps), work.units_in(program.unit_Bps));
    program.unit_Bps = widest_Bps;
    if (made.min_steps == 0 || program.steps > made.min_steps) continue;
    program.optimal = program.optimal.empty() ? "latency" : "latency and bandwidth";
  }
  std::stable_sort(
      made.programs.begin(), made.programs.end(),
      [](const SynthesizedProgram& a, const SynthesizedProgram& b) { return a.steps < b.steps; });
  note_gap(work);
}

}  // namespace

Synthesis synthesize(const Fabric& fabric, CollectiveKind collective,
                     const SynthesisOptions& options) {
  check_request(fabric, collective, options);
  SynthesisWork work(fabric, collective, options);
  find_bounds(work);
  if (options.pareto) add_step_programs(work);
  if (options.throughput) add_tree_programs(work);
  finish(work);
  return std::move(work.made);
}

}  // namespace cclgym::synthesis
