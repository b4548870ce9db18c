// The application loop with a real OpenMPI, on this computer.
#include <algorithm>
#include <string>

#include "calibration/loop/loop_results.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {

TEST_CASE("a loop on this machine: ranks learn, change tables together and keep their results",
          "[calibration][mpi]") {
  const TemporaryFolder folder;
  // The prior is wrong on purpose: the slowest algorithms look best.
  const TemporaryFile prior(
      "ranks,nodes,collective,size_bytes,algorithm,segment_bytes,time_us_median\n"
      "4,1,allreduce,65536,openmpi-default,0,100\n4,1,allreduce,65536,naive,0,90\n"
      "4,1,allreduce,65536,ring,0,95\n4,1,allreduce,65536,recursive-doubling,0,95\n"
      "4,1,broadcast,65536,openmpi-default,0,100\n4,1,broadcast,65536,naive,0,90\n"
      "4,1,broadcast,65536,binomial-tree,0,95\n",
      "prior.csv");
  const TemporaryFile file("name: here\nseconds: 4\ncompute: 0ms\nprior: " + prior.path() +
                               "\ncalls:\n  - {collective: allreduce, sizes: 64KiB}\n"
                               "  - {collective: broadcast, sizes: 64KiB, root: 1}\n"
                               "events: [{at: 1, label: later, run: 'true'}]\n",
                           "loop.yaml");
  const LoopConfig config = load_loop_config(file.path());
  const LoopPlan plan = plan_loop(config);
  const LoopRecord record =
      run_loop(config, plan,
               {"mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle",
                "1", "-n", "4"},
               "", folder / "part.csv", {.begun = [] {}, .progress = [](double) {}});
  REQUIRE(record.rows.size() > 100);
  REQUIRE(record.agreement.size() == 2);
  const LoopAgreement& agent = record.agreement[1];
  CHECK(agent.lane == kAgentLane);
  CHECK(agent.off.empty());
  CHECK(agent.changes >= 1);
  CHECK(agent.calls > 30);
  const LoopResults results = loop_results(record, config.start);
  CHECK(results.comparisons.size() >= 2);
  CHECK(std::ranges::count(record.happenings, "later", &LoopHappening::label) == 1);
  for (const LoopRow& row : record.rows) CHECK(row.time_us > 0);
}

}  // namespace cclgym::test
