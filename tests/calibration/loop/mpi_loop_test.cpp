// The application loop with a real OpenMPI, on this computer.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calibration/loop/loop_policy_testing.hpp"
#include "calibration/loop/loop_results.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

LoopRecord loop_here(const LoopConfig& config, const LoopPlan& plan,
                     const TemporaryFolder& folder) {
  return run_loop(config, plan,
                  {"mpirun", "--allow-run-as-root", "--oversubscribe", "--mca",
                   "mpi_yield_when_idle", "1", "-n", std::to_string(plan.ranks)},
                  "", folder / "part.csv", {.begun = [] {}, .progress = [](double) {}});
}

// Plays loops, each twice as long as the one before, until one has had the time for all that a test
// looks for: the number of calls in a second depends on the machine. The longest one takes over
// eight minutes.
void play_until(LoopConfig& config, const std::function<bool()>& play) {
  for (config.seconds = 2; !play() && config.seconds < 512; config.seconds *= 2) {
  }
}

std::int64_t made_changes(const LoopRecord& record) {
  return std::ranges::count(record.happenings, "later", &LoopHappening::label);
}

std::vector<std::int64_t> alarms_of(const LoopRecord& record) {
  std::vector<std::int64_t> alarms;
  for (const LoopHappening& one : record.happenings) {
    if (one.what == "alarm" && one.label == kAgentLane) alarms.push_back(one.call);
  }
  return alarms;
}

}  // namespace

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
  const TemporaryFile file("name: here\nseconds: 2\ncompute: 0ms\nprior: " + prior.path() +
                               "\ncalls:\n  - {collective: allreduce, sizes: 64KiB}\n"
                               "  - {collective: broadcast, sizes: 64KiB, root: 1}\n"
                               "events: [{at: 1, label: later, run: 'true'}]\n",
                           "loop.yaml");
  LoopConfig config = load_loop_config(file.path());
  const LoopPlan plan = plan_loop(config);
  LoopRecord record;
  play_until(config, [&] {
    record = loop_here(config, plan, folder);
    return record.rows.size() > 100 && record.agreement.size() == 2 &&
           record.agreement[1].changes >= 1 && record.agreement[1].calls > 30 &&
           record.agreement[1].off.empty() && made_changes(record) == 1 &&
           loop_results(record, config.start).comparisons.size() >= 2;
  });
  REQUIRE(record.rows.size() > 100);
  REQUIRE(record.agreement.size() == 2);
  const LoopAgreement& agent = record.agreement[1];
  CHECK(agent.lane == kAgentLane);
  CHECK(agent.off.empty());
  CHECK(agent.changes >= 1);
  CHECK(agent.calls > 30);
  const LoopResults results = loop_results(record, config.start);
  CHECK(results.comparisons.size() >= 2);
  CHECK(made_changes(record) == 1);
  for (const LoopRow& row : record.rows) CHECK(row.time_us > 0);
}

TEST_CASE("a loop on this machine with a learned trigger", "[calibration][mpi]") {
  const TemporaryFolder folder;
  const TemporaryFile prior(
      "ranks,nodes,collective,size_bytes,algorithm,segment_bytes,time_us_median\n"
      "2,1,allreduce,65536,openmpi-default,0,100\n2,1,allreduce,65536,ring,0,95\n",
      "prior.csv");
  const TemporaryFile file("name: here\nseconds: 2\ncompute: 0ms\nprior: " + prior.path() +
                               "\ncalls: [{collective: allreduce, sizes: 64KiB}]\n",
                           "loop.yaml");
  LoopConfig config = load_loop_config(file.path());
  // An alarm after each pause, whatever the calls show.
  config.trigger = {.units = 1, .threshold = 1, .confirm = 1, .pause = 4};
  config.trigger->weights.resize(learned_trigger_weights(1));
  config.trigger->weights.back() = 2;
  LoopRecord record;
  std::vector<std::int64_t> alarms;
  // The first call is lost for the trigger if some rank's report of it comes too late.
  play_until(config, [&] {
    record = loop_here(config, plan_loop(config), folder);
    alarms = alarms_of(record);
    return alarms.size() > 2 && alarms[0] == 0;
  });
  REQUIRE(record.agreement.size() == 2);
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
  const TemporaryFile file("name: here\nseconds: 2\ncompute: 0ms\nprior: " + prior.path() +
                               "\ncalls:\n  - {collective: allreduce, sizes: 64KiB}\n"
                               "  - {collective: broadcast, sizes: 64KiB}\n"
                               "policy: {file: p}\n",
                           "loop.yaml");
  LoopConfig config = load_loop_config(file.path());
  LoopPlan plan;
  std::vector<std::uint16_t> first;
  std::uint64_t decisions = 0;
  LoopRecord record;
  play_until(config, [&] {
    plan = plan_loop(config, &policy);
    first = plan.chooser->table();
    decisions = plan.chooser->decisions();
    record = loop_here(config, plan, folder);
    return record.agreement.size() == 3 && record.agreement.back().calls > 30 &&
           record.agreement.back().changes >= 1 && record.agreement.back().off.empty() &&
           plan.chooser->decisions() >= decisions + PolicyChooser::kCallsToSettle &&
           std::ranges::count(loop_results(record, config.start).comparisons, kPolicyLane,
                              &LoopComparison::subject) >= 4;
  });
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
