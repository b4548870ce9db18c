// Requests that are refused before any work: each ends with exit code 2 and says what was found and
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

}  // namespace
}  // namespace cclgym::test
