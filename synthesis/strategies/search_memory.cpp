#include "synthesis/strategies/search_memory.hpp"

namespace cclgym::synthesis {

StepAnswer SearchMemory::recall(CollectiveKind collective, const StepTriple& triple) const {
  for (const DecidedTriple& one : decided) {
    if (one.collective != collective || !(one.triple == triple)) continue;
    if (!one.found) return {.status = SatResult::Unsatisfiable};
    return {.status = SatResult::Satisfiable, .schedule = one.schedule};
  }
  return {};
}

void SearchMemory::keep(CollectiveKind collective, const StepTriple& triple,
                        const StepAnswer& answer) {
  // A newer answer replaces one whose schedule did not pass the check.
  std::erase_if(decided, [&](const DecidedTriple& one) {
    return one.collective == collective && one.triple == triple;
  });
  decided.push_back({.collective = collective,
                     .triple = triple,
                     .found = answer.status == SatResult::Satisfiable,
                     .schedule = answer.schedule});
  if (on_added) on_added();
}

}  // namespace cclgym::synthesis
