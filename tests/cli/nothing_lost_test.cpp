// Checks that commands leave foreign files and their own inputs unchanged.
#include <algorithm>
#include <map>
#include <sys/stat.h>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;

const char* const kExperiment =
    "name: e\nfabrics: [dgx1]\ncollectives: [allreduce]\nalgorithms: [ring]\nsizes: [1KiB, 4KiB]\n";

const char* const kMeasured =
    "system,ranks,nodes,collective,size_bytes,time_us_median\nlab,8,1,all_reduce,1024,30\n"
    "lab,8,1,all_reduce,65536,40\n";

// All files except the log, which holds the output of a sweep's worker.
std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".log") continue;
    if (entry.is_regular_file()) files[entry.path().string()] = read_file(entry.path().string());
  }
  return files;
}

// Checks that the command ends with exit code 2 and this message, and leaves every file in the
// folder as it is.
void refuses(const TemporaryFolder& folder, const std::vector<std::string>& args,
             const std::string& part) {
  const auto before = files_of(folder.path());
  const Ended ended = run_program(args, folder.path());
  INFO(args.front() << " ... " << args.back() << ": " << ended.err);
  CHECK(ended.code == 2);
  CHECK(ended.err.find(part) != std::string::npos);
  CHECK((files_of(folder.path()) == before));
}

TEST_CASE("calibrate leaves a file alone that is not a sweep's", "[cli][nothing-lost]") {
  const TemporaryFolder folder;
  const std::vector<std::string> sweep{
      "calibrate",   "mpi",      "--launch",     build_path("tests/calibration/acting_worker"),
      "--sizes",     "64B,128B", "--collective", "allreduce",
      "--algorithm", "ring",     "--repeats",    "3",
      "--quiet",     "-o",       "mine"};
  SKIP_UNLESS(fs::exists(build_path("cclgym-mpi-worker")), kNeedsMpi);
  std::vector<std::string> fresh = sweep;
  fresh.push_back("--fresh");
  for (const std::string text : {"my only copy", "my only copy\n", "a,b\n1,2\n",
                                 "first line\nand no end", "\n", "system,ranks of something else",
                                 "\x7f"
                                 "ELF\x02\x01"}) {
    INFO(text);
    write_file(folder / "mine", text);
    refuses(folder, sweep, "mine:1:1: found ");
    refuses(folder, fresh, "mine:1:1: found ");
  }
  SECTION("a piece of a header, or of a row, is a sweep's that was killed") {
    fs::remove(folder / "mine");
    REQUIRE(run_program(sweep, folder.path()).code == 0);
    const std::string whole = read_file(folder / "mine");
    const std::size_t header = whole.find('\n');
    for (const std::size_t size : {std::size_t{0}, std::size_t{10}, header, header + 1, header + 30,
                                   whole.size() - 1, whole.size()}) {
      INFO(size);
      write_file(folder / "mine", whole.substr(0, size));
      CHECK(run_program(sweep, folder.path()).code == 0);
      // The rows differ, because each has the time of its measurement.
      const std::string again = read_file(folder / "mine");
      CHECK(std::count(again.begin(), again.end(), '\n') == 3);
      CHECK(again.starts_with(whole.substr(0, header + 1)));
    }
    write_file(folder / "mine", whole + "and a note of mine");
    refuses(folder, sweep, "mine:4:1: 'and a note of mine' is not a cell of this sweep");
    REQUIRE(run_program(fresh, folder.path()).code == 0);
  }
  SECTION("what is no regular file is refused at once") {
    fs::remove(folder / "mine");
    REQUIRE(::mkfifo((folder / "mine").c_str(), 0600) == 0);
    refuses(folder, sweep, "mine: not a regular file");
    refuses(folder, fresh, "mine: not a regular file");
  }
}

TEST_CASE("run leaves foreign files alone", "[cli][nothing-lost]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", kExperiment);
  SECTION("the experiment itself") {
    fs::rename(folder / "e.yaml", folder / "experiment.yaml");
    refuses(folder, {"run", "experiment.yaml", "--out", "."},
            "experiment.yaml': not written by cclgym run");
    refuses(folder, {"run", "experiment.yaml", "--out", ".", "--fresh"}, "not written by cclgym");
  }
  SECTION("another program's results and pages") {
    write_file(folder / "results.csv", "my,own\n1,2\n");
    refuses(folder, {"run", "e.yaml", "--out", "."}, "results.csv:1:1: ");
    refuses(folder, {"run", "e.yaml", "--out", ".", "--fresh"},
            "results.csv:1:1: found 'my,own\\n1,2\\n'; expected results");
    fs::remove(folder / "results.csv");
    for (const char* const name : {"report.html", "published.csv"}) {
      write_file(folder / name, "mine");
      refuses(folder, {"run", "e.yaml", "--out", "."}, "not written by cclgym run");
      fs::remove(folder / name);
    }
  }
  SECTION("but starts over with its own") {
    REQUIRE(run_program({"run", "e.yaml", "--out", "o", "--quiet"}, folder.path()).code == 0);
    const std::string results = read_file(folder / "o/results.csv");
    CHECK(run_program({"run", "e.yaml", "--out", "o", "--quiet", "--fresh"}, folder.path()).code ==
          0);
    CHECK(read_file(folder / "o/results.csv") == results);
    // A run was killed while it wrote the header.
    fs::remove(folder / "o/experiment.yaml");
    fs::remove(folder / "o/report.html");
    write_file(folder / "o/results.csv", "experiment_ha");
    CHECK(run_program({"run", "e.yaml", "--out", "o", "--quiet", "--fresh"}, folder.path()).code ==
          0);
    CHECK(read_file(folder / "o/results.csv") == results);
  }
}

TEST_CASE("no command overwrites its inputs", "[cli][nothing-lost]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", kExperiment);
  write_file(folder / "m.csv", kMeasured);
  fs::create_symlink("m.csv", folder / "link.csv");
  REQUIRE(run_program({"run", "e.yaml", "--out", "o", "--quiet"}, folder.path()).code == 0);
  REQUIRE(run_program(
              {"compile", "ring", "--collective", "allreduce", "--gpus", "4", "--out", "ring.xml"},
              folder.path())
              .code == 0);
  const std::string also = " is also the file of ";
  refuses(folder, {"fit", "--measured", "m.csv", "--fabric", "dgx1", "-o", "m.csv"},
          "'m.csv'" + also + "--measured");
  refuses(folder, {"fit", "--measured", "m.csv", "--fabric", "dgx1", "-o", "./link.csv"}, also);
  refuses(folder, {"tune-dispatch", "e.yaml", "-o", "e.yaml"}, also + "SWEEP");
  refuses(folder, {"tune-dispatch", "o", "-o", "o/results.csv"}, "is a file of the run itself");
  refuses(folder, {"tune-dispatch", "o", "-o", "o/experiment.yaml"}, "is a file of the run itself");
  refuses(folder, {"report", "o", "--out", "o/results.csv"}, "is a file of the run itself");
  refuses(folder, {"compile", "ring.xml", "--out", "ring.xml"}, also + "ALGORITHM");
  refuses(folder,
          {"simulate", "--fabric", "dgx1", "--program", "ring.xml", "--size", "1KiB", "--timeline",
           "ring.xml"},
          also + "--program");
  write_file(folder / "f.yaml", "name: f\n");
  refuses(folder, {"describe", "fabric", "f.yaml", "--dot", "f.yaml"}, also + "NAME");
  // Two outputs are the same file, even before it exists.
  refuses(folder, {"export", "o", "--to", "new", "--csv", "./new"}, "--csv: './new'" + also);
  // A device may be both outputs.
  CHECK(run_program({"report", "o", "--out", "/dev/null"}, folder.path()).code == 0);
}

TEST_CASE("compare and evaluate leave foreign pages alone", "[cli][nothing-lost]") {
  const TemporaryFolder folder;
  write_file(folder / "m.csv", kMeasured);
  write_file(folder / "compare.html", "mine");
  const std::vector<std::string> compare{"compare", "--measured", "m.csv", "--fabric", "dgx1",
                                         "--nccl",  "2.18",       "-o",    "."};
  refuses(folder, compare, "compare.html': not written by cclgym compare");
  fs::remove(folder / "compare.html");
  write_file(folder / "compare.csv", "mine\n");
  refuses(folder, compare, "compare.csv': not written by cclgym compare");
  fs::remove(folder / "compare.csv");
  CHECK(run_program(compare, folder.path()).code == 0);
  CHECK(run_program(compare, folder.path()).code == 0);

  write_file(folder / "v.yaml",
             "{fabric: {name: ring, gpus: 4}, actions: stock-nccl,\n"
             " workload: {name: sweep, collectives: [allreduce], sizes: [1KiB]}}\n");
  write_file(folder / "report.html", "mine");
  const std::vector<std::string> evaluate{"evaluate", "v.yaml", "--against", "table",
                                          "--seeds",  "1",      "--out",     "."};
  refuses(folder, evaluate, "report.html': not written by cclgym evaluate");
  fs::remove(folder / "report.html");
  CHECK(run_program(evaluate, folder.path()).code == 0);
  CHECK(run_program(evaluate, folder.path()).code == 0);
}

TEST_CASE("compare removes the decisions of an earlier run with its own files",
          "[cli][nothing-lost]") {
  const TemporaryFolder folder;
  write_file(folder / "m.csv", kMeasured);
  write_file(folder / "forced.csv",
             "system,ranks,nodes,collective,size_bytes,time_us_median,algorithm,protocol,channels\n"
             "lab,8,1,all_reduce,1024,30,ring,LL,2\nlab,8,1,all_reduce,1024,40,tree,LL,2\n");
  const auto compare = [&](const std::string& rows) {
    const Ended ended = run_program(
        {"compare", "--measured", rows, "--fabric", "dgx1", "--nccl", "2.18", "--quiet", "-o", "o"},
        folder.path());
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    return ended.out;
  };
  const std::string cells = "\npage      o/compare.html\ncells     o/compare.csv\n";
  CHECK(compare("forced.csv").ends_with(cells + "decisions o/decisions.csv\n"));
  CHECK(fs::exists(folder / "o/decisions.csv"));
  write_file(folder / "o/notes.txt", "mine");
  CHECK(compare("m.csv").ends_with(cells));
  CHECK_FALSE(fs::exists(folder / "o/decisions.csv"));
  CHECK(fs::exists(folder / "o/notes.txt"));
  // A folder of this name was not written by compare.
  fs::create_directory(folder / "o/decisions.csv");
  CHECK(compare("m.csv").ends_with(cells));
  CHECK(fs::exists(folder / "o/decisions.csv"));
}

TEST_CASE("train starts over without deleting foreign files", "[cli][nothing-lost]") {
  const TemporaryFolder folder;
  const std::string options =
      "{fabric: {name: ring, gpus: 4}, actions: stock-nccl,\n"
      " workload: {name: sweep, collectives: [allreduce], sizes: 1KiB..1MiB x4}}\n";
  write_file(folder / "train.yaml", "name: t\ntrain:\n  - options: " + options +
                                        "agent: {encoder: [8], lstm: 4, head: 6, value: 4}\n"
                                        "warm_start: {iterations: 1}\nppo: {iterations: 1, "
                                        "environments: 4, steps: 16, sequence: 8}\nseeds: [1]\n");
  const Ended own = run_program({"train", "train.yaml", "--out", "."}, folder.path());
  SKIP_UNLESS(own.err.find("cannot train") == std::string::npos, kNeedsTorch);
  CHECK(own.code == 2);
  CHECK(own.err.find("train.yaml': not written by cclgym train") != std::string::npos);
  CHECK(files_of(folder.path()).size() == 1);
  const std::vector<std::string> again{"train", "train.yaml", "--out", "o", "--quiet", "--fresh"};
  REQUIRE(run_program(again, folder.path()).code == 0);
  write_file(folder / "o/seed-1/notes.txt", "mine");
  const std::string first = read_file(folder / "o/seed-1/metrics.csv");
  REQUIRE(run_program(again, folder.path()).code == 0);
  CHECK(read_file(folder / "o/seed-1/notes.txt") == "mine");
  CHECK(std::count(first.begin(), first.end(), '\n') == 3);
  const std::string second = read_file(folder / "o/seed-1/metrics.csv");
  CHECK(std::count(second.begin(), second.end(), '\n') == 3);
}

TEST_CASE("deploy does not replace its inputs", "[cli][nothing-lost]") {
  const TemporaryFolder folder;
  const std::vector<std::string> first{"deploy", "--constants", "--machine", "dgx1",
                                       "--for",  "nccl-2.28",   "-o",        "out"};
  REQUIRE(run_program(first, folder.path()).code == 0);
  write_file(folder / "out/tuner.policy", "mine");
  refuses(folder, {"deploy", "--policy", "out/tuner.policy", "--for", "nccl-2.28", "-o", "out"},
          "is a file of the folder to write");
}

}  // namespace
}  // namespace cclgym::test
