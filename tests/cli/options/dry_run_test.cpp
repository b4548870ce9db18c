// Options --dry-run and --json of the commands that write files: a dry run writes nothing, and with
// --json standard output is one JSON value.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

using DryWords = std::vector<std::string>;

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    names.insert(entry.path().string());
  }
  return names;
}

// The JSON value that the command prints; it must end well.
nlohmann::json printed(DryWords words, const TemporaryFolder& folder) {
  words.emplace_back("--json");
  const Ended ended = run_program(words, folder.path());
  INFO(words.front() << ": " << ended.err << ended.out);
  REQUIRE(ended.code == 0);
  REQUIRE(nlohmann::json::accept(ended.out));
  return nlohmann::json::parse(ended.out);
}

TEST_CASE("dry runs write nothing, with and without --json", "[cli][dry-run]") {
  const TemporaryFolder folder;
  write_file(folder / "e.yaml",
             "name: e\nfabrics: [dgx1]\ncollectives: [allreduce]\nalgorithms: [ring, tree]\n"
             "sizes: 1KiB..64KiB x4\n");
  write_file(folder / "v.yaml",
             "{fabric: {name: ring, gpus: 4}, actions: stock-nccl, oracle: true,\n"
             " workload: {name: sweep, collectives: [allreduce], sizes: 1KiB..1MiB x4}}\n");
  REQUIRE(run_program({"run", "e.yaml", "--out", "done", "--quiet"}, folder.path()).code == 0);
  REQUIRE(run_program({"tune-dispatch", "done", "-o", "t.yaml", "--quiet"}, folder.path()).code ==
          0);
  const std::string loop = source_path("experiments/loop-netlab.yaml");
  const std::vector<DryWords> commands{
      {"run", "e.yaml", "--out", "o"},
      {"tune-dispatch", "e.yaml", "--results", "o", "-o", "o.yaml"},
      {"tune-dispatch", "done", "-o", "o.yaml"},
      {"synthesize", "--fabric", "z52", "--collective", "allgather", "-o", "o"},
      {"evaluate", "v.yaml", "--against", "random,oracle", "-o", "o"},
      {"report", "done", "--out", "o.html", "--svg", "o"},
      {"deploy", "--dispatch", "t.yaml", "--for", "nccl-2.30", "-o", "o"},
      {"loop", loop, "-o", "o"}};
  const std::set<std::string> before = names_in(folder.path());
  for (DryWords words : commands) {
    INFO(words.front());
    words.emplace_back("--dry-run");
    const Ended text = run_program(words, folder.path());
    CHECK(text.code == 0);
    CHECK_FALSE(text.out.empty());
    CHECK_FALSE(printed(words, folder).empty());
    CHECK(names_in(folder.path()) == before);
  }
}

TEST_CASE("a dry run of evaluate counts runs and calls, and estimates from a sample",
          "[cli][dry-run]") {
  const TemporaryFolder folder;
  write_file(folder / "v.yaml",
             "{fabric: {name: ring, gpus: 4}, actions: stock-nccl, oracle: true,\n"
             " workload: {name: sweep, collectives: [allreduce], sizes: 1KiB..1MiB x4}}\n");
  const auto plan = [&](const DryWords& more) {
    DryWords words{"evaluate", "v.yaml", "--against", "random,oracle", "--dry-run"};
    words.insert(words.end(), more.begin(), more.end());
    return printed(words, folder);
  };
  const nlohmann::json few = plan({"--seeds", "2"});
  CHECK(few["runs"] == 4);
  CHECK(few["calls"] == 4 * 6);
  CHECK(few["estimated_s"].get<double>() > 0);
  const nlohmann::json many = plan({"--seeds", "2", "--calls", "100000000"});
  CHECK(many["calls"] == 400'000'000);
  CHECK(many["timed_calls"] < 100'000'000);
  const double per_call_s = many["timed_s"].get<double>() / many["timed_calls"].get<double>();
  CHECK(many["estimated_s"].get<double>() == Approx(4e8 * per_call_s));
}

TEST_CASE("synthesize and deploy print JSON of what they wrote", "[cli][json]") {
  const TemporaryFolder folder;
  const nlohmann::json made = printed({"synthesize", "--fabric", "z52", "--collective", "allgather",
                                       "--no-sweep", "--quiet", "-o", "s"},
                                      folder);
  CHECK(made["min_steps"] == 4);
  CHECK(made["min_rounds_per_chunk"] == "7/2");
  CHECK(made["programs"][0]["rounds_per_chunk"] == "7/2");
  CHECK(made["table"].is_null());
  CHECK(std::filesystem::exists(folder / made["report"].get<std::string>()));
  const DryWords deploy{"deploy", "--constants", "--machine", "dgx1",
                        "--for",  "nccl-2.28",   "-o",        "d"};
  const nlohmann::json deployed = printed(deploy, folder);
  CHECK(deployed["written"] == true);
  for (const auto& file : deployed["files"]) {
    const std::string path = folder / ("d/" + file["name"].get<std::string>());
    INFO(path);
    REQUIRE(std::filesystem::exists(path));
    CHECK(std::filesystem::file_size(path) == file["bytes"]);
  }
  const nlohmann::json loop =
      printed({"loop", "--show", source_path("calibration/results/netlab/loop")}, folder);
  CHECK(loop["calls"].get<int>() > 50'000);
  CHECK(loop["comparisons"][0]["subject"] == "agent");
  CHECK(loop["comparisons"][0]["total"]["low"] <= loop["comparisons"][0]["total"]["mean"]);
}

TEST_CASE("lists of names have no empty and no repeated ones", "[cli]") {
  const TemporaryFolder folder;
  const auto refused = [&](const DryWords& words, const std::string& text) {
    const Ended ended = run_program(words, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(contains(ended.err, text));
  };
  for (const char* names : {"random,,oracle", "random,", ","}) {
    refused({"evaluate", "v.yaml", "--against", names}, "--against: found an empty name");
  }
  refused({"evaluate", "v.yaml", "--against", "random,random"}, "--against: names 'random' twice");
  refused({"deploy", "--constants", "--machine", "ndv4,ndv4", "--for", "nccl-2.28", "-o", "o"},
          "--machine: names 'ndv4' twice");
}

}  // namespace
}  // namespace cclgym::test
