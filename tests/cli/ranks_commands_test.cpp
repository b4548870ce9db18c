// Tests under mpirun of the commands besides run: the same bytes as in one process, mistakes,
// kills.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/mpirun.hpp"
#include "cli/processes.hpp"
#include "cli/program.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/temporary_folder.hpp"
#include "support/thorough.hpp"
#include "support/waiting.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Numbers of ranks, and of ranks that are treated as a node.
std::vector<std::pair<std::size_t, std::size_t>> rank_counts() {
  std::vector<std::pair<std::size_t, std::size_t>> counts{{4, 2}};
  if (thorough()) counts.insert(counts.end(), {{2, 0}, {16, 0}, {16, 4}});
  return counts;
}

// The files below a folder, by their paths in it.
std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string path = entry.path().string();
    files[fs::relative(path, folder).string()] = read_file(path);
  }
  return files;
}

// Made-up times of AllReduce and Broadcast on one and two nodes with V100.
std::string measured_rows() {
  std::string text =
      "system,gpu,gpus_per_node,ranks,nodes,nccl_version,config,collective,size_bytes,"
      "time_us_median,time_us_min,time_us_max,samples,source\n";
  for (const std::string collective : {"all_reduce", "broadcast"}) {
    for (const int nodes : {1, 2}) {
      for (std::uint64_t bytes = 256; bytes <= (16U << 20U); bytes *= 16) {
        const double time_us = 25.0 * nodes + static_cast<double>(bytes) / (2e4 / nodes);
        text += fmt::format("ABCI-V100,V100,4,{},{},2.8.4,,{},{},{},{},{},1,made up\n", 4 * nodes,
                            nodes, collective, bytes, time_us, time_us, time_us);
      }
    }
  }
  return text;
}

const Words kFit{"fit",
                 "--measured",
                 "m.csv",
                 "--parameters",
                 "kernel_launch,protocols.LL.network_latency,protocols.LL.step_latency",
                 "--quiet"};

TEST_CASE("tune-dispatch on ranks makes the same table", "[cli][ranks][tune-dispatch]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const TemporaryFolder folder;
  write_file(folder / "sweep.yaml", experiment_with({{"name", "sweep"},
                                                     {"fabrics", "ndv4"},
                                                     {"algorithms", "[all-pairs, ring]"},
                                                     {"protocols", "[LL, Simple]"},
                                                     {"sizes", "[1KiB, 256MiB]"},
                                                     {"engine", "flow"}}));
  const Words tune{"tune-dispatch", "sweep.yaml", "--out", "table.yaml", "--results"};
  const Ended one = run_program(with(tune, {"one", "--jobs", "1"}), folder.path());
  INFO(one.err);
  REQUIRE(one.code == 0);
  const std::string table = read_file(folder / "table.yaml");
  for (const auto& [ranks, node_size] : rank_counts()) {
    const std::string out = fmt::format("{}-{}", ranks, node_size);
    const Ended ended = run_ranks(ranks, node_size, with(tune, {out}), folder.path());
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out == one.out);
    CHECK((read_file(folder / "table.yaml") == table));
    CHECK((files_of(folder / out) == files_of(folder / "one")));
  }
  // A finished run needs no simulators.
  fs::remove(folder / "table.yaml");
  const Ended again =
      run_ranks(3, 1, {"tune-dispatch", "one", "--out", "table.yaml"}, folder.path());
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK(again.out == one.out);
  CHECK((read_file(folder / "table.yaml") == table));
}

TEST_CASE("compare on ranks writes the same bytes", "[cli][ranks][compare]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const TemporaryFolder folder;
  write_file(folder / "m.csv", measured_rows());
  const Words compare{"compare", "--measured", "m.csv", "--quiet", "--out", "out"};
  const Ended one = run_program(with(compare, {"--jobs", "1"}), folder.path());
  INFO(one.err);
  REQUIRE(one.code == 0);
  const auto files = files_of(folder / "out");
  REQUIRE(files.contains("compare.csv"));
  REQUIRE(files.contains("compare.html"));
  const auto check = [&](const Ended& ended) {
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out == one.out);
    CHECK((files_of(folder / "out") == files));
    fs::remove_all(folder / "out");
  };
  check(run_program(with(compare, {"--jobs", "2"}), folder.path()));
  for (const auto& [ranks, node_size] : rank_counts()) {
    check(run_ranks(ranks, node_size, compare, folder.path()));
  }
}

TEST_CASE("fit on ranks finds the same set, folds and starts", "[cli][ranks][fit]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const TemporaryFolder folder;
  write_file(folder / "m.csv", measured_rows());
  const Words fit =
      with(kFit, {"--out", "set.yaml", "--folds", "2", "--starts", "2", "--evaluations", "25"});
  const Ended one = run_program(with(fit, {"--jobs", "1"}), folder.path());
  INFO(one.err);
  REQUIRE(one.code == 0);
  CHECK(one.out.find("\nthe best of 2 starts: number ") != std::string::npos);
  CHECK(one.out.find("mean |ln| of all folds: ") != std::string::npos);
  const std::string set = read_file(folder / "set.yaml");
  const auto check = [&](const Ended& ended) {
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out == one.out);
    CHECK((read_file(folder / "set.yaml") == set));
    fs::remove(folder / "set.yaml");
  };
  check(run_program(with(fit, {"--jobs", "2"}), folder.path()));
  for (const auto& [ranks, node_size] : rank_counts()) {
    check(run_ranks(ranks, node_size, fit, folder.path()));
  }
}

TEST_CASE("synthesize on ranks writes the same files", "[cli][ranks][synthesize]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const TemporaryFolder folder;
  fs::create_directory(folder / "in");
  write_file(folder / "in/island.yaml",
             "name: island\ngpu_model: V100\nnodes:\n  - {name: gpu0..3}\nlinks:\n"
             "  - {mesh: gpu0..3, kind: nvlink, bandwidth: 25 GB/s, latency: 0.7us}\n");
  write_file(folder / "m.csv", measured_rows());
  REQUIRE(
      run_program(with(kFit, {"--evaluations", "4", "--out", "in/set.yaml"}), folder.path()).code ==
      0);
  const Words synthesize{"synthesize",  "--fabric", "in/island.yaml", "--collective",
                         "allgather",   "--sizes",  "[4KiB, 1MiB]",   "--cost-model",
                         "in/set.yaml", "--out",    "made/here"};
  const Ended one = run_program(with(synthesize, {"--jobs", "1"}), folder.path());
  INFO(one.err);
  REQUIRE(one.code == 0);
  const auto files = files_of(folder / "made/here");
  REQUIRE(files.contains("sweep/results.csv"));
  REQUIRE(files.contains("dispatch.yaml"));
  for (const auto& [ranks, node_size] : rank_counts()) {
    fs::remove_all(folder / "made");
    const Ended ended = run_ranks(ranks, node_size, synthesize, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out == one.out);
    CHECK((files_of(folder / "made/here") == files));
  }
}

TEST_CASE("mistakes of these commands end all ranks with one message", "[cli][ranks][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const TemporaryFolder folder;
  write_file(folder / "m.csv", measured_rows());
  std::string other = measured_rows();
  other.replace(other.find(",256,"), 5, ",512,");
  fs::create_directory(folder / "other");
  write_file(folder / "other/m.csv", other);
  const auto refuses = [&](const Words& words, const std::string& message) {
    check_refused(words, folder.path(), message);
  };
  const auto with_second = [&](const Words& first, const Words& second) {
    return with(with(mpirun(2, 1, first), {":", "-n", "1", cclgym_path()}), second);
  };
  const Words compare{"compare", "--quiet", "--measured"};
  refuses(with(with(mpirun(2, 1, with(compare, {"m.csv"})),
                    {":", "-n", "1", "-wdir", folder / "other", cclgym_path()}),
               with(compare, {"m.csv"})),
          "; start all ranks with the same files and options");
  refuses(mpirun(3, 1, with(kFit, {"--out", "missing/set.yaml"})),
          "--out: 'missing/set.yaml': the folder 'missing' does not exist");
  if (thorough()) {
    refuses(mpirun(3, 1, with(compare, {"missing.csv"})), "missing.csv");
    refuses(mpirun(3, 1, with(compare, {"m.csv", "--out", "m.csv"})), "m.csv is not a folder");
    refuses(mpirun(3, 1, with(kFit, {"--measured", "missing.csv"})), "--measured");
    refuses(with_second(with(kFit, {"--start", "v100"}), with(kFit, {"--start", "a100"})),
            "was started with other arguments than rank 0");
    refuses(mpirun(3, 1, {"tune-dispatch", "missing.yaml", "--out", "t.yaml"}), "missing.yaml");
    const Words synthesize{"synthesize", "--fabric", "dgx1", "--collective", "allgather", "--out"};
    refuses(mpirun(3, 1, with(synthesize, {"m.csv/out"})), "m.csv/out");
    refuses(with_second(with(synthesize, {"out", "--sizes", "1KiB", "--quiet"}),
                        with(synthesize, {"out", "--sizes", "2KiB", "--quiet"})),
            "was started with other arguments than rank 0");
  }
}

TEST_CASE("killed simulators: a fit goes on with the same result", "[cli][ranks][fit][thorough]") {
  SKIP_UNLESS(has_mpi(), kNeedsMpi);
  const TemporaryFolder folder;
  write_file(folder / "m.csv", measured_rows());
  Words fit = with(kFit, {"--evaluations", "200", "--prior", "1000", "--folds", "2"});
  fit[2] = folder / "m.csv";
  REQUIRE(run_program(with(fit, {"--out", folder / "one.yaml", "--name", "set"})).code == 0);
  const std::string log = folder / "log";
  const std::size_t wanted = thorough() ? 20 : 5;
  std::size_t killed = 0;
  int code = 70;
  // A task that is killed twice ends a fit, and a fit may be over after few kills: it is started
  // again.
  for (int attempt = 0; attempt < 20 && (code == 70 || killed <= 2); ++attempt) {
    killed = 0;
    const pid_t run = start_words(
        mpirun(4, 2, with(fit, {"--out", folder / "ranks.yaml", "--name", "set"})), log);
    pid_t last = 0;
    while (killed < wanted && !has_ended(run)) {
      // All simulators are there again.
      Processes now;
      REQUIRE(comes_true([&] {
        now = processes_of(run);
        return (now.simulators.size() == 4 && std::ranges::count(now.simulators, last) == 0) ||
               has_ended(run);
      }));
      if (now.simulators.size() != 4) continue;
      last = now.simulators[killed % 4];
      if (::kill(last, SIGKILL) == 0) ++killed;
    }
    code = exit_code_of(run);
    INFO(read_file(log));
    CHECK((code == 0 || code == 70));
    if (code == 70) CHECK(read_file(log).find("killed by signal 9") != std::string::npos);
  }
  CHECK(code == 0);
  CHECK(killed > 2);
  CHECK((read_file(folder / "ranks.yaml") == read_file(folder / "one.yaml")));
}

}  // namespace
}  // namespace cclgym::test
