// The schedules of SCCL's Tables 4 and 5.
#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"
#include "synthesis/published_instances.hpp"
#include "synthesis/sccl/collective_steps.hpp"
#include "synthesis/sccl/inversion.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;
using enum CollectiveKind;

struct Row {
  CollectiveKind collective;
  int chunks;  ///< in the paper's notation, as are steps and rounds
  int steps;
  int rounds;
};

// Enough for every row: SCCL's solver took minutes for some of them.
constexpr std::int64_t kMaxConflicts = 1'000;

void check_row(const Instance& instance, const Row& row) {
  const int chunks = row.chunks / sccl_chunk_factor(row.collective, instance.ranks);
  const CollectiveSteps found = solve_collective_steps(
      instance, row.collective, chunks, row.steps, row.rounds, 0, {.max_conflicts = kMaxConflicts});
  INFO(instance.name << ' ' << to_string(row.collective) << " (" << row.chunks << ", " << row.steps
                     << ", " << row.rounds << ")");
  REQUIRE(found.status == SatResult::Satisfiable);
  CHECK(found.steps() == row.steps);
  CHECK(found.total_rounds() <= row.rounds);
  if (row.collective == AllReduce) {
    CHECK(check_reduction(instance, found.demand, found.reductions) == "");
  }
  CHECK(check_schedule(instance, found.demand, found.copies) == "");
}

TEST_CASE("SCCL's Table 4: every schedule of DGX-1 is found", "[synthesis][sccl]") {
  const Instance instance = dgx1_instance();
  for (const Row& row :
       {Row{AllGather, 1, 2, 2}, Row{AllGather, 6, 7, 7}, Row{AllGather, 6, 3, 7},
        Row{AllGather, 2, 2, 3}, Row{AllReduce, 8, 4, 4}, Row{AllReduce, 32, 10, 10},
        Row{AllReduce, 48, 14, 14}, Row{AllReduce, 48, 6, 14}, Row{AllReduce, 16, 4, 6},
        Row{Broadcast, 2, 2, 2}, Row{Broadcast, 18, 5, 5}, Row{Gather, 6, 7, 7},
        Row{Gather, 6, 3, 7}, Row{AllToAll, 8, 3, 3}, Row{AllToAll, 8, 2, 3},
        Row{AllToAll, 24, 8, 8}, Row{AllToAll, 24, 2, 8}}) {
    check_row(instance, row);
  }
}

TEST_CASE("SCCL's Table 5: every schedule of Z52 is found", "[synthesis][sccl]") {
  const Instance instance = ring_instance(8, "z52");
  for (const Row& row : {Row{AllGather, 1, 4, 4}, Row{AllGather, 2, 7, 7}, Row{AllReduce, 8, 8, 8},
                         Row{AllReduce, 16, 14, 14}, Row{AllReduce, 16, 8, 14},
                         Row{Broadcast, 2, 4, 4}, Row{Broadcast, 4, 5, 5}, Row{Broadcast, 6, 6, 6},
                         Row{Broadcast, 8, 7, 7}, Row{Broadcast, 10, 8, 8}, Row{Gather, 1, 4, 4},
                         Row{Gather, 2, 4, 7}, Row{AllToAll, 8, 4, 8}}) {
    check_row(instance, row);
  }
}

TEST_CASE("collectives of reductions have the steps of their inverses", "[synthesis][sccl]") {
  const Instance instance = dgx1_instance();
  const CollectiveSteps scatter = solve_collective_steps(instance, ReduceScatter, 2, 2, 3);
  REQUIRE(scatter.status == SatResult::Satisfiable);
  CHECK(scatter.copies.steps() == 0);
  CHECK(check_reduction(instance, scatter.demand, scatter.reductions) == "");
  const CollectiveSteps reduce = solve_collective_steps(instance, Reduce, 2, 2, 2, 5);
  REQUIRE(reduce.status == SatResult::Satisfiable);
  CHECK(check_reduction(instance, reduce.demand, reduce.reductions) == "");
  CHECK(solve_collective_steps(instance, ReduceScatter, 3, 2, 4).status ==
        SatResult::Unsatisfiable);
  CHECK(contains(thrown([&] { return solve_collective_steps(instance, AllReduce, 1, 3, 4); }),
                 "3 steps and 4 rounds of an AllReduce"));
}

}  // namespace
}  // namespace cclgym::test
