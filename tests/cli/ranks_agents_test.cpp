// Tests of cclgym train and evaluate run under mpirun: the same bytes, kills, refusals. Cases that
// are hidden by [.] run only with the thorough tests.
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>
#include <string>
#include <vector>

#include "cli/mpirun.hpp"
#include "cli/processes.hpp"
#include "cli/program.hpp"
#include "core/random.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/netlab.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"
#include "support/thorough.hpp"
#include "support/waiting.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;

bool has_torch() { return fs::exists(build_path("cclgym-train")); }

// A training of some tenths of a second per seed, with `iterations` of each phase.
std::string small_training(int iterations, const std::string& seeds) {
  const std::string options =
      "{fabric: {name: ring, gpus: 4}, actions: stock-nccl, noise: stragglers, oracle: true,\n"
      " workload: {name: sweep, collectives: [allreduce], sizes: 1KiB..64KiB x8}, episode: 50}\n";
  return "name: small\ntrain:\n  - options: " + options +
         "evaluate:\n  - label: all\n    calls: 60\n    options: " + options +
         "agent: {encoder: [16], lstm: 8, head: 12, value: 16}\n" +
         fmt::format("warm_start: {{iterations: {0}}}\nppo: {{iterations: {0}, ", iterations) +
         "environments: 4, steps: 32, sequence: 8}\ntrigger: {streams: 2, calls: 100}\n"
         "evaluate_every: 7\nseeds: " +
         seeds +
         "\nvariants:\n  dqn: {algorithm: dqn, agent: {lstm: 0}, warm_start: {iterations: 0},\n"
         "        dqn: {replay: 600, batch: 32, updates: 8}, trigger: {streams: 0}, seeds: [5]}\n"
         "  plain: {value_prior: false, seeds: [1]}\n";
}

// The rows of metrics.csv without their processor time, which is the twelfth field.
std::string without_times(const std::string& csv) {
  std::string kept;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    int number = 0;
    for (std::string field; std::getline(fields, field, ',');) {
      if (++number != 12) kept += field + ",";
    }
    kept += "\n";
  }
  return kept;
}

// Files of a training that do not depend on where it ran.
std::string results_of(const std::string& folder, const std::vector<int>& seeds) {
  std::string all;
  for (const int seed : seeds) {
    const std::string own = folder + "/seed-" + std::to_string(seed);
    all += read_file(own + "/checkpoint.bin") + without_times(read_file(own + "/metrics.csv"));
    if (fs::exists(own + "/trigger.yaml")) all += read_file(own + "/trigger.yaml");
  }
  return all;
}

// The lines of standard output without processor times.
std::string without_processor_times(const std::string& out) {
  std::string kept;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" CPU seconds") == std::string::npos) kept += line + "\n";
  }
  return kept;
}

TEST_CASE("train makes the same agents for any number of ranks and threads",
          "[cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  SKIP_UNLESS(has_torch(), kNeedsTorch);
  const TemporaryFolder folder;
  write_file(folder / "t.yaml", small_training(5, "[1, 2, 3]"));
  const Ended local = run_program({"train", "t.yaml", "--out", "out"}, folder.path());
  INFO(local.err);
  REQUIRE(local.code == 0);
  const std::string results = results_of(folder / "out", {1, 2, 3});
  struct Ranks {
    std::size_t ranks;
    std::size_t node_size;
    const char* threads;
  };
  const std::vector<Ranks> all{{3, 2, "2"}, {2, 0, "1"}, {4, 1, "1"}, {7, 3, "3"}, {16, 4, "1"}};
  for (std::size_t i = 0; i < (thorough() ? all.size() : 1); ++i) {
    fs::remove_all(folder / "out");
    const Ended ended =
        run_ranks(all[i].ranks, all[i].node_size,
                  {"train", "t.yaml", "--out", "out", "--threads", all[i].threads}, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK(without_processor_times(ended.out) == without_processor_times(local.out));
    CHECK(count_of(ended.err, "seed 2: the oracle's table has ") == 1);
    CHECK((results_of(folder / "out", {1, 2, 3}) == results));
  }
  // Finished agents are not trained again.
  const Ended again = run_ranks(2, 0, {"train", "t.yaml", "--out", "out"}, folder.path());
  CHECK(again.code == 0);
  CHECK(count_of(again.out, "already done: 10 iterations") == 3);
  CHECK((results_of(folder / "out", {1, 2, 3}) == results));
}

TEST_CASE("train makes the same agents on four hosts", "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  SKIP_UNLESS(has_torch(), kNeedsTorch);
  const Netlab netlab("cgtrain", "10.82.0", 4);
  SKIP_UNLESS(netlab.up(), kNeedsNamespaces);
  const TemporaryFolder folder;
  const std::string file = folder / "t.yaml";
  write_file(file, small_training(5, "[1, 2, 3]"));
  REQUIRE(run_program({"train", file, "--out", folder / "one", "--quiet"}).code == 0);
  const Ended ended =
      run_words(on_hosts(netlab, {"train", file, "--out", folder / "hosts"}), folder.path());
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK((results_of(folder / "hosts", {1, 2, 3}) == results_of(folder / "one", {1, 2, 3})));
}

TEST_CASE("train runs variants side by side", "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  SKIP_UNLESS(has_torch(), kNeedsTorch);
  const TemporaryFolder folder;
  write_file(folder / "t.yaml", small_training(6, "[1]"));
  for (const char* variant : {"dqn", "plain"}) {
    REQUIRE(run_program({"train", "t.yaml", "--variant", variant, "--quiet", "--out",
                         std::string("one/") + variant},
                        folder.path())
                .code == 0);
  }
  const auto same = [&](const std::string& out) {
    CHECK((results_of(folder / (out + "/dqn"), {5}) == results_of(folder / "one/dqn", {5})));
    CHECK((results_of(folder / (out + "/plain"), {1}) == results_of(folder / "one/plain", {1})));
    CHECK(read_file(folder / (out + "/plain/train.yaml")) ==
          read_file(folder / "one/plain/train.yaml"));
    CHECK(fs::exists(folder / (out + "/dqn/report.html")));
  };
  const Ended ended =
      run_ranks(3, 0, {"train", "t.yaml", "--variant", "all", "--out", "all"}, folder.path());
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK(count_of(ended.out, "report  all/") == 2);
  same("all");
  const Ended here = run_program(
      {"train", "t.yaml", "--variant", "plain,dqn", "--out", "here", "--quiet"}, folder.path());
  INFO(here.err);
  CHECK(here.code == 0);
  same("here");
}

TEST_CASE("mistakes in trainings and evaluations end all ranks with one message",
          "[cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  SKIP_UNLESS(has_torch(), kNeedsTorch);
  const TemporaryFolder folder;
  write_file(folder / "t.yaml", small_training(2, "[1]"));
  write_file(folder / "wrong.yaml", "name: w\ntrain: [{environment: Counter-v1}]\n");
  fs::create_directory(folder / "foreign");
  write_file(folder / "foreign/notes.txt", "mine");
  write_file(folder / "foreign/report.html", "mine");
  const auto refuses = [&](const Words& words, const std::string& message) {
    check_refused(words, folder.path(), message);
  };
  refuses(mpirun(3, 0, {"train", "wrong.yaml"}), "'Counter-v1'");
  refuses(mpirun(2, 1, {"evaluate", "foreign"}), "is not the folder of a training");
  fs::create_directory(folder / "other");
  write_file(folder / "other/t.yaml", small_training(2, "[2]"));
  Words words = mpirun(2, 1, {"train", "t.yaml"});
  words.insert(words.end(),
               {":", "-n", "1", "-wdir", folder / "other", cclgym_path(), "train", "t.yaml"});
  refuses(words, ", rank 0 has training small (");
  if (thorough()) {
    refuses(mpirun(3, 0, {"train", "none.yaml"}), "'none.yaml' does not exist");
    refuses(mpirun(3, 0, {"train", "t.yaml", "--variant", "plain,dqm"}), "did you mean 'dqn'");
    refuses(mpirun(3, 0, {"train", "t.yaml", "--variant", "dqn,dqn"}), "names 'dqn' twice");
    refuses(mpirun(2, 0, {"train", "t.yaml", "--out", "foreign", "--quiet"}), "foreign");
    refuses(mpirun(2, 0, {"train", "t.yaml", "--out", "t.yaml/out", "--quiet"}), "t.yaml/out");
    refuses(mpirun(2, 0, {"evaluate", "foreign/notes.txt"}), "notes.txt");
  }
  CHECK(read_file(folder / "foreign/report.html") == "mine");
}

TEST_CASE("evaluate writes the same bytes for any number of ranks", "[cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  SKIP_UNLESS(has_torch(), kNeedsTorch);
  const TemporaryFolder folder;
  write_file(folder / "t.yaml", small_training(3, "[1, 2]"));
  REQUIRE(run_program({"train", "t.yaml", "--out", "run", "--quiet"}, folder.path()).code == 0);
  const Words args{"evaluate", "run", "--against", "table,svm,bandit,oracle,random",
                   "--out",    "out"};
  const Ended local = run_program(args, folder.path());
  INFO(local.err);
  REQUIRE(local.code == 0);
  const auto files = [&] {
    return read_file(folder / "out/evaluation.csv") + read_file(folder / "out/choices.txt") +
           read_file(folder / "out/report.html");
  };
  const std::string bytes = files();
  CHECK(count_of(bytes, "lstm-ppo+trigger,") > 0);
  for (std::size_t ranks = 2; ranks <= (thorough() ? 4 : 2); ++ranks) {
    fs::remove_all(folder / "out");
    const Ended ended = run_ranks(ranks, ranks / 2, args, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out == local.out);
    CHECK(count_of(ended.err, "seed 2: svm\n") == 1);
    CHECK((files() == bytes));
  }
}

// A training of three seeds with many iterations, and its results.
struct LongTraining {
  explicit LongTraining(int iterations) : rows(2 * 3 * static_cast<std::size_t>(iterations)) {
    write_file(folder / "t.yaml", small_training(iterations, "[1, 2, 3]"));
    REQUIRE(run_program({"train", folder / "t.yaml", "--out", folder / "one", "--quiet"}).code ==
            0);
    results = results_of(folder / "one", {1, 2, 3});
  }
  [[nodiscard]] Words args(const Words& more = {}) const {
    Words words{"train", folder / "t.yaml", "--out", folder / "out", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  [[nodiscard]] bool has_checkpoint() const {
    for (const int seed : {1, 2, 3}) {
      if (fs::exists(folder / fmt::format("out/seed-{}/checkpoint.bin", seed))) return true;
    }
    return false;
  }
  // Number of iterations, of all seeds together, that are on disk.
  [[nodiscard]] std::size_t saved() const {
    std::size_t lines = 0;
    for (const int seed : {1, 2, 3}) {
      const std::string path = folder / fmt::format("out/seed-{}/metrics.csv", seed);
      if (fs::exists(path)) lines += count_of(read_file(path), "\n");
    }
    return lines;
  }
  TemporaryFolder folder;
  std::size_t rows;  ///< iterations of all seeds
  std::string results;
};

TEST_CASE("killed and stopped simulators: the agents are the same", "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  SKIP_UNLESS(has_torch(), kNeedsTorch);
  const LongTraining training(40);
  const std::string log = training.folder / "log";
  constexpr std::size_t kFaults = 20;
  Random random(16);
  std::size_t faults = 0;
  // A training that is over after few faults is started again.
  for (int training_run = 0; training_run < 20 && faults < kFaults; ++training_run) {
    fs::remove_all(training.folder / "out");
    faults = 0;
    int code = 70;
    // An agent whose worker dies twice in one round ends the run; the same command resumes it.
    while (code == 70) {
      const pid_t run = start_words(mpirun(4, 2, training.args({"--peer-timeout", "5s"})), log);
      while (faults < kFaults) {
        // The faults are spread over the iterations.
        std::vector<pid_t> simulators;
        REQUIRE(comes_true([&] {
          simulators = processes_of(run).simulators;
          const bool due = training.saved() >= faults * training.rows / (kFaults + 4);
          return (due && !simulators.empty()) || has_ended(run);
        }));
        if (has_ended(run)) break;
        const auto last = static_cast<std::int64_t>(simulators.size()) - 1;
        const auto chosen = static_cast<std::size_t>(random.integer(0, last));
        if (::kill(simulators[chosen], faults % 5 == 2 ? SIGSTOP : SIGKILL) == 0) ++faults;
      }
      code = exit_code_of(run);
      INFO(read_file(log));
      CHECK((code == 0 || code == 70));
      if (code == 70) CHECK(read_file(log).find("the same command runs ") != std::string::npos);
    }
    CHECK(code == 0);
    CHECK((results_of(training.folder / "out", {1, 2, 3}) == training.results));
  }
  CHECK(faults == kFaults);
}

TEST_CASE("a killed rank ends a training; it resumes on another number of ranks",
          "[.][cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  SKIP_UNLESS(has_torch(), kNeedsTorch);
  const LongTraining training(16);
  const std::string log = training.folder / "log";
  for (const std::size_t victim : {std::size_t{0}, std::size_t{2}}) {
    int code = 0;
    // A training that is over before the kill is started again.
    for (int attempt = 0; attempt < 20 && code == 0; ++attempt) {
      fs::remove_all(training.folder / "out");
      const pid_t run = start_words(mpirun(4, 1, training.args()), log);
      REQUIRE(comes_true([&] { return training.has_checkpoint() || has_ended(run); }));
      const Processes found = processes_of(run);
      if (found.ranks.size() == 4) ::kill(found.ranks[victim], SIGKILL);
      code = exit_code_of(run);
    }
    CHECK(code > 0);
    const Ended resumed =
        victim == 0 ? run_ranks(3, 0, training.args(), ".") : run_program(training.args());
    INFO(resumed.err);
    CHECK(resumed.code == 0);
    CHECK((results_of(training.folder / "out", {1, 2, 3}) == training.results));
  }
}

}  // namespace
}  // namespace cclgym::test
