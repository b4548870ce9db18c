#include "workloads/generators/parallel_plan.hpp"

#include <string>
#include <utility>

namespace cclgym {

namespace {

class PlanWriter {
 public:
  explicit PlanWriter(JobGraph& job) : job_(job) {}

  std::int32_t communicator(std::string name) {
    job_.communicators.push_back({.name = std::move(name)});
    for (auto& groups : job_.groups_of) groups.push_back(-1);
    return static_cast<std::int32_t>(job_.communicators.size()) - 1;
  }

  void group(std::int32_t communicator, std::vector<std::int32_t> ranks) {
    const auto index = static_cast<std::int32_t>(job_.groups.size());
    for (const std::int32_t rank : ranks) job_.groups_of[at(rank)][at(communicator)] = index;
    job_.groups.push_back({communicator, std::move(ranks)});
  }

 private:
  JobGraph& job_;
};

}  // namespace

PlanCommunicators add_plan(JobGraph& job, const ParallelPlan& plan, bool shared_embedding) {
  job.ranks = static_cast<std::int32_t>(plan.ranks());
  job.groups_of.assign(at(job.ranks), {});
  PlanWriter writer(job);
  PlanCommunicators all;
  // Ranks of one group, made by `rank_of` from an index in it.
  const auto members = [](std::int64_t count, auto&& rank_of) {
    std::vector<std::int32_t> ranks;
    ranks.reserve(at(count));
    for (std::int64_t i = 0; i < count; ++i) ranks.push_back(rank_of(i));
    return ranks;
  };
  if (plan.tp > 1) {
    all.tp = writer.communicator("tp");
    for (std::int64_t p = 0; p < plan.pp; ++p) {
      for (std::int64_t d = 0; d < plan.dp; ++d) {
        writer.group(all.tp, members(plan.tp, [&](auto t) { return plan.rank(t, d, p); }));
      }
    }
  }
  // Each parallelism inside dp: its number of ranks, their distance, and its communicator.
  const auto inside_dp = [&](std::string name, std::int64_t count, std::int64_t distance) {
    if (count < 2) return std::int32_t{-1};
    const std::int32_t communicator = writer.communicator(std::move(name));
    for (std::int64_t p = 0; p < plan.pp; ++p) {
      for (std::int64_t first = 0; first < plan.dp; ++first) {
        if (first / distance % count != 0) continue;
        for (std::int64_t t = 0; t < plan.tp; ++t) {
          writer.group(communicator, members(count, [&](auto i) {
                         return plan.rank(t, first + i * distance, p);
                       }));
        }
      }
    }
    return communicator;
  };
  all.dp = inside_dp("dp", plan.dp, 1);
  if (plan.ep > 1) {
    all.ep = inside_dp("ep", plan.ep, 1);
    all.edp = inside_dp("edp", plan.dp / plan.ep, plan.ep);
  } else {
    all.edp = all.dp;
  }
  if (plan.pp > 1) {
    all.pp = writer.communicator("pp");
    if (shared_embedding) all.embd = writer.communicator("embd");
    for (std::int64_t d = 0; d < plan.dp; ++d) {
      for (std::int64_t t = 0; t < plan.tp; ++t) {
        writer.group(all.pp, members(plan.pp, [&](auto p) { return plan.rank(t, d, p); }));
        if (all.embd < 0) continue;
        writer.group(all.embd, {plan.rank(t, d, 0), plan.rank(t, d, plan.pp - 1)});
      }
    }
  }
  return all;
}

}  // namespace cclgym
