#include "workloads/timing/rank_classes.hpp"

#include <numeric>

namespace cclgym {

CallType call_type_of(const JobOp& op) {
  if (op.kind != JobOpKind::Collective) return {.bytes = op.bytes};
  return {op.collective, op.bytes, op.root};
}

RankClasses single_ranks(std::int32_t ranks) {
  RankClasses classes;
  classes.class_of.resize(at(ranks));
  std::iota(classes.class_of.begin(), classes.class_of.end(), 0);
  classes.actor = classes.class_of;
  classes.size.assign(at(ranks), 1);
  return classes;
}

}  // namespace cclgym
