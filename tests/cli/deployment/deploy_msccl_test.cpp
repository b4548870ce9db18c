// Tests of cclgym deploy --for msccl as a process.
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "cli/deployment/deploy_policy.hpp"
#include "cli/program.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "collectives/verifier/verify.hpp"
#include "deploy/nccl_plugin/deployed_policy.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

// A line of index.csv.
struct Row {
  std::uint64_t from;
  std::uint64_t to;
  std::string file;
  std::string choice;
};

std::vector<Row> rows_of(const std::string& index) {
  std::istringstream lines(index);
  std::string line;
  REQUIRE(std::getline(lines, line));
  CHECK(line == "machine,collective,min_bytes,max_bytes,file,choice");
  std::vector<Row> rows;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::vector<std::string> cell(6);
    for (std::string& text : cell) std::getline(cells, text, ',');
    CHECK(cell[0] == "dgx1");
    CHECK(cell[1] == "allreduce");
    rows.push_back({std::stoull(cell[2]), std::stoull(cell[3]), cell[4], cell[5]});
  }
  return rows;
}

std::size_t files_in(const std::string& folder) {
  const auto entries = std::filesystem::directory_iterator(folder);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

// Checks every interval against its file; returns the number of files.
std::size_t check_folder(const std::string& out, XmlDialect dialect) {
  const std::vector<Row> rows = rows_of(read_file(out + "/index.csv"));
  REQUIRE_FALSE(rows.empty());
  CHECK(rows.front().from == 0);
  CHECK(rows.back().to == deployed_sizes().back());
  std::size_t files = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    CAPTURE(row.file, row.choice, row.from);
    if (i > 0) CHECK(row.from == rows[i - 1].to + 1);
    const bool interpreted = contains(row.choice, "all-pairs");
    CHECK((row.file != "nccl") == interpreted);
    if (row.file == "nccl") continue;
    ++files;
    const XmlProgram read = read_msccl_xml_file(out + "/programs/" + row.file);
    CHECK(verify(read.program, {.slots = 2}).ok);
    CHECK(read.program.contract.ranks() == 8);
    CHECK(read.program.contract.kind() == CollectiveKind::AllReduce);
    CHECK(read.settings.dialect == dialect);
    CHECK(read.settings.min_bytes == row.from);
    CHECK(read.settings.end_bytes == row.to + 1);
    for (const std::string& word :
         {std::string("LL128"), std::string("LL"), std::string("Simple")}) {
      if (contains(row.choice + " ", " " + word + " ")) CHECK(read.settings.protocol == word);
    }
    // As frameworks call it.
    CHECK((read.program.contract.in_place() || read.settings.also_in_place));
  }
  CHECK(files_in(out + "/programs") == files);
  return files;
}

const std::string kExpressible =
    "offline, knobs: {algorithm: [ring, all-pairs], chunk: protocol, channels: [1, 2], "
    "instances: [1, 2], threads: nccl}";

TEST_CASE("an offline policy becomes MSCCL programs for intervals of sizes", "[cli][deploy]") {
  const TemporaryFolder folder;
  write_file(folder / "p.policy", policy_for("dgx1", kExpressible, 15));
  const auto run = [&](const std::string& target) {
    return run_program({"deploy", "--policy", "p.policy", "--for", target, "-o", "out"},
                       folder.path());
  };
  const Ended azure = run("msccl-azure");
  INFO(azure.err);
  REQUIRE(azure.code == 0);
  const std::string out = folder / "out";
  const std::size_t files = check_folder(out, XmlDialect::Azure);
  REQUIRE(files > 4);  // more than microsoft/msccl loads
  REQUIRE(contains(read_file(out + "/index.csv"), ",nccl,"));
  CHECK(contains(azure.out, "dgx1: " + std::to_string(files) + " programs"));
  CHECK(contains(read_file(out + "/env.sh"),
                 "export MSCCL_ALGO_DIR=\"$CCLGYM_DEPLOYED/programs\"\n"));
  // The programs of an earlier deployment go, other files stay.
  write_file(out + "/programs/msccl-99-old.xml", "old");
  write_file(out + "/mine", "mine");
  const Ended microsoft = run("msccl");
  INFO(microsoft.err);
  REQUIRE(microsoft.code == 0);
  CHECK(check_folder(out, XmlDialect::Microsoft) == files);
  CHECK(read_file(out + "/mine") == "mine");
  const std::string environment = read_file(out + "/env.sh");
  CHECK(contains(environment, "export NCCL_ALGO=MSCCL,RING,TREE\n"));
  std::size_t named = 0;
  for (std::size_t at = 0; (at = environment.find("/programs/msccl-", at)) != std::string::npos;) {
    ++at;
    ++named;
  }
  CHECK(named == 4);
  CHECK(contains(microsoft.out, "loads at most 4"));
}

TEST_CASE("deploy --for msccl refuses what a file cannot express", "[cli][deploy]") {
  const TemporaryFolder folder;
  write_file(folder / "chunks.policy", policy_for("dgx1", "offline", 2, {"all-pairs", "32KiB"}));
  write_file(folder / "threads.policy",
             policy_for("dgx1",
                        "offline, knobs: {chunk: protocol, algorithm: all-pairs, channels: 1, "
                        "instances: 1}",
                        2, {"all-pairs", "64"}));
  write_file(folder / "nccl.policy", policy_for("dgx1", "stock-nccl", 1));
  const auto refused = [&](const std::string& policy, const std::string& target,
                           const std::string& part, const std::string& more = "--quiet") {
    const Ended ended = run_program(
        {"deploy", "--policy", policy, "--for", target, "-o", "out", more}, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(contains(ended.err, part));
    CHECK_FALSE(std::filesystem::exists(folder / "out"));
  };
  refused("chunks.policy", "msccl",
          "chunks.policy: dgx1 allreduce from 8B: the choice has knob 'chunk' at '32KiB', which a "
          "file cannot express; train with knobs: {chunk: protocol}");
  refused("threads.policy", "msccl-azure", "knob 'threads' at '64'");
  refused("nccl.policy", "msccl", "the policy chooses tuners and NCCL's own programs only");
  refused("nccl.policy", "mscl", "did you mean 'msccl'?");
  refused("nccl.policy", "msccl", "--constants: is for a release of NCCL, not for msccl",
          "--constants");
  // microsoft/msccl has threads.
  const Ended threads = run_program(
      {"deploy", "--policy", "threads.policy", "--for", "msccl", "-o", "out"}, folder.path());
  INFO(threads.err);
  REQUIRE(threads.code == 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out/programs")) {
    CHECK(contains(read_file(entry.path().string()), "nthreads=\"64\""));
  }
}

}  // namespace
}  // namespace cclgym::test
