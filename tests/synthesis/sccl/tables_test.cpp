// The schedules of SCCL's Tables 4 and 5.
#include <ctime>

#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/thorough.hpp"
#include "synthesis/sccl/solve_steps.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;
using enum CollectiveKind;

Instance dgx1() {
  FabricSpec spec;
  spec.name = "dgx1";
  return make_instance(*make_fabric(spec));
}

/// Z52: the tables' bounds are those of a ring of eight GPUs.
Instance z52() {
  std::vector<std::vector<std::int64_t>> units(8, std::vector<std::int64_t>(8, 0));
  for (std::size_t rank = 0; rank < 8; ++rank) {
    units[rank][(rank + 1) % 8] = 1;
    units[(rank + 1) % 8][rank] = 1;
  }
  return link_instance("z52", units);
}

struct Row {
  CollectiveKind collective;
  int chunks;  ///< in the paper's notation, as are steps and rounds
  int steps;
  int rounds;
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void check_row(const Instance& instance, const Row& row) {
  const bool twice = row.collective == AllReduce;
  const CollectiveKind copied = twice ? AllGather : inverse_collective(row.collective);
  const int chunks = row.chunks / sccl_chunk_factor(row.collective, instance.ranks);
  const Demand demand = make_demand(copied, instance.ranks, chunks);
  const double start = cpu_seconds();
  const StepAnswer answer = solve_steps(instance, demand, twice ? row.steps / 2 : row.steps,
                                        twice ? row.rounds / 2 : row.rounds);
  const double seconds = cpu_seconds() - start;
  INFO(instance.name << ' ' << to_string(row.collective) << " (" << row.chunks << ", " << row.steps
                     << ", " << row.rounds << "): " << seconds << " s, group "
                     << answer.group_order);
  REQUIRE(answer.status == SatResult::Satisfiable);
  CHECK(check_schedule(instance, demand, answer.schedule).empty());
  if (thorough()) CHECK(seconds < 1);
}

TEST_CASE("SCCL's Table 4: every schedule of DGX-1 is found", "[synthesis][sccl][thorough]") {
  const Instance instance = dgx1();
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

TEST_CASE("SCCL's Table 5: every schedule of Z52 is found", "[synthesis][sccl][thorough]") {
  const Instance instance = z52();
  for (const Row& row : {Row{AllGather, 1, 4, 4}, Row{AllGather, 2, 7, 7}, Row{AllReduce, 8, 8, 8},
                         Row{AllReduce, 16, 14, 14}, Row{AllReduce, 16, 8, 14},
                         Row{Broadcast, 2, 4, 4}, Row{Broadcast, 4, 5, 5}, Row{Broadcast, 6, 6, 6},
                         Row{Broadcast, 8, 7, 7}, Row{Broadcast, 10, 8, 8}, Row{Gather, 1, 4, 4},
                         Row{Gather, 2, 4, 7}, Row{AllToAll, 8, 4, 8}}) {
    check_row(instance, row);
  }
}

}  // namespace
}  // namespace cclgym::test
