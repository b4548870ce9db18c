// Folding of a job: ranks that behave the same are simulated once.
#pragma once

#include "workloads/timing/call_flows.hpp"
#include "workloads/timing/rank_classes.hpp"

namespace cclgym {

/// Finds classes of ranks, process groups and links that behave the same when every call is one
/// flow (JobDetail::Calls): an equitable partition, by colour refinement. Ranks of one class run
/// the same program in groups of the same classes; groups of one class make the same calls among
/// ranks of the same classes, and load links of the same classes equally; links of one class have
/// the same capacity, and are loaded equally by groups of each class. By induction over the dates
/// of a run, all ranks of a class do everything at the same dates, because max-min fair rates are
/// unique.
///
/// Calls on communicators of the same shape (equal positions of their GPUs within cluster nodes,
/// and routes over links of equal kinds, capacities and latencies) are simulated once.
[[nodiscard]] RankClasses fold_ranks(const JobGraph& job, GroupViews& views, CallFlows& flows);

}  // namespace cclgym
