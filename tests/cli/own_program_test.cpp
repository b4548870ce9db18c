// The commands of docs/collectives.md, "A program of your own".
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "collectives/program.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/needs.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

// The commands of the section, each as a list of arguments. Paths that start with docs/ refer to
// the source tree.
std::vector<std::vector<std::string>> commands() {
  const std::string root = source_folder();
  const std::string page = read_file(root + "/docs/collectives.md");
  const std::size_t section = page.find("\n## A program of your own\n");
  REQUIRE(section != std::string::npos);
  const std::size_t begin = page.find("```sh\n", section) + 6;
  std::istringstream lines(page.substr(begin, page.find("```", begin) - begin));
  std::vector<std::vector<std::string>> all;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    REQUIRE(word == "cclgym");
    std::vector<std::string>& args = all.emplace_back();
    while (words >> word) args.push_back(word.starts_with("docs/") ? root + "/" + word : word);
  }
  return all;
}

std::string lines_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (contains(line, part)) kept += line + '\n';
  }
  return kept;
}

}  // namespace

TEST_CASE("a user's program is swept, dispatched, and chosen by a trained agent",
          "[cli][programs]") {
  const TemporaryFolder folder;
  const auto all = commands();
  REQUIRE(all.size() == 4);
  const auto run = [&](std::size_t number) {
    const Ended ended = run_program(all[number], folder.path());
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    return ended;
  };
  (void)run(0);
  const std::string results = read_file(folder / "results/own-program/results.csv");
  const std::string rows = lines_with(results, ",scatter-pairs,");
  // There are three protocols and six sizes. The program has its own two channels, regardless of
  // the axis.
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 18);
  CHECK(contains(rows, "/scatter-pairs/Simple/c2/t512/4MiB/"));

  (void)run(1);
  const std::string table = read_file(folder / "own-program-table.yaml");
  CHECK(contains(table, "scatter_pairs.xml\", name: \"scatter-pairs\", hash: \""));
  CHECK(contains(table, "algorithm: scatter-pairs"));
  // The page shows the line as it is, but for the path, which depends on the folder.
  const std::string line = lines_with(table, "name: \"scatter-pairs\"");
  CHECK(contains(read_file(source_path("docs/collectives.md")),
                 line.substr(line.find("scatter_pairs.xml"))));
  const Ended dispatched =
      run_program({"simulate", "--fabric", "ndv4", "--collective", "broadcast", "--size", "4MiB",
                   "--algorithm", "dispatch:own-program-table.yaml", "--json"},
                  folder.path());
  INFO(dispatched.err);
  CHECK(dispatched.code == 0);
  CHECK(contains(dispatched.out, "scatter-pairs"));

  const Ended trained = run_program(all[2], folder.path());
  SKIP_UNLESS(!contains(trained.err, "cannot train"), kNeedsTorch);
  INFO(trained.err);
  REQUIRE(trained.code == 0);

  (void)run(3);
  const std::string evaluation = read_file(folder / "results/own-program-agent/evaluation.csv");
  CHECK(contains(lines_with(evaluation, ",oracle,"), "scatter-pairs"));
  CHECK(contains(lines_with(evaluation, ",lstm-ppo,"), "scatter-pairs"));
  CHECK(contains(read_file(folder / "results/own-program-agent/choices.txt"), "scatter-pairs"));
}

TEST_CASE("what is wrong with a program is said at its place", "[cli][programs]") {
  const TemporaryFolder folder;
  const std::string xml = source_path("docs/examples/own_program/scatter_pairs.xml");
  const auto refused = [&](const std::string& algorithms, const std::string& part) {
    write_file(folder / "e.yaml",
               "name: e\nfabrics: ndv4\ncollectives: broadcast\nsizes: 1MiB\nalgorithms: [" +
                   algorithms + "]\n");
    const Ended ended = run_program({"run", "e.yaml"}, folder.path());
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(contains(ended.err, part));
  };
  refused("ring, {file: gone.xml, name: p}", "e.yaml:5:27: program 'gone.xml' does not exist");
  refused("{file: " + xml + ", name: ring}", "there is an algorithm 'ring' already");
  refused("{file: " + xml + ", name: nccl-default}", "'nccl-default' is the name of a tuner");
  refused("{file: " + xml + ", name: 'a b'}",
          "e.yaml:5:14: 'a b' cannot be the name of an algorithm; expected");
  refused("{file: " + xml + "}", "name");
  refused("{file: ., name: p}",
          "e.yaml:5:21: program '.' is a folder; expected a file in MSCCL XML");
  write_file(folder / "bad.xml", "<algo name=\"x\"\n");
  refused("{file: bad.xml, name: p}", "bad.xml:");
  const Ended listed = run_program({"list", "algorithms", "--programs", "mine=" + xml});
  CHECK(listed.code == 0);
  CHECK(contains(lines_with(listed.out, "mine "), "program of 2 channels"));
  const Ended nameless = run_program({"list", "algorithms", "--programs", "x.xml"});
  CHECK(nameless.code == 2);
  CHECK(nameless.err == "error: --programs: found 'x.xml'; expected NAME=FILE, e.g. ap=ap.xml\n");
  const Ended gone = run_program({"list", "algorithms", "--programs", "x=."});
  CHECK(gone.code == 2);
  CHECK(contains(gone.err, "error: --programs: '.' is a folder"));
  const Ended both = run_program({"simulate", "--fabric", "ndv4", "--size", "4MiB", "--program",
                                  xml, "--programs", "mine=" + xml});
  CHECK(both.code == 2);
  CHECK(contains(both.err, "error: --programs: excludes --program"));
  const Ended other =
      run_program({"simulate", "--fabric", "ndv4", "--collective", "broadcast", "--size", "4MiB",
                   "--programs", "mine=" + xml, "--algorithm", "mine", "--channels", "3"});
  CHECK(other.code == 2);
  CHECK(contains(other.err, "channels of program 'mine' must be 2, found 3"));
}

TEST_CASE("list shows the custom collective of a user's program", "[cli][programs]") {
  const TemporaryFolder folder;
  ProgramBuilder p("shift", Contract::custom("custom", 2, {1, 1}, {1, 1}, nullptr));
  for (int rank = 0; rank < 2; ++rank) {
    (void)p.chunk(rank, Buffer::Input, 0).copy(1 - rank, Buffer::Output, 0);
  }
  write_file(folder / "shift.xml", to_msccl_xml(compile(p.finish())));
  const Ended with =
      run_program({"list", "collectives", "--programs", "shift=shift.xml"}, folder.path());
  INFO(with.err);
  REQUIRE(with.code == 0);
  CHECK(with.out.ends_with("\ncustom         shift\n"));
  CHECK_FALSE(contains(run_program({"list", "collectives"}).out, "custom"));
}

TEST_CASE("evaluate warns of a program that cannot run on the environment's machine",
          "[cli][programs]") {
  const TemporaryFolder folder;
  write_file(folder / "two-nodes.yaml",
             "fabric: {name: ndv4, nodes: 2}\nactions: offline\n"
             "workload: {name: sweep, collectives: [broadcast], sizes: 1MiB}\n"
             "programs: [{file: \"" +
                 source_path("docs/examples/own_program/scatter_pairs.xml") +
                 "\", name: sp}]\n"
                 "knobs: {algorithm: [ring, sp], channels: 1, threads: nccl, chunk: protocol, "
                 "protocol: Simple}\n");
  const Ended ended = run_program(
      {"evaluate", "two-nodes.yaml", "--against", "random", "--calls", "1", "--seeds", "1"},
      folder.path());
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK(contains(ended.err, "two-nodes.yaml:4:"));
  CHECK(contains(ended.err, "program 'sp' can never run here: sp does not run on 16 ranks"));
}

TEST_CASE("verify refuses options of the execution without --execute", "[cli][programs]") {
  const TemporaryFolder folder;
  const std::string file = source_path("docs/examples/own_program/scatter_pairs.xml");
  const Ended ended = run_program({"verify", file, "--seed", "2"}, folder.path());
  CHECK(ended.code == 2);
  CHECK(contains(ended.err, "--seed"));
  CHECK(contains(ended.err, "add --execute"));
  CHECK(run_program({"verify", file, "--execute", "--seed", "2"}, folder.path()).code == 0);
}

TEST_CASE("verify and compile take collectives over levels", "[cli][programs]") {
  const TemporaryFolder folder;
  const auto verified = [&](const std::string& name, const std::string& nodes) {
    return run_program(
        {"verify", name, "--collective", "reducescatter", "--gpus", "8", "--nodes", nodes},
        folder.path());
  };
  const Ended right = verified("hierarchical:4x2:ring:subcomms=2", "2");
  CHECK(right.code == 0);
  CHECK(contains(right.out, "right: computes reducescatter in every order of execution"));
  const Ended typo = verified("hierarchical:4x2:ring:subcoms=2", "2");
  CHECK(typo.code == 2);
  CHECK(contains(typo.err, "did you mean 'subcomms='?"));
  const Ended levels = verified("hierarchical:4x2:ring", "4");
  CHECK(levels.code == 2);
  CHECK(contains(levels.err, "level 1 of 4 ranks is partly inside nodes of 2"));
  const Ended ranks = verified("hierarchical:4x4:ring", "2");
  CHECK(ranks.code == 2);
  CHECK(contains(ranks.err, "it needs exactly 16 ranks, the product of its factors 4x4"));
  const Ended unknown = verified("rings", "1");
  CHECK(unknown.code == 2);
  CHECK(contains(unknown.err, "unknown algorithm 'rings'"));

  const auto compiled = [&](const std::string& name) {
    return run_program(
        {"compile", name, "--collective", "allgather", "--gpus", "8", "--out", "p.xml"},
        folder.path());
  };
  REQUIRE(compiled("hierarchical:8:recursive").code == 0);
  CHECK(run_program({"verify", "p.xml"}, folder.path()).code == 0);
  CHECK(contains(compiled("hierarchical:4x2:recursive").err, "a file is one kernel"));
}

}  // namespace cclgym::test
