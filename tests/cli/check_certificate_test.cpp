// Tests of cclgym check-certificate on what cclgym synthesize writes.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <unistd.h>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

TEST_CASE("check-certificate verifies the certificates of synthesize and refuses altered ones",
          "[cli][check-certificate]") {
  const TemporaryFolder folder;
  const Ended made = run_program({"synthesize", "--fabric", "dgx1", "--collective", "allgather",
                                  "--no-sweep", "--time-limit", "86400", "-o", "made"},
                                 folder.path());
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK(contains(made.out, "proofs    made/certificates"));
  std::vector<std::string> all{"check-certificate"};
  for (const auto& file : std::filesystem::directory_iterator(folder / "made/certificates")) {
    all.push_back(file.path().string());
  }
  const Ended checked = run_program(all, folder.path());
  INFO(checked.err);
  CHECK(checked.code == 0);
  CHECK(contains(checked.out,
                 "allgather-cut.json: holds: allgather on dgx1 takes at least 7/6 rounds per chunk "
                 "(cut)\n"));
  CHECK(contains(checked.out,
                 "allgather-distance.json: holds: allgather on dgx1 takes at least 2 steps"));
  CHECK(contains(checked.out, "takes at least 3/2 rounds per chunk in 2 steps (relaxation)\n"));
  CHECK(contains(checked.out, "has a schedule with 6 chunks, 3 steps and 7 rounds (schedule)\n"));

  const auto refused = [&](const std::vector<std::string>& files, const std::string& message) {
    std::vector<std::string> args{"check-certificate"};
    args.insert(args.end(), files.begin(), files.end());
    const Ended ended = run_program(args, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(contains(ended.err, message));
    CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 1);
  };
  const std::string cut = read_file(folder / "made/certificates/allgather-cut.json");
  std::string altered = cut;
  altered.replace(altered.find("gpu7"), 4, "gpu0");
  write_file(folder / "altered.json", altered);
  refused({"altered.json"}, "error: altered.json: the certificate states the checksum");
  write_file(folder / "short.json", cut.substr(0, cut.size() / 2));
  refused({"short.json"}, "short.json: the certificate does not end in its checksum");
  refused({"nowhere.json"}, "'nowhere.json'");
  refused({}, "missing FILE");
  refused({"--quiet"}, "unknown option");
}

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

TEST_CASE("drat-trim accepts the proofs of check-certificate --drat, and refuses cut ones",
          "[cli][check-certificate]") {
  const TemporaryFolder folder;
  const Ended made =
      run_program({"synthesize", "--fabric", "dgx1", "--collective", "gather", "--pareto",
                   "--no-sweep", "--quiet", "--time-limit", "86400", "-o", "made"},
                  folder.path());
  INFO(made.err);
  REQUIRE(made.code == 0);
  const Ended checked = run_program({"check-certificate", "made/certificates/gather-rup-5-2-6.json",
                                     "made/certificates/gather-distance.json", "--drat", "proofs"},
                                    folder.path());
  INFO(checked.err);
  CHECK(checked.code == 0);
  const std::string stem = folder / "proofs/gather-rup-5-2-6";
  CHECK(contains(checked.out,
                 "check it with: drat-trim proofs/gather-rup-5-2-6.cnf "
                 "proofs/gather-rup-5-2-6.drat\n"));
  CHECK(read_file(stem + ".cnf").starts_with("p cnf "));
  CHECK(!read_file(stem + ".drat").empty());
  CHECK(!std::filesystem::exists(folder / "proofs/gather-distance.cnf"));

  SKIP_UNLESS(in_path("drat-trim"), "drat-trim, which is not installed");
  const auto verified = [&](const std::string& proof) {
    const std::string log = folder / "log";
    const std::string command = "drat-trim " + stem + ".cnf " + proof + " >" + log;
    return std::system(command.c_str()) == 0 && contains(read_file(log), "s VERIFIED");
  };
  CHECK(verified(stem + ".drat"));
  write_file(folder / "none.drat", "");
  CHECK_FALSE(verified(folder / "none.drat"));
}

}  // namespace
}  // namespace cclgym::test
