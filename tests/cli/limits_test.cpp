// Work that needs more memory or room on a disk than there is ends with one line and exit code 1.
#include <algorithm>
#include <sys/wait.h>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kReservesAddresses = true;  // sanitizers reserve terabytes of address space
#else
constexpr bool kReservesAddresses = false;
#endif

// Runs `cclgym WORDS` in a folder by a shell with these limits ("-v 200000", "-f 4").
Ended run_limited(const std::string& limits, const std::string& words, const std::string& folder) {
  write_file(folder + "/limited.sh",
             "ulimit " + limits + "\nexec " + build_path("cclgym") + " " + words + "\n");
  const int status = std::system(  // NOLINT(cert-env33-c): a shell is what has ulimit
      ("cd '" + folder + "' && bash limited.sh > limited.out 2> limited.err").c_str());
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          .out = read_file(folder + "/limited.out"),
          .err = read_file(folder + "/limited.err")};
}

// The line "error: …"; warnings may be before it.
std::string error_line(const Ended& ended) {
  const std::size_t at = ended.err.find("error: ");
  return at == std::string::npos ? std::string() : ended.err.substr(at);
}

void check_one_line(const Ended& ended, const std::string& part) {
  INFO(ended.err);
  CHECK(ended.code == 1);
  const std::string line = error_line(ended);
  CHECK(line.find(part) != std::string::npos);
  CHECK(std::count(line.begin(), line.end(), '\n') == 1);
}

TEST_CASE("an AllToAll that cannot fit is refused before work begins", "[cli][limits]") {
  SKIP_UNLESS(!kReservesAddresses, "a build without sanitizers");
  const TemporaryFolder folder;
  const std::string call =
      "simulate --fabric ndv4 --collective alltoall --algorithm naive --size 64MiB --engine flow ";
  // 512 ranks on one channel took 0.53 GiB when it was measured, which the estimate must allow.
  // A timeline needs every message; otherwise those of a class are one.
  const std::string many = call + "--nodes 512 --channels 2";
  check_one_line(run_limited("-v 400000", many + " --timeline t.json", folder.path()),
                 "alltoall by 'naive' on 4096 ranks with 2 channels needs at least 31.2 GiB of "
                 "memory; ulimit -v leaves ");
  check_one_line(run_limited("-v 400000", many, folder.path()),
                 "alltoall by 'naive' on 4096 ranks with 2 channels needs at least 0.594 GiB of "
                 "memory; ulimit -v leaves ");
  const Ended fits = run_limited("-v 400000", call + "--nodes 8", folder.path());
  INFO(fits.err);
  CHECK(fits.code == 0);
}

TEST_CASE("an allocation that fails is one line, and no fault of cclgym", "[cli][limits]") {
  SKIP_UNLESS(!kReservesAddresses, "a build without sanitizers");
  const TemporaryFolder folder;
  const std::string call =
      "simulate --fabric ndv4 --nodes 32 --collective alltoall --algorithm pairwise --size 64MiB "
      "--engine flow";
  int refused = 0;
  for (const char* const limit : {"-v 50000", "-v 80000", "-v 110000", "-v 200000"}) {
    const Ended ended = run_limited(limit, call, folder.path());
    INFO(limit << ": " << ended.err);
    if (ended.code == 0) continue;
    check_one_line(ended, "memory");
    ++refused;
  }
  CHECK(refused > 0);
  write_file(folder / "e.yaml",
             "name: e\nfabrics: [{name: ndv4, nodes: 32}]\ncollectives: [alltoall]\nalgorithms: "
             "[pairwise]\nsizes: [64MiB]\nengine: flow\n");
  check_one_line(run_limited("-v 100000", "run e.yaml --jobs 1 --quiet", folder.path()), "memory");
}

TEST_CASE("a rollout that cannot fit is refused before the training begins", "[cli][limits]") {
  SKIP_UNLESS(!kReservesAddresses, "a build without sanitizers");
  const TemporaryFolder folder;
  write_file(folder / "t.yaml",
             "name: t\ntrain: [{options: {fabric: {name: ring, gpus: 4}, workload: {name: sweep, "
             "sizes: 1KiB}}}]\nppo: {iterations: 1, environments: 10000, steps: 100000, sequence: "
             "16}\nseeds: [1]\n");
  const Ended ended = run_limited("-v 8000000", "train t.yaml --quiet", folder.path());
  if (ended.err.find("cannot train") != std::string::npos) {
    SKIP_UNLESS(false, "LibTorch");
  }
  check_one_line(ended, "a rollout of 10000 environments and 100000 steps needs at least ");
  CHECK(ended.err.find("fewer environments or steps (ppo) need less") != std::string::npos);
}

TEST_CASE("a limit on addresses that refuses buffers of OpenBLAS does not stop a synthesis",
          "[cli][limits]") {
  SKIP_UNLESS(!kReservesAddresses, "a build without sanitizers");
  const TemporaryFolder folder;
  // The solvers are loaded with OpenBLAS, each thread of which wants 32 MB.
  for (const char* jobs : {"1", "2"}) {
    const Ended ended =
        run_limited("-v 110000",
                    std::string("synthesize --fabric ring --gpus 4 --collective alltoall "
                                "--no-sweep --quiet -o made --jobs ") +
                        jobs,
                    folder.path());
    INFO(ended.err);
    CHECK(ended.code == 0);
  }
}

const char* const kSweep =
    "name: e\nfabrics: [dgx1]\ncollectives: [allreduce]\nalgorithms: [ring, tree]\nchannels: [1, "
    "2]\nsizes: 1KiB..64MiB x2\nengine: flow\n";

TEST_CASE("rows that the limit on files does not allow are refused, or leave complete rows",
          "[cli][limits]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", kSweep);
  // 68 cells have over 4 KiB of rows.
  check_one_line(run_limited("-f 4", "run e.yaml --quiet", folder.path()),
                 "results.csv needs at least ");
  // Fewer bytes than all rows, more than the estimate: the run begins, and can be resumed.
  const Ended cut = run_limited("-f 12", "run e.yaml --quiet", folder.path());
  check_one_line(cut, ": cannot be written: File too large");
  const std::string rows = read_file(folder / "results/e/results.csv");
  CHECK(rows.ends_with('\n'));
  CHECK_FALSE(fs::exists(folder / "results/e/report.html"));
  REQUIRE(run_program({"run", "e.yaml", "--quiet"}, folder.path()).code == 0);
  CHECK(read_file(folder / "results/e/results.csv").starts_with(rows));
}

TEST_CASE("a file that the disk or a limit has no room for does not appear", "[cli][limits]") {
  const TemporaryFolder folder;
  check_one_line(run_limited("-f 1", "compile ring --collective allreduce --gpus 8 --out ring.xml",
                             folder.path()),
                 "'ring.xml': cannot be written: File too large");
  CHECK_FALSE(fs::exists(folder / "ring.xml"));
  check_one_line(
      run_limited("-f 1",
                  "simulate --fabric dgx1 --collective allreduce --algorithm ring --size 1MiB "
                  "--timeline t.json",
                  folder.path()),
      "t.json");
  CHECK_FALSE(fs::exists(folder / "t.json"));
}

TEST_CASE("noise that would never let a call end is given up by name", "[cli][limits]") {
  const TemporaryFolder folder;
  const Words call{"simulate",     "--fabric",  "ndv4",        "--nodes", "2",
                   "--collective", "allreduce", "--algorithm", "ring",    "--size",
                   "1GiB",         "--engine",  "flow",        "--noise", "n.yaml"};
  for (const char* const time : {"1e-300 s", "1e-12 s"}) {
    write_file(folder / "n.yaml",
               std::string("name: fast\nload:\n  network: {correlation_time: ") + time +
                   ", states: [{capacity: 1, share: 0.5}, {capacity: 0.5, share: 0.5}]}\n");
    const Ended ended = run_program(call, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 3);
    CHECK(error_line(ended).starts_with("error: the simulation under noise 'fast' was given up: "));
  }
  write_file(folder / "n.yaml", "name: jobs\nbackground: {jobs: 1, bytes: 1 B, pause: 0s}\n");
  Words small = call;
  small[10] = "1MiB";
  CHECK(run_program(small, folder.path()).code == 0);
  write_file(folder / "n.yaml",
             "name: none-left\nload:\n  network: {correlation_time: 1ms, states: [{capacity: "
             "1e-300, share: 1}]}\n");
  const Ended ended = run_program(call, folder.path());
  CHECK(ended.code == 2);
  CHECK(error_line(ended).find("n.yaml:3:") != std::string::npos);
}

}  // namespace
}  // namespace cclgym::test
