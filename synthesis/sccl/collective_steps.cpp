#include "synthesis/sccl/collective_steps.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/sccl/inversion.hpp"

namespace cclgym::synthesis {
namespace {

/// The reversed instance with hops in the order of their ends and limits in the order of their
/// hops: that of a fabric whose links all go both ways is then the instance itself, and a search on
/// it takes the same course.
struct OrderedReversal {
  Instance instance{};
  std::vector<int> hops{};  ///< index in the original instance, by index
};

OrderedReversal ordered_reversal(const Instance& instance) {
  const Instance reversed = instance.reversed();
  OrderedReversal result;
  result.instance = {.name = instance.name, .ranks = instance.ranks, .unit_Bps = instance.unit_Bps};
  result.hops.resize(instance.hops.size());
  std::iota(result.hops.begin(), result.hops.end(), 0);
  std::stable_sort(result.hops.begin(), result.hops.end(), [&](int one, int other) {
    const Hop& first = reversed.hops[at(one)];
    const Hop& second = reversed.hops[at(other)];
    return std::tie(first.source, first.target) < std::tie(second.source, second.target);
  });
  std::vector<int> number(instance.limits.size(), -1);
  for (const int index : result.hops) {
    Hop hop = reversed.hops[at(index)];
    for (int& limit : hop.limits) {
      if (number[at(limit)] < 0) {
        number[at(limit)] = static_cast<int>(result.instance.limits.size());
        result.instance.limits.push_back(reversed.limits[at(limit)]);
        result.instance.limits.back().hops.clear();
      }
      limit = number[at(limit)];
    }
    std::sort(hop.limits.begin(), hop.limits.end());
    result.instance.add_hop(std::move(hop));
  }
  return result;
}

}  // namespace

StepAnswer solve_reduction_steps(const Instance& instance, const Demand& demand, int steps,
                                 int rounds, const StepSearchOptions& options) {
  const OrderedReversal reversal = ordered_reversal(instance);
  StepAnswer answer = solve_steps(reversal.instance, demand, steps, rounds, options);
  if (answer.status != SatResult::Satisfiable) return answer;
  for (StepSend& send : answer.schedule.sends) send.hop = reversal.hops[at(send.hop)];
  answer.schedule = reversed(answer.schedule);
  const std::string problem = check_reduction(instance, demand, answer.schedule);
  if (!problem.empty()) throw std::logic_error("an inverted step schedule is wrong: " + problem);
  return answer;
}

CollectiveSteps solve_collective_steps(const Instance& instance, CollectiveKind collective,
                                       int chunks, int steps, int rounds, int root,
                                       const StepSearchOptions& options) {
  const bool twice = collective == CollectiveKind::AllReduce;
  if (twice && (steps % 2 != 0 || rounds % 2 != 0)) {
    throw UserError(fmt::format(
        "{} steps and {} rounds of an AllReduce; expected even numbers, because it is a "
        "ReduceScatter and an AllGather of equal steps and rounds",
        steps, rounds));
  }
  if (twice) {
    steps /= 2;
    rounds /= 2;
  }
  const CollectiveKind copied = twice ? CollectiveKind::AllGather : inverse_collective(collective);
  CollectiveSteps result;
  result.demand = make_demand(copied, instance.ranks, chunks, root);
  if (twice || copied != collective) {
    StepAnswer answer = solve_reduction_steps(instance, result.demand, steps, rounds, options);
    result.status = answer.status;
    result.reductions = std::move(answer.schedule);
    if (!twice || result.status != SatResult::Satisfiable) return result;
  }
  StepAnswer answer = solve_steps(instance, result.demand, steps, rounds, options);
  result.status = answer.status;
  result.copies = std::move(answer.schedule);
  return result;
}

}  // namespace cclgym::synthesis
