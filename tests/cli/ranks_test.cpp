// Tests of cclgym run under mpirun: the same bytes, refusals, kills. Cases that are hidden by [.]
// run only with the thorough tests.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
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
#include "support/waiting.hpp"

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

// An experiment of 288 cells, and its results.
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

// Limits in these tests that a stopped process reaches, but a slow one does not.
const std::string kPatience = "20s";

// A sweep under mpirun that has its first results.
struct StartedSweep {
  StartedSweep(std::size_t ranks, std::size_t node_size, const Words& more = {})
      : words(mpirun(ranks, node_size, sweep.args(more))), ranks_(ranks) {
    start();
  }

  // Starts the run from the beginning, and again if it ended before it was seen at work.
  void start() {
    bool works = false;
    while (!works) {
      fs::remove_all(sweep.folder / "out");
      run = start_words(words, log);
      REQUIRE(comes_true([&] {
        found = processes_of(run);
        works = found.simulators.size() == ranks_ && sweep.saved() > 0;
        return works || has_ended(run);
      }));
      if (!works) REQUIRE(exit_code_of(run) == 0);
    }
  }

  // Exit code of the run.
  [[nodiscard]] int code() const { return exit_code_of(run); }

  // Exit code of the run, which may end by MPI_Abort. mpirun of OpenMPI 4.1.4 sometimes crashes
  // after that, or waits for itself forever, in PMIx_server_finalize. Its ranks have ended then,
  // and it is killed.
  [[nodiscard]] int code_of_abort() const {
    for (const pid_t rank : found.ranks) {
      if (!ends(rank)) return -1;
    }
    if (!comes_true([this] { return has_ended(run); }, kLooksAtMpirun)) ::kill(run, SIGKILL);
    return exit_code_of(run);
  }

  // Exit code of the run, in which `fault` ends processes. A run may be faster than the fault: then
  // it is started again.
  template <class Fault>
  [[nodiscard]] int code_after(const Fault& fault,
                               int (StartedSweep::*code_of)() const = &StartedSweep::code) {
    int code = 0;
    for (int attempt = 0; attempt < kAttempts && code == 0; ++attempt) {
      if (attempt > 0) start();
      fault();
      code = (this->*code_of)();
      if (code == 0) CHECK((read_file(sweep.folder / "out/results.csv") == sweep.bytes));
    }
    return code;
  }

  static constexpr int kAttempts = 20;
  static constexpr int kLooksAtMpirun = 12'000;
  Sweep sweep{8};
  Words words;
  std::string log = sweep.folder / "log";
  pid_t run = -1;
  Processes found;

 private:
  std::size_t ranks_;
};

// Number of cells that a run's last message says have no result.
std::size_t lost_cells(const std::string& text) {
  const std::size_t end = text.find(" of 288 cells ha");
  if (end == std::string::npos) return 0;
  return std::stoul(text.substr(text.rfind("; ", end) + 2));
}

TEST_CASE("killed and stopped simulators, killed hosts: the run goes on",
          "[cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  StartedSweep started(6, 2, {"--cell-timeout", "5s"});
  const Sweep& sweep = started.sweep;
  Random random(16);
  const auto chosen_of = [&random](const std::vector<pid_t>& processes) {
    const auto last = static_cast<std::int64_t>(processes.size()) - 1;
    return processes[static_cast<std::size_t>(random.integer(0, last))];
  };
  const auto disturb = [&] {
    constexpr std::size_t kCellsBetween = 12;
    std::size_t faults = 0;
    for (int round = 0; round < (thorough() ? 20 : 6); ++round) {
      const Processes now = processes_of(started.run);
      const std::size_t saved = sweep.saved();
      // Two of the three hosts are killed; the tasks go on with the third one.
      const bool host = round == 2 || round == 4;
      const std::vector<pid_t>& processes = host ? now.hosts : now.simulators;
      if (processes.empty()) continue;
      const int signal = !host && round % 3 == 1 ? SIGSTOP : SIGKILL;
      if (::kill(chosen_of(processes), signal) == 0) ++faults;
      REQUIRE(comes_true(
          [&] { return sweep.saved() >= saved + kCellsBetween || has_ended(started.run); }));
    }
    return faults;
  };
  std::size_t faults = disturb();
  int code = exit_code_of(started.run);
  // A run that was over after few faults is started again.
  for (int attempt = 1; attempt < StartedSweep::kAttempts && faults < 3; ++attempt) {
    started.start();
    faults = disturb();
    code = exit_code_of(started.run);
  }
  CHECK(faults >= 3);
  const std::string text = read_file(started.log);
  INFO(text);
  // A cell was killed twice, or was in a simulator that was stopped, or the machine is slow.
  if (code != 0) {
    CHECK((code == 3 || code == 70));
    CHECK(text.find(" no result: the same command runs ") != std::string::npos);
    CHECK(lost_cells(text) > 0);
    CHECK(sweep.saved() == 288 - lost_cells(text));
    REQUIRE(run_program(sweep.args()).code == 0);
  }
  CHECK((read_file(sweep.folder / "out/results.csv") == sweep.bytes));
}

TEST_CASE("a killed rank ends the run; a resume on other ranks computes only what is missing",
          "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  for (const std::size_t victim : {std::size_t{0}, std::size_t{2}}) {
    StartedSweep started(4, 0);
    const Sweep& sweep = started.sweep;
    const int code = started.code_after([&] {
      REQUIRE(started.found.ranks.size() == 4);
      ::kill(started.found.ranks[victim], SIGKILL);
    });
    CHECK(code > 0);
    for (const pid_t process : started.found.simulators) CHECK(ends(process));
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
  StartedSweep started(2, 0);
  const int code = started.code_after([&] {
    REQUIRE(!started.found.ranks.empty());
    ::kill(started.found.ranks[0], SIGTERM);
  });
  CHECK(code == 143);
  const std::string text = read_file(started.log);
  INFO(text);
  CHECK(text.find(" of 288 cells done; the same command resumes\n") != std::string::npos);
}

TEST_CASE("a stopped simulator is killed at the limit of its cell", "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  // A simulator that is stopped between two cells loses none: then another run is tried.
  StartedSweep started(4, 2, {"--cell-timeout", kPatience});
  const Sweep& sweep = started.sweep;
  const int code = started.code_after([&] { ::kill(started.found.simulators[0], SIGSTOP); });
  const std::string text = read_file(started.log);
  INFO(text);
  CHECK(code == 3);
  CHECK(text.find("took longer than 20 s; 1 of ") != std::string::npos);
  CHECK(sweep.saved() == 287);
  CHECK(run_program(sweep.args()).code == 0);
  CHECK((read_file(sweep.folder / "out/results.csv") == sweep.bytes));
}

// True for the end of a run whose silent ranks were aborted after all work was done, with the codes
// that code_of_abort() has for faults of mpirun.
bool ended_by_abort(int code) {
  return code == 0 || code == 128 + SIGSEGV || code == 128 + SIGKILL;
}

TEST_CASE("a stopped node's cells go to others, and the run ends", "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const StartedSweep started(6, 2, {"--peer-timeout", kPatience});
  const Processes& found = started.found;
  REQUIRE(found.ranks.size() == 6);
  // Rank 4 speaks for the last node.
  const auto is_child = [&](pid_t process) { return found.parents.at(process) == found.ranks[4]; };
  const auto child = std::find_if(found.hosts.begin(), found.hosts.end(), is_child);
  REQUIRE(child != found.hosts.end());
  const pid_t host = *child;
  for (const pid_t simulator : found.simulators) {
    if (found.parents.at(simulator) == host) ::kill(simulator, SIGSTOP);
  }
  ::kill(found.ranks[4], SIGSTOP);
  ::kill(host, SIGSTOP);
  CHECK(ended_by_abort(started.code_of_abort()));
  INFO(read_file(started.log));
  CHECK((read_file(started.sweep.folder / "out/results.csv") == started.sweep.bytes));
  CHECK(fs::exists(started.sweep.folder / "out/report.html"));
  for (const pid_t process : found.simulators) CHECK(ends(process));
}

TEST_CASE("a stopped host's cells go to others, those of a stopped simulator to a new one",
          "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  for (const bool host : {true, false}) {
    const StartedSweep started(4, 2, {"--peer-timeout", kPatience});
    REQUIRE(started.found.hosts.size() == 2);
    ::kill(host ? started.found.hosts[1] : started.found.simulators[1], SIGSTOP);
    CHECK(ended_by_abort(started.code_of_abort()));
    INFO(read_file(started.log));
    CHECK((read_file(started.sweep.folder / "out/results.csv") == started.sweep.bytes));
  }
}

TEST_CASE("a stopped rank that speaks for no node does not keep the run from ending",
          "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const StartedSweep started(6, 2, {"--peer-timeout", kPatience});
  REQUIRE(started.found.ranks.size() == 6);
  ::kill(started.found.ranks[5], SIGSTOP);
  CHECK(ended_by_abort(started.code_of_abort()));
  INFO(read_file(started.log));
  CHECK((read_file(started.sweep.folder / "out/results.csv") == started.sweep.bytes));
}

TEST_CASE("the node of rank 0 is stopped: the others end the run", "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  StartedSweep started(6, 2, {"--peer-timeout", kPatience});
  const Processes& found = started.found;
  const Sweep& sweep = started.sweep;
  const int code = started.code_after(
      [&] {
        REQUIRE(found.ranks.size() == 6);
        for (const pid_t simulator : found.simulators) {
          if (found.parents.at(found.parents.at(simulator)) == found.ranks[0]) {
            ::kill(simulator, SIGSTOP);
          }
        }
        for (const pid_t host : found.hosts) {
          if (found.parents.at(host) == found.ranks[0]) ::kill(host, SIGSTOP);
        }
        ::kill(found.ranks[0], SIGSTOP);
      },
      &StartedSweep::code_of_abort);
  CHECK(code > 0);
  const std::string text = read_file(started.log);
  INFO(text);
  CHECK(count_of(text, "error: rank 0 was silent for 20 s; the same command resumes\n") == 1);
  for (const pid_t process : found.simulators) CHECK(ends(process));
  CHECK(run_program(sweep.args()).code == 0);
  CHECK((read_file(sweep.folder / "out/results.csv") == sweep.bytes));
}

}  // namespace
}  // namespace cclgym::test
