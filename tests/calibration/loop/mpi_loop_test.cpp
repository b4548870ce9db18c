// The application loop with a real OpenMPI, on this computer.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "calibration/loop/loop_policy_testing.hpp"
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

TEST_CASE("a loop on this machine with a learned trigger", "[calibration][mpi]") {
  const TemporaryFolder folder;
  const TemporaryFile prior(
      "ranks,nodes,collective,size_bytes,algorithm,segment_bytes,time_us_median\n"
      "2,1,allreduce,65536,openmpi-default,0,100\n2,1,allreduce,65536,ring,0,95\n",
      "prior.csv");
  const TemporaryFile file("name: here\nseconds: 3\ncompute: 0ms\nprior: " + prior.path() +
                               "\ncalls: [{collective: allreduce, sizes: 64KiB}]\n",
                           "loop.yaml");
  LoopConfig config = load_loop_config(file.path());
  // An alarm after each pause, whatever the calls show.
  config.trigger = {.units = 1, .threshold = 1, .confirm = 1, .pause = 4};
  config.trigger->weights.resize(learned_trigger_weights(1));
  config.trigger->weights.back() = 2;
  const LoopRecord record =
      run_loop(config, plan_loop(config),
               {"mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle",
                "1", "-n", "2"},
               "", folder / "part.csv", {.begun = [] {}, .progress = [](double) {}});
  REQUIRE(record.agreement.size() == 2);
  std::vector<std::int64_t> alarms;
  for (const LoopHappening& one : record.happenings) {
    if (one.what == "alarm" && one.label == kAgentLane) alarms.push_back(one.call);
  }
  REQUIRE(alarms.size() > 2);
  CHECK(alarms[0] == 0);
  for (std::size_t i = 1; i < alarms.size(); ++i) CHECK(alarms[i] - alarms[i - 1] >= 5);
}

TEST_CASE("a loop with a trained policy: its tables come from this process, and all ranks follow",
          "[calibration][mpi]") {
  const TemporaryFolder folder;
  const TrainingEnvironment where = loop_environment(
      "fabric: {name: ethernet, servers: 4}, actions: openmpi, workload: {name: sweep, "
      "collectives: "
      "[allreduce, broadcast], sizes: 64KiB}");
  const PolicyFile policy = loop_policy_file(where, 5);
  const TemporaryFile prior(
      "ranks,nodes,collective,size_bytes,algorithm,segment_bytes,time_us_median\n"
      "4,1,allreduce,65536,openmpi-default,0,100\n4,1,allreduce,65536,ring,0,95\n"
      "4,1,broadcast,65536,openmpi-default,0,100\n4,1,broadcast,65536,binomial-tree,0,95\n",
      "prior.csv");
  const TemporaryFile file("name: here\nseconds: 4\ncompute: 0ms\nprior: " + prior.path() +
                               "\ncalls:\n  - {collective: allreduce, sizes: 64KiB}\n"
                               "  - {collective: broadcast, sizes: 64KiB}\n"
                               "policy: {file: p}\n",
                           "loop.yaml");
  const LoopConfig config = load_loop_config(file.path());
  const LoopPlan plan = plan_loop(config, &policy);
  const std::vector<std::uint16_t> first = plan.chooser->table();
  const std::uint64_t decisions = plan.chooser->decisions();
  const LoopRecord record =
      run_loop(config, plan,
               {"mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle",
                "1", "-n", "4"},
               "", folder / "part.csv", {.begun = [] {}, .progress = [](double) {}});
  REQUIRE(record.agreement.size() == 3);
  const LoopAgreement& own = record.agreement.back();
  CHECK(own.lane == kPolicyLane);
  CHECK(own.off.empty());
  CHECK(own.calls > 30);
  // The process saw the calls of all ranks, and its tables became theirs. The last one may be equal
  // to the first: it depends on measured times.
  CHECK(plan.chooser->decisions() >= decisions + PolicyChooser::kCallsToSettle);
  CHECK(own.changes >= 1);
  for (const LoopRow& row : record.rows) {
    const MpiConfig& blind = plan.calls[static_cast<std::size_t>(row.call)]
                                 .configs[first[static_cast<std::size_t>(row.call)]];
    const std::string text = mpi_config_text(row.algorithm, row.segment_bytes);
    if (row.lane == kPolicyFrozenLane) {
      CHECK(text == mpi_config_text(blind.algorithm, blind.segment_bytes));
    }
  }
  const LoopResults results = loop_results(record, config.start);
  CHECK(std::ranges::count(results.comparisons, kPolicyLane, &LoopComparison::subject) >= 4);
}

}  // namespace cclgym::test
