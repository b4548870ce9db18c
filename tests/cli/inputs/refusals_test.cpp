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
    check_request(folder,
                  {command, "--measured", "m.csv", "--fabric", "dgx1", "--nccl", "2.18", "-o", "o"},
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

}  // namespace
}  // namespace cclgym::test
