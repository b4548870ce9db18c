// Requests that are refused before any work. Each ends with exit code 2 and says what was found and
// what is expected, and leaves all files as they were.
#include <algorithm>
#include <map>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> contents_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    files[entry.path().string()] =
        entry.is_regular_file() ? read_file(entry.path().string()) : std::string();
  }
  return files;
}

void check_request(const TemporaryFolder& folder, const std::vector<std::string>& args,
                   const std::string& message) {
  const auto before = contents_of(folder.path());
  const Ended ended = run_program(args, folder.path());
  INFO(args.front() << " ... " << args.back() << ": " << ended.code << "\n" << ended.err);
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, message));
  CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 1);
  CHECK((contents_of(folder.path()) == before));
}

TEST_CASE("run refuses a folder that has other files and no run", "[cli][wrong-inputs]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml",
             "name: e\nfabrics: [dgx1]\ncollectives: [allreduce]\nalgorithms: [ring]\n"
             "sizes: [1KiB]\n");
  fs::create_directories(folder / "home/papers");
  write_file(folder / "home/notes.txt", "mine");
  const std::string expected =
      "but no results of cclgym run; expected the folder of a run, an empty one or a new one; "
      "choose another folder";
  for (const char* more : {"--quiet", "--fresh", "--dry-run", "--json"}) {
    check_request(folder, {"run", "e.yaml", "--out", "home", more},
                  "error: 'home': has 'notes.txt' and 1 more, " + expected);
    check_request(folder, {"run", "e.yaml", "-o", ".", more}, "'.': has 'e.yaml' and 1 more, ");
    check_request(folder, {"run", "e.yaml", "--out", "e.yaml", more},
                  "'e.yaml' is a file; expected a folder for the results");
  }
  // The folder is looked at first: this experiment does not even exist.
  check_request(folder, {"run", "none.yaml", "--out", "home"}, "'home': has 'notes.txt'");
  check_request(folder, {"run", "e.yaml", "--out", "home", "--shard", "1/2"}, "no results");
  check_request(folder, {"tune-dispatch", "e.yaml", "--out", "t.yaml", "--results", "home"},
                "no results of cclgym run");
  // The default folder is checked in the same way.
  fs::create_directories(folder / "results/e");
  write_file(folder / "results/e/mine.csv", "mine");
  check_request(folder, {"run", "e.yaml", "--quiet"}, "has 'mine.csv', but no results");
  // Hidden files do not make a folder one with contents.
  fs::remove(folder / "results/e/mine.csv");
  write_file(folder / "results/e/.mine", "mine");
  for (int run = 0; run < 2; ++run) {
    CHECK(run_program({"run", "e.yaml", "--quiet"}, folder.path()).code == 0);
  }
}

TEST_CASE("files of another kind are called so", "[cli][wrong-inputs]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml", "\nname: e\nsizes: [1KiB]\n");
  const std::string no_xml =
      "e.yaml:2:1: not an XML file: it begins with 'name: e'; expected a program in MSCCL XML, "
      "which begins with <algo\n";
  check_request(folder, {"verify", "e.yaml"}, "error: " + no_xml);
  check_request(folder, {"verify", "e.yaml", "--json"}, no_xml);
  check_request(folder, {"simulate", "--fabric", "dgx1", "--program", "e.yaml", "--size", "1KiB"},
                no_xml);
  write_file(folder / "m.csv",
             "ranks,nodes,collective,size_bytes,time_ms\n8,1,all_reduce,1024,30\n");
  for (const char* command : {"fit", "compare"}) {
    check_request(
        folder,
        {command, "--measured", "m.csv", "--fabric", "dgx1", "--nccl", "2.18", "-o", "o.yaml"},
        "m.csv:1:1: without column 'time_us_median' (or 'time_us'), and with unknown "
        "'time_ms'; expected ranks, collective, size_bytes, time_us_median or time_us "
        "(sizes in bytes, times in microseconds)");
  }
}

TEST_CASE("a fit with too few evaluations is refused before it simulates anything",
          "[cli][wrong-inputs]") {
  const TemporaryFolder folder;
  write_file(folder / "m.csv",
             "system,ranks,nodes,collective,size_bytes,time_us_median\nlab,8,1,all_reduce,1024,30\n"
             "lab,8,1,all_reduce,65536,40\n");
  const std::vector<std::string> fit{"fit",  "--measured", "m.csv", "--fabric", "dgx1",  "--nccl",
                                     "2.18", "--start",    "v100",  "--out",    "o.yaml"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = fit;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  // The message is the only line: progress would come before it.
  check_request(folder, with({"--evaluations", "5"}), "error: at most 5 evaluations for ");
  check_request(folder,
                with({"--evaluations", "2", "--parameters", "kernel_launch,channel_overhead"}),
                "error: at most 2 evaluations for 2 parameters; expected at least 3\n");
}

TEST_CASE("what is wrong with a fabric is refused at its line", "[cli][wrong-inputs]") {
  const TemporaryFolder folder;
  const std::string links = "links: [{mesh: gpu0..3, bandwidth: 1 GB/s, latency: 1us}]\n";
  write_file(folder / "dots.yaml", "nodes:\n  - {name: gpu0...3}\n" + links);
  check_request(folder, {"describe", "fabric", "dots.yaml"},
                "dots.yaml:2:12: name 'gpu0...3': a range has two dots (did you mean 'gpu0..3'?)");
  write_file(folder / "alone.yaml",
             "nodes:\n  - {name: gpu0..3}\n  - {name: sw, kind: nvswitch}\n" + links);
  check_request(folder, {"describe", "fabric", "alone.yaml"},
                "alone.yaml:3:12: switch 'sw' has no link; expected at least one in 'links'");
}

TEST_CASE("mistakes in an option begin with the option's name", "[cli][wrong-inputs]") {
  const TemporaryFolder folder;
  const auto on = [](const std::string& fabric, const std::vector<std::string>& more) {
    std::vector<std::string> words{"simulate", "--collective", "allreduce", "--algorithm",
                                   "ring",     "--fabric",     fabric};
    words.insert(words.end(), more.begin(), more.end());
    if (std::ranges::find(words, "--size") == words.end()) {
      words.insert(words.end(), {"--size", "1MiB"});
    }
    return words;
  };
  check_request(folder, on("dgx1", {"--gpus", "4"}), "error: --gpus: fabric 'dgx1' has no option");
  check_request(folder, on("ndv4", {"--nodes", "0"}),
                "error: --nodes: nodes is '0'; expected >= 1");
  check_request(folder, on("dgx1", {"--nodes", "2"}), "error: --nodes: fabric 'dgx1' has 1 node");
  check_request(folder, on("torus", {"--shape", "3x"}), "error: --shape: shape is '3x'; expected");
  check_request(folder, on("dgx1", {"--without", "gpu9"}),
                "error: --without: fabric 'dgx1' has no device 'gpu9'");
  check_request(folder, on("dgx9", {}), "error: --fabric: unknown fabric 'dgx9'");
  check_request(folder, on("none.yaml", {}), "error: --fabric: 'none.yaml' does not exist\n");
  check_request(folder, {"describe", "fabric", "dgx9"}, "error: NAME: unknown fabric 'dgx9'");
  check_request(
      folder,
      {"synthesize", "--fabric", "dgx1", "--gpus", "4", "--collective", "allreduce", "-o", "made"},
      "error: --gpus: fabric 'dgx1' has no option");
  check_request(folder, on("dgx1", {"--cost-model", "v10"}),
                "error: --cost-model: unknown cost model 'v10'");
  check_request(folder, on("dgx1", {"--cost-model", "none.yaml"}),
                "error: --cost-model: 'none.yaml' does not exist\n");
  // A place in the file needs no option.
  write_file(folder / "set.yaml", "name: mine\nprotocols: 5\n");
  check_request(folder, on("dgx1", {"--cost-model", "set.yaml"}), "error: set.yaml:1:1: ");
  write_file(folder / "cpu.yaml", "cpu:\nnodes: [{name: a}]\n");
  check_request(folder, on("cpu.yaml", {}),
                "error: cpu.yaml:1:1: cpu has no value; expected one of intel, amd, arm\n");
  check_request(folder, on("dgx1", {"--size", "0"}),
                "error: --size: size is '0'; expected >= 1B\n");
  check_request(
      folder, on("dgx1", {"--size", "-4"}),
      "error: --size: size is '-4'; expected a size that is not negative, e.g. '64KiB'\n");
  check_request(folder, on("dgx1", {"--size", "99999999TiB"}),
                "error: --size: size is '99999999TiB', which is too large; expected a size below "
                "2^64 bytes (16777216TiB)\n");
}

TEST_CASE("fit and compare refuse options before they simulate", "[cli][wrong-inputs]") {
  const TemporaryFolder folder;
  write_file(folder / "m.csv",
             "system,ranks,nodes,collective,size_bytes,time_us_median\nlab,8,1,all_reduce,1024,30\n"
             "lab,8,1,all_reduce,65536,40\n");
  const auto of = [](const std::string& command, const std::vector<std::string>& more) {
    std::vector<std::string> words{command, "--measured", "m.csv", "--fabric", "dgx1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  check_request(folder, of("compare", {"--nccl", "abc"}),
                "error: --nccl: 'abc' is not a release of NCCL; expected one like ");
  check_request(folder, of("fit", {"--nccl", "2.18", "--parameters", "kernel_lunch"}),
                "error: --parameters: unknown parameter 'kernel_lunch'");
  check_request(folder, of("fit", {"--nccl", "2.18", "--start", "v10"}),
                "error: --start: unknown cost model 'v10'");
  // The suffix is looked at before the file of rows.
  const std::string suffix =
      "; expected a name that ends in .yaml, by which --cost-model and --start tell the file of a "
      "set from a shipped set\n";
  check_request(folder, {"fit", "--measured", "none.csv", "-o", "f.txt"},
                "error: --out: found 'f.txt'" + suffix);
  check_request(folder, of("fit", {"-o", "m"}), "error: --out: found 'm'" + suffix);
  check_request(folder, {"fit", "--measured", "none.csv", "-o", "/dev/null"},
                "'none.csv' does not exist");
  check_request(folder, {"fit", "--measured", "none.csv", "-o", "f.yml"},
                "'none.csv' does not exist");
  const auto intervals = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = of("compare", {"--nccl", "2.18"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  check_request(folder, intervals({"--cost-model", "v10"}),
                "error: --cost-model: unknown cost model 'v10'");
  check_request(folder, intervals({"--cost-model", "hockney", "--write-intervals", "i.yaml"}),
                "error: --write-intervals: found --cost-model hockney, whose times are stated "
                "without intervals; expected the name or file of a parameter set\n");
  check_request(folder, intervals({"--write-intervals", "/proc/i.yaml"}),
                "error: --write-intervals: '/proc/i.yaml': cannot be written: ");
  check_request(folder, intervals({"--write-intervals", "."}),
                "error: --write-intervals: '.' is a folder; expected a file\n");
  check_request(folder, intervals({"-o", "/proc/x"}),
                "error: --out: '/proc/x': the folder cannot be made: ");
  check_request(folder, intervals({"-o", "m.csv/x/y"}),
                "error: --out: 'm.csv/x/y': the folder cannot be made: Not a directory\n");
  check_request(folder, intervals({"-o", "/proc/self"}),
                "error: --out: '/proc/self': cannot be written: ");
  // A folder that could be made is made after the work.
  check_request(folder, intervals({"-o", "x/y/", "--cost-model", "v10"}), "unknown cost model");
  const Ended few = run_program(
      intervals({"--coverage", "0.999", "--write-intervals", "i.yaml", "--quiet"}), folder.path());
  CHECK(few.code == 2);
  CHECK(contains(few.err, "too few held-out cells for 99.9 % intervals; expected at least 999 "));
}

TEST_CASE("fit refuses held-out rows that the file does not have, or that are all of them",
          "[cli][wrong-inputs]") {
  const TemporaryFolder folder;
  write_file(folder / "m.csv",
             "system,ranks,nodes,collective,size_bytes,time_us_median\nlab,8,1,all_reduce,1024,30\n"
             "lab,8,1,all_reduce,65536,40\n");
  const auto fit = [](const std::string& held_out) {
    return std::vector<std::string>{"fit",          "--measured",    "m.csv",      "--fabric",
                                    "dgx1",         "--nccl",        "2.18",       "--start",
                                    "v100",         "--evaluations", "3",          "--quiet",
                                    "--parameters", "kernel_launch", "--hold-out", held_out};
  };
  const std::string error = "error: --hold-out: ";
  const std::string sizes = "; the rows have sizes 1KiB, 64KiB\n";
  check_request(folder, fit("sizes=3B"), error + "no row has size 3B" + sizes);
  check_request(folder, fit("sizes=7B,1KiB,3B"), error + "no row has size 7B or 3B" + sizes);
  check_request(folder, fit("sizes=2B..16B x2"), error + "no row has size 2B..16B x2" + sizes);
  check_request(folder, fit("ranks=77,4"),
                error + "no row has 4 or 77 ranks; the rows have 8 ranks\n");
  check_request(folder, fit("ranks=8"),
                error + "found 'ranks=8', which leaves no row to fit; the rows have 8 ranks\n");
  check_request(folder, fit("sizes=1KiB..64KiB x2"),
                error + "found 'sizes=1KiB..64KiB x2', which leaves no row to fit" + sizes);
  const std::string expected =
      "; expected numbers of ranks, e.g. ranks=64,128, or sizes, e.g. sizes=128B,512B\n";
  for (const std::string held_out : {"ranks=", "sizes=", "ranks=8,", "sizes=,1KiB", "ranks=x"}) {
    check_request(folder, fit(held_out), error + "found '" + held_out + "'" + expected);
  }
  for (const char* held_out : {"sizes=1KiB", "sizes=256B..1KiB x2"}) {
    const Ended ended = run_program(fit(held_out), folder.path());
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK(contains(ended.out, "held out: size 1KiB "));
  }
}

TEST_CASE("compare says how to name an algorithm, and the advice works", "[cli][wrong-inputs]") {
  const TemporaryFolder folder;
  write_file(folder / "m.csv",
             "ranks,nodes,collective,size_bytes,time_us\n8,1,allreduce,1024,30\n");
  const auto on = [&](const char* fabric, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"compare", "--measured", "m.csv", "--fabric",
                                   fabric,    "--nccl",     "2.21",  "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words, folder.path());
  };
  const Ended refused = on("mi355x");
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "; --tuner ALGORITHM/PROTOCOL/CHANNELS does so\n"));
  CHECK(on("mi355x", {"--tuner", "ring/LL/8"}).code == 0);
  // AMD's GPUs whose library is modelled have its choice.
  CHECK(on("mi300x").code == 0);
  for (const std::string tuner : {"rccl-default", "ring/LL/8"}) {
    CHECK(on("mi300x", {"--tuner", tuner}).code == 0);
  }
}

TEST_CASE("fit and compare say why no row can be simulated", "[cli][wrong-inputs]") {
  const TemporaryFolder folder;
  write_file(folder / "m.csv",
             "system,ranks,nodes,collective,size_bytes,time_us_median\nlab,8,1,alltoall,1024,30\n"
             "lab,4,1,alltoall,1024,30\nlab,4,1,alltoall,2048,40\n");
  const std::string reason =
      "error: m.csv: none of the rows can be simulated: AllToAll on 4 ranks is 12 messages at "
      "once; --max-alltoall-ranks 4 simulates it (and 1 other reason)\n";
  for (const std::vector<std::string>& more : {std::vector<std::string>{"compare"},
                                               {"compare", "--json"},
                                               {"compare", "--quiet"},
                                               {"fit"},
                                               {"fit", "--json", "--quiet"}}) {
    std::vector<std::string> words = more;
    words.insert(words.end(), {"--measured", "m.csv", "--fabric", "dgx1", "--nccl", "2.18",
                               "--max-alltoall-ranks", "2"});
    const Ended ended = run_program(words, folder.path());
    INFO(more.back() << "\n" << ended.err);
    CHECK(ended.code == 2);
    CHECK(ended.err.ends_with(reason));
    const bool fit = more.front() == "fit";
    CHECK(contains(ended.err, "left out: 1 row of lab: AllToAll on 8 ranks ") == fit);
  }
}

TEST_CASE("deploy names folders as the user does", "[cli][wrong-inputs]") {
  const TemporaryFolder folder;
  write_file(folder / "t.yaml",
             "tables:\n  - fabric: dgx1\n    collective: allreduce\n    ranges:\n"
             "      - {sizes: 1KiB.., algorithm: ring, protocol: LL}\n");
  check_request(folder, {"deploy", "--dispatch", "t.yaml", "--for", "nccl-2.30", "-o", "/proc/foo"},
                "error: '/proc/foo': the folder cannot be made: ");
  // A folder that deploy wrote is no training, but has a policy.
  fs::create_directory(folder / "deployed");
  write_file(folder / "deployed/tuner.policy", "mine");
  check_request(folder, {"deploy", "--policy", "deployed", "--for", "nccl-2.30", "-o", "out"},
                "error: 'deployed' is a folder of cclgym deploy, not of a training run; name its "
                "policy: deployed/tuner.policy\n");
}

TEST_CASE("compare takes a log, and the tuner of rows that name none", "[cli][refusals]") {
  const TemporaryFolder folder;
  std::string log =
      "0: # nccl-tests version 2.17.8 nccl-headers=22809 nccl-library=22809\n"
      "0: # Collective test starting: reduce_perf\n";
  for (const char* rank : {"0", "1", "2", "3", "4", "5", "6", "7"}) {
    log += std::string("0: #  Rank  ") + rank + " Group  0 Pid 7000 on alpha0 device  " + rank +
           " [0000:1" + rank + ":00] NVIDIA H100 80GB HBM3\n";
  }
  log +=
      "0: #       size         count      type   redop    root     time   algbw   busbw  #wrong\n"
      "0: #        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n"
      "0:         4096          1024     float     sum       0    21.00    0.20    0.20       0\n"
      "0: # Out of bounds values : 0 OK\n";
  write_file(folder / "log.txt", log);
  const auto compare = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"compare",  "--measured", "log.txt",
                                   "--fabric", "hgx-h100",   "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words, folder.path());
  };
  const Ended chosen = compare({});
  CHECK(chosen.code == 0);
  CHECK(contains(chosen.out, "ring LL"));
  const Ended refused = compare({"--tuner", "cray-mpich"});
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "name an algorithm"));
  const Ended named = compare({"--tuner", "binary-tree/LL/8"});
  CHECK(named.code == 0);
  CHECK(contains(named.out, "binary-tree LL, 8 channels"));
  const Ended misspelt = compare({"--tuner", "nccl-defualt:2.18"});
  CHECK(misspelt.code == 2);
  CHECK(contains(misspelt.err,
                 "--tuner: unknown tuner 'nccl-defualt:2.18'; did you mean "
                 "'nccl-default'?"));
  CHECK(contains(compare({"--tuner", "rign/LL"}).err, "did you mean 'ring'?"));
}

}  // namespace
}  // namespace cclgym::test
