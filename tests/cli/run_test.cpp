// Tests of cclgym run as a process: output, files, errors, kills.
#include <algorithm>
#include <csignal>
#include <sys/wait.h>

#include "cli/program.hpp"
#include "core/random.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace cclgym::test {
namespace {

std::size_t file_lines(const std::string& path) {
  const std::string text = read_file(path);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("run writes results, report, timeline and experiment, and prints their paths",
          "[cli][run]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", experiment_with({{"algorithms", "[ring, naive]"},
                                                 {"collectives", "[allreduce, alltoall]"},
                                                 {"sizes", "[1KiB, 1MiB]"},
                                                 {"timeline", "{size: 1MiB}"}}));
  const Ended ended = run_program({"run", "e.yaml", "--jobs", "2"}, folder.path());
  CHECK(ended.code == 0);
  // Standard error is not a terminal, so progress is plain lines.
  CHECK(
      ended.err.starts_with("left out: 2 combinations, which report.html and --dry-run list; the "
                            "first: algorithm 'ring' has no alltoall\n"
                            "0/4 cells  0 %\n"));
  CHECK(ended.err.find("\n4/4 cells  100 %") != std::string::npos);
  CHECK(ended.err.find('\r') == std::string::npos);
  CHECK(ended.out.find("dgx1, allreduce") != std::string::npos);
  const std::string timeline =
      "results/bad/timelines/dgx1-allreduce-ring-Simple-c1-t512-1MiB-s1.json";
  CHECK(
      ended.out.ends_with("\nresults   results/bad/results.csv\nreport    "
                          "results/bad/report.html\ntimeline  " +
                          timeline + "\n"));
  CHECK(file_lines(folder / "results/bad/results.csv") == 5);
  CHECK(read_file(folder / "results/bad/report.html").find("</html>") != std::string::npos);
  CHECK(read_file(folder / timeline).find("traceEvents") != std::string::npos);
  CHECK(run_program({"report", "results/bad"}, folder.path()).code == 0);
  const Ended drawn =
      run_program({"report", "results/bad", "--svg", "plots", "--quiet"}, folder.path());
  CHECK(drawn.code == 0);
  CHECK(read_file(folder / "plots/dgx1-allreduce-time.svg").starts_with("<svg "));
  const Ended same =
      run_program({"report", "results/bad", "results/bad", "--out", "two.html"}, folder.path());
  CHECK(same.code == 0);
  CHECK(same.out.find("All common cells have the same time.") != std::string::npos);
  CHECK(read_file(folder / "two.html").find("</html>") != std::string::npos);
  CHECK(run_program({"report", "results/bad", "--png"}, folder.path()).code == 2);
  CHECK(run_program({"report", "results/bad", "results/bad", "--svg", "p"}, folder.path()).code ==
        2);

  const std::string bytes = read_file(folder / "results/bad/results.csv");
  write_file(folder / "results/bad/results.csv", bytes.substr(0, bytes.size() - 20));
  const Ended resumed = run_program({"run", "e.yaml"}, folder.path());
  CHECK(resumed.code == 0);
  CHECK(resumed.err.find("resuming: the incomplete last row of results/bad/results.csv "
                         "is dropped\nresuming: 3 of 4 cells are done\n3/4 cells") !=
        std::string::npos);
  CHECK(read_file(folder / "results/bad/results.csv") == bytes);

  const Ended quiet = run_program({"run", "e.yaml", "--quiet", "--fresh"}, folder.path());
  CHECK(quiet.code == 0);
  CHECK(quiet.out.empty());
  CHECK(quiet.err.empty());
  CHECK(read_file(folder / "results/bad/results.csv") == bytes);
}

TEST_CASE("a cost model of other GPUs gets one warning, and is named in all results",
          "[cli][run]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", experiment_with({{"fabrics", "[b300.yaml, mi300x]"},
                                                 {"noise", "[none, late.yaml]"},
                                                 {"sizes", "[1KiB, 1MiB]"}}));
  write_file(folder / "late.yaml", "name: late\nstart_skew: 1us\n");
  write_file(folder / "b300.yaml",
             "name: four-b300\ngpu_model: B300\nnodes: [{name: gpu0..3}]\nlinks: [{mesh: gpu0..3, "
             "kind: nvlink, bandwidth: 50 GB/s, latency: 1us}]\n");
  const Ended ended = run_program({"run", "e.yaml", "--jobs", "1"}, folder.path());
  CHECK(ended.code == 0);
  const std::string warning =
      "warning: no parameter set was fitted to the B300 of fabric 'four-b300'";
  CHECK(ended.err.starts_with(warning));
  CHECK(ended.err.find("warning: ", 1) ==
        std::string::npos);  // once, although there are two noises
  CHECK(ended.out.find("cost model b200 (no set for B300)\n") != std::string::npos);
  CHECK(ended.out.find("cost model mi300x\n") != std::string::npos);
  const std::string results = folder / "results/bad/results.csv";
  CHECK(read_file(results).find(",b200 (no set for B300),") != std::string::npos);
  CHECK(read_file(results).find(",mi300x,") != std::string::npos);
  CHECK(read_file(folder / "results/bad/report.html")
            .find("no parameter set was fitted to the B300 of fabric") != std::string::npos);
  const Ended report = run_program({"report", "results/bad"}, folder.path());
  CHECK(report.code == 0);
  CHECK(report.err.starts_with(warning));
}

TEST_CASE("report refuses times that no simulation has", "[cli][run]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", experiment_with({{"sizes", "[1KiB]"}}));
  REQUIRE(run_program({"run", "e.yaml", "--quiet"}, folder.path()).code == 0);
  const std::string path = folder / "results/bad/results.csv";
  const std::string text = read_file(path);
  const std::size_t row = text.find('\n') + 1;
  std::size_t begin = row;
  for (int comma = 0; comma < 18; ++comma) begin = text.find(',', begin) + 1;  // before time_us
  const std::size_t end = text.find(',', begin);
  for (const std::string time : {"nan", "inf", "-5"}) {
    write_file(path, text.substr(0, begin) + time + text.substr(end));
    const Ended ended = run_program({"report", "results/bad"}, folder.path());
    CHECK(ended.code == 2);
    CHECK(ended.err == "error: results/bad/results.csv:2:1: time_us is " + time +
                           "; expected a finite number >= 0\n");
    // A run does not continue these results, either.
    CHECK(run_program({"run", "e.yaml"}, folder.path()).code == 2);
  }
}

TEST_CASE("published speedups are printed and written, whether they hold or not", "[cli][run]") {
  const TemporaryFolder folder;
  write_file(folder / "p.csv",
             "fabric,servers,gpus,collective,size_from,size_to,variant,algorithm,protocol,channels,"
             "instances,judged_by,speedup_low,speedup_high,baseline,source\n"
             "dgx1,1,8,allreduce,1KiB,,tree,,,,,best,100,200,ring,Fig 1\n");
  write_file(folder / "e.yaml",
             experiment_with(
                 {{"algorithms", "[ring, tree]"}, {"engine", "flow"}, {"published", "p.csv"}}));
  const Ended first = run_program({"run", "e.yaml"}, folder.path());
  CHECK(first.code == 0);
  CHECK(first.out.find("\n0 of 1 published rows hold\n") != std::string::npos);
  CHECK(first.out.find("\npublished results/bad/published.csv\n") != std::string::npos);
  const std::string lines = read_file(folder / "results/bad/published.csv");
  CHECK(lines.find("\n1,dgx1,1,8,allreduce,ring,Fig 1,1KiB,,100,200,best,1,") != std::string::npos);
  const Ended report = run_program({"report", "results/bad"}, folder.path());
  CHECK(report.code == 0);
  CHECK(report.out.find("\n0 of 1 published rows hold\n") != std::string::npos);
  // An error in the file is found before anything is simulated.
  write_file(folder / "p.csv", "a,b\n");
  const Ended wrong = run_program({"run", "e.yaml", "--fresh"}, folder.path());
  CHECK(wrong.code == 2);
  CHECK(wrong.err.starts_with("error: p.csv:1:1: not the expected header line"));
  CHECK(read_file(folder / "results/bad/published.csv") == lines);
}

TEST_CASE("invalid requests to run end with exit code 2", "[cli][run]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", experiment_with({{"engine", "flow"}}));
  write_file(folder / "other.yaml", experiment_with({{"engine", "flow"}, {"sizes", "2KiB"}}));
  write_file(folder / "measured.yaml", experiment_with({{"measured", "wrong.csv"}}));
  write_file(folder / "wrong.csv", "size,time\n1,2\n");
  const auto message = [&](const std::vector<std::string>& args) {
    const Ended ended = run_program(args, folder.path());
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    return ended.err;
  };
  REQUIRE(run_program({"run", "e.yaml"}, folder.path()).code == 0);
  const std::string other = load_experiment(folder / "other.yaml").hash();
  const std::string first = load_experiment(folder / "e.yaml").hash();
  CHECK(message({"run", "other.yaml"}) ==
        "error: results/bad/results.csv: has results of another experiment or version: line 2 is "
        "of " +
            first + ", this experiment is " + other +
            "; choose another folder with --out, or start over with --fresh\n");
  CHECK(message({"run", "e.yaml", "--out", "e.yaml/results"}) ==
        "error: 'e.yaml/results': the folder cannot be made: Not a directory\n");
  CHECK(message({"run", "e.yaml", "--out", "/proc/cclgym"})
            .starts_with("error: '/proc/cclgym': the folder cannot be made: "));
  CHECK(message({"run", "measured.yaml"}).starts_with("error: wrong.csv:1:1: found 'size,time'"));
}

// Kills a run after random numbers of rows and restarts it until it has been killed `kills` times;
// then lets it finish. A run that ends early is deleted and started again.
void kill_and_resume(const std::string& jobs, int kills) {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", experiment_with({{"fabrics", "[dgx1, ndv4]"},
                                                 {"algorithms", "[ring, tree, all-pairs]"},
                                                 {"collectives", "[allreduce]"},
                                                 {"protocols", "[LL, Simple]"},
                                                 {"channels", "[1, 2, 4, 8]"},
                                                 {"sizes", "1KiB..16MiB x2"},
                                                 {"engine", "flow"}}));
  const std::vector<std::string> reference{
      "run", folder / "e.yaml", "--out", folder / "whole", "--jobs", "1", "--quiet"};
  REQUIRE(run_program(reference).code == 0);
  const std::string bytes = read_file(folder / "whole/results.csv");
  const auto rows = std::count(bytes.begin(), bytes.end(), '\n') - 1;

  const std::string out = folder / "killed";
  const std::vector<std::string> args{"run", folder / "e.yaml", "--out", out, "--jobs",
                                      jobs,  "--quiet"};
  const auto so_far = [&] {
    return std::filesystem::exists(out + "/results.csv") ? read_file(out + "/results.csv") : "";
  };
  const auto rows_so_far = [&] {
    const std::string text = so_far();
    return std::count(text.begin(), text.end(), '\n') - 1;
  };
  Random random(20260);
  int in_the_middle = 0;  // number of kills that found some rows, but not all
  for (int killed = 0; killed < kills || in_the_middle < kills / 4;) {
    // Some kills come while a run starts, and some after its last row.
    const auto next =
        rows_so_far() + std::max<std::int64_t>(0, random.integer(-rows / 10, rows / 4));
    std::int64_t looks = random.integer(0, 4);
    const pid_t program = start_program(args);
    REQUIRE(
        comes_true([&] { return (rows_so_far() >= next && --looks < 0) || has_ended(program); }));
    REQUIRE(::kill(program, SIGKILL) == 0);
    int status = 0;
    REQUIRE(::waitpid(program, &status, 0) == program);
    wait_for_group(program);
    if (WIFEXITED(status)) {  // it ended before the kill
      REQUIRE(WEXITSTATUS(status) == 0);
      CHECK(read_file(out + "/results.csv") == bytes);
      std::filesystem::remove_all(out);
      continue;
    }
    ++killed;
    const std::string kept = so_far();
    CHECK(bytes.starts_with(kept));
    if (std::count(kept.begin(), kept.end(), '\n') > 1 && kept != bytes) ++in_the_middle;
  }
  REQUIRE(run_program(args).code == 0);
  CHECK(read_file(out + "/results.csv") == bytes);
  CHECK(std::filesystem::exists(out + "/report.html"));
}

TEST_CASE("an interrupt prints the progress of the run; the same command resumes", "[cli][run]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", experiment_with({{"fabrics", "[{name: ring, gpus: 32}]"},
                                                 {"channels", "1..8"},
                                                 {"sizes", "1MiB..256MiB x2"},
                                                 {"threads", "[64, 128, 256, 512]"}}));
  const std::vector<std::string> args{"run", folder / "e.yaml", "--out", folder / "out", "--jobs",
                                      "2",   "--quiet"};
  const std::string results = folder / "out/results.csv";
  int status = 0;
  // A run that is over before the interrupt is started again.
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::filesystem::remove_all(folder / "out");
    const pid_t program = start_program(args, folder / "err");
    REQUIRE(comes_true([&] {
      return (std::filesystem::exists(results) && file_lines(results) >= 12) || has_ended(program);
    }));
    // The signal goes to the entire process group, as from a terminal.
    REQUIRE(::kill(-program, SIGINT) == 0);
    REQUIRE(::waitpid(program, &status, 0) == program);
    wait_for_group(program);
    if (file_lines(results) < 289) break;
  }
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  const std::string err = read_file(folder / "err");
  const std::string rest = " of 288 cells done; the same command resumes\n";
  INFO(err);
  REQUIRE(err.starts_with("interrupted: "));
  REQUIRE(err.ends_with(rest));
  const std::size_t said = std::stoul(err.substr(std::string("interrupted: ").size()));
  CHECK(err == "interrupted: " + std::to_string(said) + rest);

  // Cells may be kept before they are counted, and before cells that precede them; none that was
  // counted is lost.
  const Ended resumed = run_program({"run", folder / "e.yaml", "--out", folder / "out"});
  CHECK(resumed.code == 0);
  const std::string found = "resuming: ";
  INFO(resumed.err);
  REQUIRE(resumed.err.find(found) != std::string::npos);
  const std::size_t kept = std::stoul(resumed.err.substr(resumed.err.find(found) + found.size()));
  CHECK(said > 0);
  CHECK(said <= kept);
  CHECK(kept <= 288);
  CHECK(file_lines(results) == 289);
}

TEST_CASE("killed many times at random moments, one job: the same bytes", "[cli][run]") {
  kill_and_resume("1", kSanitized ? 5 : 25);
}

TEST_CASE("killed many times at random moments, two jobs: the same bytes", "[cli][run]") {
  kill_and_resume("2", kSanitized ? 5 : 25);
}

}  // namespace
}  // namespace cclgym::test
