// Tests of cclgym run under mpirun: the same bytes, refusals, kills. Cases that are hidden by [.]
// run only with the thorough tests.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "cli/mpirun.hpp"
#include "cli/processes.hpp"
#include "cli/program.hpp"
#include "core/random.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/temporary_folder.hpp"
#include "support/thorough.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;
// Cells of about a millisecond.
std::string small_cells() {
  return experiment_with({{"fabrics", "[dgx1, ndv4]"},
                          {"algorithms", "[ring, tree, all-pairs]"},
                          {"protocols", "[LL, Simple]"},
                          {"channels", "[1, 2, 4]"},
                          {"sizes", "1KiB..16MiB x4"},
                          {"engine", "flow"}});
}

TEST_CASE("the same bytes for any number of ranks, jobs and shards", "[cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", small_cells());
  REQUIRE(run_program({"run", "e.yaml", "--out", "one", "--jobs", "1"}, folder.path()).code == 0);
  const std::string bytes = read_file(folder / "one/results.csv");
  const std::string report = read_file(folder / "one/report.html");
  REQUIRE(run_program({"run", "e.yaml", "--out", "two", "--jobs", "2"}, folder.path()).code == 0);
  CHECK((read_file(folder / "two/results.csv") == bytes));
  struct Ranks {
    std::size_t ranks;
    std::size_t node_size;
  };
  const std::vector<Ranks> all{{16, 4}, {4, 0}, {16, 0}, {6, 2}, {64, 0}};
  for (std::size_t i = 0; i < (thorough() ? all.size() : 1); ++i) {
    const auto [ranks, node_size] = all[i];
    const std::string out = std::to_string(i);
    const Ended ended = run_ranks(ranks, node_size, {"run", "e.yaml", "--out", out}, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out.find("results   " + out + "/results.csv") != std::string::npos);
    CHECK(count_of(ended.err, " 100 %") == 1);
    CHECK((read_file(folder / (out + "/results.csv")) == bytes));
    CHECK((read_file(folder / (out + "/report.html")) == report));
    CHECK_FALSE(fs::exists(folder / (out + "/results.csv.ahead")));
  }
  if (thorough()) {
    // Shards 1 to 5 in local runs, 6 and 7 on ranks.
    for (int shard = 1; shard <= 7; ++shard) {
      const Words args{
          "run", "e.yaml", "--out", "shards", "--shard", std::to_string(shard) + "/7", "--quiet"};
      const Ended ended =
          shard <= 5 ? run_program(args, folder.path()) : run_ranks(3, 0, args, folder.path());
      INFO(ended.err);
      REQUIRE(ended.code == 0);
    }
    REQUIRE(run_program({"merge", "shards", "--quiet"}, folder.path()).code == 0);
    CHECK((read_file(folder / "shards/results.csv") == bytes));
  }
}

TEST_CASE("mistakes end all ranks with one message from rank 0", "[cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", small_cells());
  fs::create_directory(folder / "other");
  write_file(folder / "other/e.yaml", experiment_with({{"sizes", "2KiB"}}));
  fs::create_directory(folder / "empty");
  const auto refuses = [&](const Words& words, const std::string& message) {
    check_refused(words, folder.path(), message);
  };
  const auto with_second = [&](const Words& second) {
    Words words = mpirun(2, 1, {"run", "e.yaml", "--out", "out"});
    words.insert(words.end(), second.begin(), second.end());
    return words;
  };
  refuses(with_second({":", "-n", "1", "-wdir", folder / "other", cclgym_path(), "run", "e.yaml",
                       "--out", "out"}),
          ", rank 0 has experiment ");
  refuses(mpirun(2, 0, {"simulate", "dgx1"}),
          "error: cclgym simulate runs in one process, but 2 ranks were started; start it without "
          "mpirun");
  // Ranks of one node.
  Words other_arguments = mpirun(1, 0, {"run", "e.yaml", "--out", "out"});
  other_arguments.insert(other_arguments.end(), {":", "-n", "1", cclgym_path(), "run", "e.yaml",
                                                 "--engine", "simgrid", "--out", "out"});
  refuses(other_arguments, "was started with other arguments than rank 0");
  if (thorough()) {
    Words other_command = mpirun(1, 0, {"run", "e.yaml", "--out", "out"});
    other_command.insert(other_command.end(),
                         {":", "-n", "1", cclgym_path(), "simulate", "--fabric", "dgx1"});
    refuses(other_command, "error: cclgym simulate runs in one process");
    refuses(with_second({":", "-n", "1", "-wdir", folder / "empty", cclgym_path(), "run", "e.yaml",
                         "--out", "out"}),
            ": 'e.yaml' does not exist");
    refuses(mpirun(3, 0, {"run", "missing.yaml"}), "error: 'missing.yaml' does not exist");
    refuses(mpirun(3, 1, {"run", "e.yaml", "--out", "e.yaml/out"}),
            "error: 'e.yaml/out': the folder cannot be made: Not a directory");
    refuses(mpirun(2, 0, {"run", "e.yaml", "--cel-timeout", "1s"}),
            "did you mean '--cell-timeout'");
    const Ended help = run_ranks(3, 0, {"run", "--help"}, folder.path());
    CHECK(help.code == 0);
    CHECK(count_of(help.out, "Usage: cclgym run") == 1);
  }
}

// An experiment of some seconds, and its results.
struct Sweep {
  explicit Sweep(std::size_t channels) {
    std::string list = "1";
    for (std::size_t i = 2; i <= channels; ++i) list += ", " + std::to_string(i);
    write_file(folder / "e.yaml", experiment_with({{"fabrics", "[{name: ring, gpus: 24}]"},
                                                   {"channels", "[" + list + "]"},
                                                   {"sizes", "1MiB..256MiB x2"},
                                                   {"threads", "[64, 128, 256, 512]"}}));
    REQUIRE(run_program({"run", "e.yaml", "--out", "one", "--quiet"}, folder.path()).code == 0);
    bytes = read_file(folder / "one/results.csv");
  }
  [[nodiscard]] Words args(const Words& more = {}) const {
    Words words{"run", folder / "e.yaml", "--out", folder / "out", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // Number of finished cells that are on disk.
  [[nodiscard]] std::size_t saved() const {
    const std::string rows =
        fs::exists(folder / "out/results.csv") ? read_file(folder / "out/results.csv") : "";
    const std::string ahead = fs::exists(folder / "out/results.csv.ahead")
                                  ? read_file(folder / "out/results.csv.ahead")
                                  : "";
    std::set<std::string> found;
    std::istringstream lines(rows + ahead);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t key = line.find("ring_gpus=24/");
      if (key != std::string::npos) found.insert(line.substr(key));
    }
    return found.size();
  }
  TemporaryFolder folder;
  std::string bytes;
};

// Waits until a run has simulators and its first results.
Processes wait_for_work(const Sweep& sweep, pid_t run, std::size_t simulators) {
  for (int i = 0; i < 1500; ++i) {
    const Processes found = processes_of(run);
    if (found.simulators.size() == simulators && sweep.saved() > 0) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL("the run does not start");
  return {};
}

// A sweep under mpirun that has its first results.
struct StartedSweep {
  StartedSweep(std::size_t ranks, std::size_t node_size, const Words& more = {})
      : run(start_words(mpirun(ranks, node_size, sweep.args(more)), log)),
        found(wait_for_work(sweep, run, ranks)) {}

  Sweep sweep{8};
  std::string log = sweep.folder / "log";
  pid_t run;
  Processes found;
};

TEST_CASE("killed and stopped simulators, killed hosts: the run goes on",
          "[cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const StartedSweep started(6, 2, {"--cell-timeout", "2s"});
  const auto& [sweep, log, run, found] = started;
  Random random(16);
  const auto chosen_of = [&random](const std::vector<pid_t>& processes) {
    const auto last = static_cast<std::int64_t>(processes.size()) - 1;
    return processes[static_cast<std::size_t>(random.integer(0, last))];
  };
  std::size_t faults = 0;
  for (int round = 0; round < (thorough() ? 20 : 6); ++round) {
    const Processes now = processes_of(run);
    // Two of the three hosts are killed; the tasks go on with the third one.
    const bool host = round == 2 || round == 4;
    const std::vector<pid_t>& processes = host ? now.hosts : now.simulators;
    if (processes.empty()) continue;
    const int signal = !host && round % 3 == 1 ? SIGSTOP : SIGKILL;
    if (::kill(chosen_of(processes), signal) == 0) ++faults;
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  CHECK(faults >= 3);
  const int code = exit_code_of(run, 60);
  INFO(read_file(log));
  if (code != 0) {  // a cell was killed twice, or was in a simulator that was stopped
    CHECK((code == 3 || code == 70));
    CHECK(read_file(log).find(" no result: the same command runs ") != std::string::npos);
    CHECK(sweep.saved() >= 288 - faults);
    REQUIRE(run_program(sweep.args()).code == 0);
  }
  CHECK((read_file(sweep.folder / "out/results.csv") == sweep.bytes));
}

TEST_CASE("a killed rank ends the run; a resume on other ranks computes only what is missing",
          "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const Sweep sweep(8);
  const std::string log = sweep.folder / "log";
  for (const std::size_t victim : {std::size_t{0}, std::size_t{2}}) {
    fs::remove_all(sweep.folder / "out");
    const pid_t run = start_words(mpirun(4, 0, sweep.args()), log);
    const Processes found = wait_for_work(sweep, run, 4);
    REQUIRE(found.ranks.size() == 4);
    ::kill(found.ranks[victim], SIGKILL);
    CHECK(exit_code_of(run, 20) > 0);
    for (const pid_t process : found.simulators) {
      CHECK(ends_within(process, 2));
    }
    const std::size_t saved = sweep.saved();
    CHECK(saved > 0);
    CHECK((sweep.bytes.starts_with(read_file(sweep.folder / "out/results.csv"))));
    Words args{"run", sweep.folder / "e.yaml", "--out", sweep.folder / "out"};
    const Ended resumed = victim == 0 ? run_program(args) : run_ranks(3, 1, args, ".");
    INFO(resumed.err);
    CHECK(resumed.code == 0);
    if (saved < 288) {
      CHECK(resumed.err.find("resuming: " + std::to_string(saved) + " of 288 cells are done") !=
            std::string::npos);
    }
    CHECK((read_file(sweep.folder / "out/results.csv") == sweep.bytes));
  }
}

TEST_CASE("rank 0 says on SIGTERM how to resume", "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const StartedSweep started(2, 0);
  const auto& [sweep, log, run, found] = started;
  REQUIRE(!found.ranks.empty());
  ::kill(found.ranks[0], SIGTERM);
  CHECK(exit_code_of(run, 20) == 143);
  const std::string text = read_file(log);
  INFO(text);
  CHECK(text.find(" of 288 cells done; the same command resumes\n") != std::string::npos);
}

TEST_CASE("a stopped simulator is killed at the limit of its cell", "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  int code = 0;
  // A simulator that is stopped between two cells loses none: then another run is tried.
  for (int attempt = 0; attempt < 8 && code == 0; ++attempt) {
    const StartedSweep started(4, 2, {"--cell-timeout", "2s"});
    const auto& [sweep, log, run, found] = started;
    ::kill(found.simulators[0], SIGSTOP);
    code = exit_code_of(run, 60);
    const std::string text = read_file(log);
    INFO(text);
    if (code != 0) {
      CHECK(text.find("took longer than 2 s; 1 of ") != std::string::npos);
      CHECK(sweep.saved() == 287);
      CHECK(run_program(sweep.args()).code == 0);
    }
    CHECK((read_file(sweep.folder / "out/results.csv") == sweep.bytes));
  }
  CHECK(code == 3);
}

// True for the end of a run whose silent ranks were aborted after all work was done. mpirun of
// OpenMPI 4.1.4 sometimes crashes itself after that, in PMIx_server_finalize.
bool ended_by_abort(int code) { return code == 0 || code == 128 + SIGSEGV; }

TEST_CASE("a stopped node's cells go to others, and the run ends", "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const StartedSweep started(6, 2, {"--peer-timeout", "2s"});
  const auto& [sweep, log, run, found] = started;
  REQUIRE(found.ranks.size() == 6);
  // Rank 4 speaks for the last node.
  const auto is_child = [rank = found.ranks[4]](pid_t process) {
    return parent_of(process) == rank;
  };
  const auto child = std::find_if(found.hosts.begin(), found.hosts.end(), is_child);
  REQUIRE(child != found.hosts.end());
  const pid_t host = *child;
  for (const pid_t simulator : found.simulators) {
    if (parent_of(simulator) == host) ::kill(simulator, SIGSTOP);
  }
  ::kill(found.ranks[4], SIGSTOP);
  ::kill(host, SIGSTOP);
  CHECK(ended_by_abort(exit_code_of(run, 60)));
  INFO(read_file(log));
  CHECK((read_file(sweep.folder / "out/results.csv") == sweep.bytes));
  CHECK(fs::exists(sweep.folder / "out/report.html"));
  for (const pid_t process : found.simulators) CHECK(ends_within(process, 2));
}

TEST_CASE("a stopped host's cells go to others, those of a stopped simulator to a new one",
          "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  for (const bool host : {true, false}) {
    const StartedSweep started(4, 2, {"--peer-timeout", "2s"});
    const auto& [sweep, log, run, found] = started;
    REQUIRE(found.hosts.size() == 2);
    ::kill(host ? found.hosts[1] : found.simulators[1], SIGSTOP);
    CHECK(ended_by_abort(exit_code_of(run, 60)));
    INFO(read_file(log));
    CHECK((read_file(sweep.folder / "out/results.csv") == sweep.bytes));
  }
}

TEST_CASE("a stopped rank that speaks for no node does not keep the run from ending",
          "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const StartedSweep started(6, 2, {"--peer-timeout", "2s"});
  const auto& [sweep, log, run, found] = started;
  REQUIRE(found.ranks.size() == 6);
  ::kill(found.ranks[5], SIGSTOP);
  CHECK(ended_by_abort(exit_code_of(run, 60)));
  INFO(read_file(log));
  CHECK((read_file(sweep.folder / "out/results.csv") == sweep.bytes));
}

TEST_CASE("the node of rank 0 is stopped: the others end the run", "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const StartedSweep started(6, 2, {"--peer-timeout", "2s"});
  const auto& [sweep, log, run, found] = started;
  REQUIRE(found.ranks.size() == 6);
  for (const pid_t simulator : found.simulators) {
    if (parent_of(parent_of(simulator)) == found.ranks[0]) ::kill(simulator, SIGSTOP);
  }
  for (const pid_t host : found.hosts) {
    if (parent_of(host) == found.ranks[0]) ::kill(host, SIGSTOP);
  }
  ::kill(found.ranks[0], SIGSTOP);
  CHECK(exit_code_of(run, 30) > 0);
  const std::string text = read_file(log);
  INFO(text);
  CHECK(count_of(text, "error: rank 0 was silent for 2 s; the same command resumes\n") == 1);
  for (const pid_t process : found.simulators) CHECK(ends_within(process, 2));
  CHECK(run_program(sweep.args()).code == 0);
  CHECK((read_file(sweep.folder / "out/results.csv") == sweep.bytes));
}

}  // namespace
}  // namespace cclgym::test
