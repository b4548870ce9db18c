// Tests of programs in experiments and in dispatch tables.
#include <algorithm>
#include <filesystem>

#include "collectives/library/program_entry.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "experiments/run/run_experiment.hpp"
#include "experiments/run/run_folder.hpp"
#include "experiments/summary/tune_dispatch.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/shipped_algorithms.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

namespace cclgym {
namespace {

using test::contains;
using test::experiment_with;
using Lines = std::vector<std::pair<std::string, std::string>>;

std::string xml_of(const char* algorithm, int ranks, int channels) {
  AlgorithmRequest request;
  request.collective = CollectiveKind::AllReduce;
  request.ranks = ranks;
  request.channels = channels;
  return to_msccl_xml(*build_algorithm(algorithm, request));
}

const char* const kApTable =
    "tables: [{fabric: ndv4, collective: allreduce, ranges: [{sizes: .., algorithm: ap}]}]\n";

Lines with_algorithms(const std::string& algorithms) {
  return {{"fabrics", "ndv4"},    {"collectives", "allreduce"},  {"algorithms", algorithms},
          {"channels", "[1, 4]"}, {"instances", "[1, 2]"},       {"sizes", "[64KiB, 1MiB]"},
          {"tile", "protocol"},   {"slots", "[1, 2, protocol]"}, {"protocols", "[LL, Simple]"}};
}

}  // namespace

TEST_CASE("a program in an experiment has its own channels and one instance",
          "[experiments][programs]") {
  const test::TemporaryFolder folder;
  test::write_file(folder / "ap.xml", xml_of("all-pairs", 8, 2));
  const Experiment experiment = parse_experiment(
      experiment_with(with_algorithms("[ring, {file: ap.xml, name: ap}]")), folder / "e.yaml");
  std::size_t cells = 0;
  for (const Cell& cell : experiment.cells) {
    if (cell.config.algorithm != "ap") continue;
    ++cells;
    CHECK(cell.config.channels == 2);
    CHECK(cell.config.instances == 1);
  }
  CHECK(cells == 2 * 3 * 2);  // two protocols, three slots, two sizes
  CHECK(experiment.algorithms.at("ap").fixed());
  CHECK(AlgorithmLibrary::shipped().find("ap") == nullptr);
  run_experiment(experiment, {.folder = folder / "run"});
  CHECK(read_run_results(experiment, folder / "run").rows.size() == experiment.cells.size());
}

TEST_CASE("names with parameters are algorithms of an experiment", "[experiments][programs]") {
  const test::TemporaryFolder folder;
  const std::string name = "hierarchical:2x2x2:ring+bruck+recursive";
  const Experiment experiment =
      parse_experiment(experiment_with({{"fabrics", "ndv4"},
                                        {"collectives", "[allgather, allreduce]"},
                                        {"algorithms", "[ring, " + name + "]"},
                                        {"sizes", "[64KiB, 1MiB]"}}),
                       folder / "e.yaml");
  CHECK(experiment.algorithms.at(name).spelled);
  CHECK(std::ranges::count(experiment.cells, name,
                           [](const Cell& cell) { return cell.config.algorithm; }) == 4);
  run_experiment(experiment, {.folder = folder / "run"});
  CHECK(read_run_results(experiment, folder / "run").rows.size() == experiment.cells.size());
  const auto refused = [&](const std::string& algorithm) {
    return thrown([&] {
      (void)parse_experiment(experiment_with({{"algorithms", "[ring, " + algorithm + "]"}}),
                             folder / "e.yaml");
    });
  };
  CHECK(contains(refused("hierarchical:2x4:rnig"), "(did you mean 'ring'?)"));
  CHECK(contains(refused("hierarchical:2x4:rnig"), "e.yaml:"));
  // Levels that do not fit the fabric: two nodes of eight.
  const std::string levels = thrown([&] {
    (void)parse_experiment(experiment_with({{"fabrics", "{name: ndv4, nodes: 2}"},
                                            {"collectives", "allgather"},
                                            {"algorithms", "hierarchical:4x4:ring"}}),
                           folder / "e.yaml");
  });
  CHECK(contains(levels, "level 2 of 4 ranks is partly inside nodes of 8"));
  CHECK(contains(levels, "e.yaml:"));
}

TEST_CASE("a changed program is another experiment, its path is not", "[experiments][programs]") {
  const test::TemporaryFolder folder;
  const auto hash = [&](const std::string& file) {
    return parse_experiment(
               experiment_with(with_algorithms("[ring, {file: " + file + ", name: ap}]")),
               folder / "e.yaml")
        .hash();
  };
  test::write_file(folder / "a.xml", xml_of("all-pairs", 8, 2));
  test::write_file(folder / "b.xml", "<!-- a comment -->\n" + xml_of("all-pairs", 8, 2));
  test::write_file(folder / "c.xml", xml_of("spread-ring", 8, 2));
  CHECK(hash("a.xml") == hash("b.xml"));
  CHECK(hash("a.xml") != hash("c.xml"));
}

TEST_CASE("a program that does not fit is refused at its place", "[experiments][programs]") {
  const test::TemporaryFolder folder;
  test::write_file(folder / "four.xml", xml_of("all-pairs", 4, 1));
  test::write_file(folder / "bad.xml", "<algo>\n  <gpu/>\n</algo>\n");
  const auto refusal = [&](const std::string& algorithms) {
    return thrown([&] {
      return parse_experiment(experiment_with(with_algorithms(algorithms)), folder / "e.yaml");
    });
  };
  CHECK(contains(refusal("[{file: four.xml, name: p}]"), "p does not run on 8 ranks"));
  CHECK(contains(refusal("[{file: gone.xml, name: p}]"), "gone.xml' does not exist"));
  CHECK(contains(refusal("[{file: bad.xml, name: p}]"), "bad.xml:1:1"));
  CHECK(contains(refusal("[ring, {file: four.xml, name: ring}]"),
                 "there is an algorithm 'ring' already"));
  CHECK(contains(refusal("[{file: four.xml, named: p}]"), "named"));
  CHECK(contains(refusal("[ring, p]"), "algorithm"));
}

TEST_CASE("a custom collective is swept under its own name", "[experiments][programs]") {
  const test::TemporaryFolder folder;
  ProgramBuilder p("shift", Contract::custom("custom", 8, std::vector<int>(8, 1),
                                             std::vector<int>(8, 1), nullptr));
  for (int rank = 0; rank < 8; ++rank) {
    (void)p.chunk(rank, Buffer::Input, 0).copy((rank + 1) % 8, Buffer::Output, 0);
  }
  test::write_file(folder / "shift.xml", to_msccl_xml(compile(p.finish())));
  const Experiment experiment =
      parse_experiment(experiment_with({{"fabrics", "ndv4"},
                                        {"collectives", "[allreduce, custom]"},
                                        {"algorithms", "[ring, {file: shift.xml, name: shift}]"},
                                        {"sizes", "1MiB"}}),
                       folder / "e.yaml");
  REQUIRE(experiment.cells.size() == 2);
  CHECK(contains(cell_key(experiment, experiment.cells[1]), "/custom/shift/"));
  run_experiment(experiment, {.folder = folder / "run"});
  CHECK(read_run_results(experiment, folder / "run").rows[1].time_us > 0);
}

TEST_CASE("a tuned table names the programs of its sweep and can be used again",
          "[experiments][programs]") {
  const test::TemporaryFolder folder;
  test::write_file(folder / "programs/ap.xml", xml_of("all-pairs", 8, 2));
  auto lines = with_algorithms("[ring, {file: programs/ap.xml, name: ap}]");
  lines.emplace_back("legal", "any");
  const Experiment sweep = parse_experiment(experiment_with(lines), folder / "sweep.yaml");
  run_experiment(sweep, {.folder = folder / "run"});
  const auto blocks = tune_dispatch(sweep, read_run_results(sweep, folder / "run").rows, 0.01);
  const std::string yaml = to_yaml(dispatch_table(sweep, blocks, folder / "tables"));
  CHECK(contains(yaml, "{file: \"../programs/ap.xml\", name: \"ap\", hash: \""));
  test::write_file(folder / "tables/t.yaml", yaml);
  const DispatchTable table = load_dispatch_table(folder / "tables/t.yaml");
  REQUIRE(table.programs.size() == 1);
  CHECK(table.algorithms.at("ap").fixed());

  const Experiment again =
      parse_experiment(experiment_with({{"fabrics", "ndv4"},
                                        {"collectives", "allreduce"},
                                        {"algorithms", "['dispatch:tables/t.yaml']"},
                                        {"sizes", "[64KiB, 1MiB]"}}),
                       folder / "again.yaml");
  CHECK(std::ranges::any_of(again.cells,
                            [](const Cell& cell) { return cell.config.algorithm == "ap"; }));
  run_experiment(again, {.folder = folder / "again"});
  // The table's program has the same name as another program of the experiment.
  test::write_file(folder / "other.xml", xml_of("spread-ring", 8, 2));
  CHECK(contains(thrown([&] {
                   return parse_experiment(
                       experiment_with({{"fabrics", "ndv4"},
                                        {"collectives", "allreduce"},
                                        {"algorithms",
                                         "[{file: other.xml, name: ap}, 'dispatch:tables/t.yaml']"},
                                        {"sizes", "1MiB"}}),
                       folder / "clash.yaml");
                 }),
                 "there is an algorithm 'ap' already"));
  // The sweep's own program, changed: its results are those of another experiment.
  test::write_file(folder / "programs/ap.xml", xml_of("spread-ring", 8, 2));
  const std::string stale =
      thrown([&] { return read_run_results(load_run_experiment(folder / "run"), folder / "run"); });
  CHECK(contains(stale, "with its programs and tables as they are now"));
  CHECK(contains(
      stale, "cclgym run " + (folder / "sweep.yaml") + " --out " + (folder / "run") + " --fresh"));
}

TEST_CASE("a table refuses a program that has changed since it was made",
          "[experiments][programs]") {
  const test::TemporaryFolder folder;
  const std::string two = xml_of("all-pairs", 8, 2);
  test::write_file(folder / "ap.xml", two);
  const std::string hash = program_hash(parse_msccl_xml(two, "ap.xml").program);
  const auto table = [&](const std::string& more) {
    return "programs:\n  - {file: ap.xml, name: ap" + more + "}\n" + kApTable;
  };
  const auto refusal = [&](const std::string& more) {
    return thrown([&] { return parse_dispatch_table(table(more), folder / "t.yaml"); });
  };
  const DispatchTable read = parse_dispatch_table(table(", hash: " + hash), folder / "t.yaml");
  CHECK(contains(to_yaml(read), ", hash: \"" + hash + "\"}"));
  test::write_file(folder / "ap.xml", "<!-- only a comment is new -->\n" + two);
  CHECK(refusal(", hash: " + hash) == "(nothing thrown)");

  const std::string four = xml_of("all-pairs", 8, 4);
  test::write_file(folder / "ap.xml", four);
  const std::string other = program_hash(parse_msccl_xml(four, "ap.xml").program);
  CHECK(refusal(", hash: " + hash) ==
        folder / "t.yaml:2:36: program 'ap' has changed: '" + (folder / "ap.xml") + "' has hash " +
            other + ", and this file was written for " + hash +
            "; run the sweep and tune-dispatch again, or set hash to " + other +
            " to use the changed program as it is");
  CHECK(refusal("") == "(nothing thrown)");  // tables of earlier versions
  CHECK(contains(refusal(", hash: 12"),
                 "t.yaml:2:36: hash is '12'; expected 16 lower-case hex digits"));
}

TEST_CASE("the path of a program is right in a table behind symbolic links",
          "[experiments][programs]") {
  namespace fs = std::filesystem;
  const test::TemporaryFolder folder;
  test::write_file(folder / "programs/ap.xml", xml_of("all-pairs", 8, 2));
  fs::create_directories(folder / "far/away/tables");
  fs::create_directory_symlink(folder / "far/away/tables", folder / "tables");
  fs::create_directory_symlink(folder / "programs", folder / "far/away/linked");
  for (const std::string programs : {"programs", "far/away/linked"}) {
    const Experiment sweep = parse_experiment(
        experiment_with(with_algorithms("[{file: " + programs + "/ap.xml, name: ap}]")),
        folder / "sweep.yaml");
    TunedRange range;
    range.range.choice.config = {.algorithm = "ap", .channels = 2};
    const DispatchTable table =
        dispatch_table(sweep, {{.fabric = "ndv4", .ranges = {range}}}, folder / "tables");
    CHECK(table.programs.at(0).file == "../../../programs/ap.xml");
    test::write_file(folder / "tables/t.yaml", to_yaml(table));
    CHECK(load_dispatch_table(folder / "tables/t.yaml").algorithms.at("ap").fixed());
  }
}

TEST_CASE("selectors and combinations know the channels of a program", "[experiments][programs]") {
  const test::TemporaryFolder folder;
  test::write_file(folder / "ap.xml", xml_of("all-pairs", 8, 2));
  const auto with = [&](const std::string& key, const std::string& value) {
    Lines lines = with_algorithms("[ring, {file: ap.xml, name: ap}]");
    for (auto& [name, text] : lines) {
      if (name == "instances") text = "[2, 4]";
    }
    lines.emplace_back(key, value);
    return parse_experiment(experiment_with(lines), folder / "e.yaml");
  };
  const auto refusal = [&](const std::string& key, const std::string& value) {
    return thrown([&] { return with(key, value); });
  };
  const auto matched = [](const Experiment& experiment, const CellSelector& selector) {
    return std::ranges::count_if(experiment.cells, [&](const Cell& cell) {
      return selector.matches(experiment, cell) && cell.config.algorithm == "ap";
    });
  };
  // Two protocols, three slots, two sizes.
  for (const std::string selector :
       {"{algorithm: ap}", "{algorithm: ap, channels: 2, instances: 1}", "{channels: 2}",
        "{instances: 1}"}) {
    INFO(selector);
    const Experiment experiment = with("baseline", selector);
    CHECK(matched(experiment, *experiment.baseline) > 0);
    const Experiment timeline = with("timeline", selector);
    CHECK(matched(timeline, timeline.timelines.at(0)) > 0);
  }
  const std::string must =
      "channels of program 'ap' must be 2, found 4; correct it or leave it out";
  CHECK(contains(refusal("baseline", "{algorithm: ap, channels: 4}"), must));
  CHECK(refusal("baseline", "{algorithm: ap, channels: 4}").starts_with(folder / "e.yaml:"));
  CHECK(contains(refusal("timeline", "{algorithm: ap, instances: 2}"),
                 "instances of program 'ap' must be 1, found 2"));
  CHECK(contains(refusal("baseline", "{algorithm: ring, channels: 2}"), "expected one of 1, 4"));
  CHECK(contains(refusal("baseline", "{channels: 3}"), "expected one of 1, 4, 2"));

  const std::size_t all = with("only", "{algorithm: ring}").cells.size();
  CHECK(with("only", "{algorithm: ap, channels: 2}").cells.size() == all);
  CHECK(with("only", "{algorithm: ap, channels: [2, 4], instances: 1}").cells.size() == all);
  CHECK(contains(refusal("only", "{algorithm: ap, channels: [4, 1]}"), must));
  CHECK(contains(refusal("only", "{algorithm: ap, channels: 3}"), "must be 2, found 3"));
  CHECK(contains(refusal("only", "{algorithm: ap, channels: [2, 3]}"), "expected one of 1, 4, 2"));
  CHECK(contains(refusal("only", "{algorithm: ap, instances: 4}"), "must be 1, found 4"));
}

TEST_CASE("a range that names a program takes its own channels", "[experiments][programs]") {
  const test::TemporaryFolder folder;
  test::write_file(folder / "ap.xml", xml_of("all-pairs", 8, 2));
  const auto refusal = [&](const std::string& more) {
    return thrown([&] {
      return parse_dispatch_table("programs: {file: ap.xml, name: ap}\n" + more, folder / "t.yaml");
    });
  };
  const std::string place = folder / "t.yaml:";
  CHECK(refusal("tables: [{fabric: ndv4, collective: allreduce, ranges: [\n"
                "  {sizes: .., algorithm: ap, channels: 3}]}]\n") ==
        place + "3:40: channels of program 'ap' must be 2, found 3");
  CHECK(refusal("fallback: {algorithm: ap, instances: 2}\n" + std::string(kApTable)) ==
        place + "2:38: instances of program 'ap' must be 1, found 2");
  const DispatchTable table = parse_dispatch_table(
      "programs: [{file: ap.xml, name: ap}]\nfallback: ap\n"
      "tables: [{fabric: ndv4, collective: allreduce, ranges: [{sizes: ..1MiB, algorithm: ap}]}]\n",
      folder / "t.yaml");
  CHECK(table.blocks[0].ranges[0].choice.config.channels == 2);
  CHECK(table.fallback->choice.config.channels == 2);
}

}  // namespace cclgym
