// Tests of loading from YAML to cells: defaults, cross products, cost models, selectors.
#include "experiments/sweep/load_experiment.hpp"

#include <algorithm>
#include <set>

#include "cost_models/parameters/shipped_sets.hpp"
#include "experiments/sweep/bad_experiments.hpp"
#include "experiments/sweep/cell_keys.hpp"
#include "sim/engine/engine.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym {
namespace {

using test::experiment_with;

TEST_CASE("missing keys have their defaults", "[experiments][load-experiment]") {
  const Experiment experiment = parse_experiment(experiment_with({}), "e.yaml");
  CHECK(experiment.name == "bad");
  CHECK(experiment.description.empty());
  CHECK(experiment.path == "e.yaml");
  CHECK(experiment.text == experiment_with({}));
  CHECK(experiment.engine == engine_infos().front().name);
  CHECK(experiment.repetitions == 1);
  CHECK_FALSE(experiment.baseline);
  CHECK(experiment.timelines.empty());
  CHECK(experiment.measured.empty());
  CHECK(experiment.skipped.empty());
  CHECK(keys_of(experiment) ==
        std::vector<std::string>{"dgx1/allreduce/ring/Simple/c1/t512/1KiB/s1"});
  CHECK(experiment.cells[0].call.root == 0);
}

TEST_CASE("cells are the cross product, sizes before seeds innermost",
          "[experiments][load-experiment]") {
  const Experiment experiment = parse_experiment(experiment_with({{"fabrics", "[dgx1, ndv4]"},
                                                                  {"protocols", "[LL, simple]"},
                                                                  {"channels", "1..2"},
                                                                  {"sizes", "1KiB..4KiB x4"},
                                                                  {"seeds", "[7, 9]"}}),
                                                 "e.yaml");
  const std::vector<std::string> keys = keys_of(experiment);
  REQUIRE(keys.size() == 2 * 2 * 2 * 2 * 2);
  CHECK(keys[0] == "dgx1/allreduce/ring/LL/c1/t512/1KiB/s7");
  CHECK(keys[1] == "dgx1/allreduce/ring/LL/c1/t512/1KiB/s9");
  CHECK(keys[2] == "dgx1/allreduce/ring/LL/c1/t512/4KiB/s7");
  CHECK(keys[4] == "dgx1/allreduce/ring/LL/c2/t512/1KiB/s7");
  CHECK(keys[8] == "dgx1/allreduce/ring/Simple/c1/t512/1KiB/s7");
  CHECK(keys[16] == "ndv4/allreduce/ring/LL/c1/t512/1KiB/s7");
  CHECK(std::set<std::string>(keys.begin(), keys.end()).size() == keys.size());
}

TEST_CASE("tiles and slots are the same in all cells, or each protocol's own",
          "[experiments][load-experiment]") {
  const Experiment fixed = parse_experiment(
      experiment_with({{"protocols", "[LL, Simple]"}, {"tile", "64KiB"}, {"slots", "4"}}),
      "e.yaml");
  CHECK(keys_of(fixed) ==
        std::vector<std::string>{"dgx1/allreduce/ring/LL/c1/t512/1KiB/s1/tile-64KiB/slots-4",
                                 "dgx1/allreduce/ring/Simple/c1/t512/1KiB/s1/tile-64KiB/slots-4"});
  const Experiment own = parse_experiment(
      experiment_with({{"protocols", "[LL, Simple]"}, {"tile", "protocol"}, {"slots", "protocol"}}),
      "e.yaml");
  CHECK(keys_of(own) == std::vector<std::string>{"dgx1/allreduce/ring/LL/c1/t512/1KiB/s1",
                                                 "dgx1/allreduce/ring/Simple/c1/t512/1KiB/s1"});
  CHECK(own.hash() != fixed.hash());
  const Experiment other =
      parse_experiment(experiment_with({{"cost_model",
                                         "{base: v100, protocols: {LL: {slot_data: 8KiB, slots: 4, "
                                         "message_slots: 2}}}"},
                                        {"protocols", "[LL]"},
                                        {"tile", "protocol"},
                                        {"slots", "protocol"}}),
                       "e.yaml");
  CHECK(keys_of(other) == std::vector<std::string>{"dgx1/allreduce/ring/LL/c1/t512/1KiB/s1"});
}

TEST_CASE("only keeps some combinations of the algorithms that it names",
          "[experiments][load-experiment]") {
  const Experiment experiment = parse_experiment(
      experiment_with({{"algorithms", "[ring, all-pairs, tree]"},
                       {"protocols", "[LL, Simple]"},
                       {"channels", "[1, 2]"},
                       {"instances", "[1, 2]"},
                       {"only",
                        "[{algorithm: ring, channels: 2, instances: 2}, {algorithm: all-pairs, "
                        "protocol: LL, channels: 1}, {algorithm: ring, channels: 1, instances: "
                        "[1], protocol: simple}]"}}),
      "e.yaml");
  const std::vector<std::string> keys = keys_of(experiment);
  REQUIRE(keys.size() == 2 + 1 + 2 + 8);
  CHECK(std::vector<std::string>(keys.begin(), keys.begin() + 5) ==
        std::vector<std::string>{"dgx1/allreduce/ring/LL/c2/t512/1KiB/s1/r2",
                                 "dgx1/allreduce/ring/Simple/c1/t512/1KiB/s1",
                                 "dgx1/allreduce/ring/Simple/c2/t512/1KiB/s1/r2",
                                 "dgx1/allreduce/all-pairs/LL/c1/t512/1KiB/s1",
                                 "dgx1/allreduce/all-pairs/LL/c1/t512/1KiB/s1/r2"});
  CHECK(std::all_of(keys.begin() + 5, keys.end(), [](const std::string& key) {
    return key.starts_with("dgx1/allreduce/tree/");
  }));
}

TEST_CASE("combinations that `only` leaves out are not reported as too large for a GPU",
          "[experiments][load-experiment]") {
  const Experiment experiment =
      parse_experiment(experiment_with({{"fabrics", "ndv4"},
                                        {"algorithms", "[all-pairs]"},
                                        {"channels", "[1, 64]"},
                                        {"only", "{algorithm: all-pairs, channels: 1}"}}),
                       "e.yaml");
  CHECK(experiment.skipped.empty());
  CHECK(experiment.cells.size() == 1);
}

TEST_CASE("an algorithm is left out where it does not have the collective",
          "[experiments][load-experiment]") {
  const Experiment experiment = parse_experiment(
      experiment_with({{"collectives", "[all_reduce, alltoall]"}, {"algorithms", "[ring, naive]"}}),
      "e.yaml");
  CHECK(keys_of(experiment) ==
        std::vector<std::string>{"dgx1/allreduce/ring/Simple/c1/t512/1KiB/s1",
                                 "dgx1/alltoall/naive/Simple/c1/t512/1KiB/s1"});
  CHECK(experiment.skipped == std::vector<std::string>{"algorithm 'ring' has no alltoall",
                                                       "algorithm 'naive' has no allreduce"});
}

TEST_CASE(
    "combinations that do not fit on a GPU are left out, one line per fabric, collective, "
    "algorithm, channels",
    "[experiments][load-experiment]") {
  // All-pairs has one block per peer and channel, ring one per channel.
  const auto with_limit = [](const std::string& limit,
                             const std::string& algorithms = "[ring, all-pairs]") {
    return parse_experiment(
        experiment_with({{"fabrics", "[dgx1, ndv4]"},
                         {"algorithms", algorithms},
                         {"protocols", "[LL, Simple]"},
                         {"channels", "[1, 24]"},
                         {"sizes", "[1KiB, 2KiB]"},
                         {"cost_model", "{base: v100, max_thread_blocks: " + limit + "}"}}),
        "e.yaml");
  };
  const Experiment all = with_limit("0");
  CHECK(all.cells.size() == 2 * 2 * 2 * 2 * 2);
  CHECK(all.skipped.empty());
  const Experiment some = with_limit("100");
  REQUIRE(some.skipped.size() == 2);
  CHECK(some.skipped[0].starts_with(
      "on fabric 'dgx1', allreduce: all-pairs with 24 channels needs "));
  CHECK(some.skipped[1].starts_with("on fabric 'ndv4', allreduce: all-pairs with 24 channels"));
  CHECK(some.cells.size() == all.cells.size() - 2 * 2 * 2);
  for (const Cell& cell : some.cells) {
    CHECK((cell.config.algorithm == "ring" || cell.config.channels == 1));
  }
  CHECK(all.hash() != some.hash());
  CHECK_THROWS_AS(with_limit("1", "all-pairs"), UserError);
}

TEST_CASE("cost models: by GPU, by name, from a file, with overrides",
          "[experiments][load-experiment]") {
  const auto model = [](const std::string& fabric, const std::string& cost_model,
                        const std::string& path = "e.yaml") {
    return parse_experiment(experiment_with({{"fabrics", fabric}, {"cost_model", cost_model}}),
                            path)
        .fabrics[0]
        .cost_model;
  };
  CHECK(model("dgx1", "auto").name == "v100");
  CHECK(model("ndv4", "auto").name == "a100");
  CHECK(model("ring", "auto").name == "hockney");
  CHECK(model("alps", "auto").name == "gh200");
  CHECK(model("polaris", "auto").name == "a100-slingshot");
  CHECK(model("ring", "a100").canonical_text() == shipped_cost_model("a100").canonical_text());

  const CostModel skewed = model("ndv4", "{start_skew: 2us}");
  CHECK(skewed.name == "a100 start_skew=2us");
  CostModel expected = shipped_cost_model("a100");
  CHECK(skewed.canonical_text() != expected.canonical_text());
  expected.start_skew_s = 2e-6;
  CHECK(skewed.canonical_text() == expected.canonical_text());
  CHECK(skewed.random());

  const CostModel changed = model(
      "ring",
      "{base: v100, kernel_launch: 1us, channel_overhead: 2us, instruction_overhead: 3us, "
      "full_threads: 256, max_thread_blocks: 50, local_copy_rate: 4 GB/s, alpha: {network: 5us}, "
      "link_efficiency: {pcie: "
      "0.5}, protocols: {LL: {step_latency: 6us, efficiency: 0.25}, Simple: {thread_block_rate: 7 "
      "GB/s, reduce_rate: 8 GB/s}}}");
  CHECK(changed.name == "v100 with 12 values overridden");
  expected = shipped_cost_model("v100");
  expected.kernel_launch_s = 1e-6;
  expected.channel_overhead_s = 2e-6;
  expected.instruction_overhead_s = 3e-6;
  expected.full_threads = 256;
  expected.max_thread_blocks = 50;
  expected.local_copy_rate_Bps = 4e9;
  expected.alpha_s[static_cast<std::size_t>(LinkKind::Network)] = 5e-6;
  expected.link_efficiency[static_cast<std::size_t>(LinkKind::Pcie)] = 0.5;
  ProtocolCost& ll = expected.protocols[static_cast<std::size_t>(Protocol::LL)];
  ll.step_latency_s = 6e-6;
  ll.efficiency = 0.25;
  ProtocolCost& simple = expected.protocols[static_cast<std::size_t>(Protocol::Simple)];
  simple.thread_block_rate_Bps = 7e9;
  simple.reduce_rate_Bps = 8e9;
  CHECK(changed.canonical_text() == expected.canonical_text());

  const test::TemporaryFolder folder;
  test::write_file(folder / "mine.yaml",
                   test::read_file(test::source_path("cost_models/parameters/v100.yaml")));
  const CostModel mine = model("ring", "{base: mine.yaml}", folder / "e.yaml");
  CHECK(mine.canonical_text() == shipped_cost_model("v100").canonical_text());
}

TEST_CASE("baseline and timelines pick cells", "[experiments][load-experiment]") {
  const Experiment experiment = parse_experiment(
      experiment_with({{"fabrics", "[dgx1, {name: ring, gpus: 16}]"},
                       {"algorithms", "[ring, tree]"},
                       {"protocols", "[LL, Simple]"},
                       {"sizes", "[1KiB, 2KiB]"},
                       {"baseline", "{algorithm: tree, protocol: Simple, channels: 1}"},
                       {"timeline", "[{fabric: ring gpus=16, size: 2KiB}, {algorithm: tree}]"}}),
      "e.yaml");
  REQUIRE(experiment.baseline);
  std::size_t matched = 0;
  for (const Cell& cell : experiment.cells) {
    if (!experiment.baseline->matches(experiment, cell)) continue;
    ++matched;
    CHECK(cell.config.algorithm == "tree");
    CHECK(cell.config.protocol == Protocol::Simple);
  }
  CHECK(matched == 4);
  REQUIRE(experiment.timelines.size() == 2);
  CHECK(experiment.timelines[0].fabric == std::size_t{1});
  CHECK(experiment.timelines[0].bytes == std::uint64_t{2048});
  CHECK(experiment.timelines[1].algorithm == "tree");
  CHECK_FALSE(experiment.timelines[1].fabric);
}

TEST_CASE("labels: spaces do not matter to selectors, and are underscores in cell keys",
          "[experiments][load-experiment]") {
  const auto with = [](const std::string& fabric) {
    return parse_experiment(
        experiment_with({{"fabrics", "[dgx1, {name: ring, gpus: 4, bandwidth: 50 GB/s}]"},
                         {"timeline", "{fabric: \"" + fabric + "\"}"}}),
        "e.yaml");
  };
  for (const std::string fabric :
       {"ring gpus=4 bandwidth=50 GB/s", "ring gpus=4 bandwidth=50GB/s"}) {
    INFO(fabric);
    const Experiment experiment = with(fabric);
    CHECK(experiment.timelines.at(0).fabric == std::size_t{1});
    CHECK(experiment.fabrics[1].label == "ring gpus=4 bandwidth=50 GB/s");
    CHECK(keys_of(experiment).at(1) ==
          "ring_gpus=4_bandwidth=50_GB_s/allreduce/ring/Simple/c1/t512/1KiB/s1");
  }
  CHECK_THROWS_AS(with("ring gpus=4 bandwidth=51GB/s"), UserError);
}

TEST_CASE("selectors name a fabric by any name of its options", "[experiments][load-experiment]") {
  for (const std::string label : {"ndv4 nodes=2", "ndv4 nodes=2"}) {
    const Experiment experiment =
        parse_experiment(experiment_with({{"fabrics", "[ndv4, {name: ndv4, nodes: 2}]"},
                                          {"timeline", "{fabric: " + label + "}"}}),
                         "e.yaml");
    INFO(label);
    CHECK(experiment.timelines.at(0).fabric == std::size_t{1});
    CHECK(experiment.fabrics[1].label == "ndv4 nodes=2");
  }
}

TEST_CASE("the hash changes with everything that results depend on, and with nothing else",
          "[experiments][load-experiment]") {
  const auto hash = [](const std::vector<std::pair<std::string, std::string>>& lines) {
    return parse_experiment(experiment_with(lines), "e.yaml").hash();
  };
  const std::string plain = hash({});
  CHECK(plain.size() == 16);
  CHECK(plain == hash({}));
  std::set<std::string> hashes{plain};
  const std::vector<std::pair<std::string, std::string>> relevant{
      {"fabrics", "[ndv4]"},
      {"fabrics", "[{name: dgx1, bandwidth: 24 GB/s}]"},
      {"algorithms", "[tree]"},
      {"collectives", "[broadcast]"},
      {"protocols", "LL"},
      {"channels", "2"},
      {"threads", "256"},
      {"sizes", "2KiB"},
      {"seeds", "2"},
      {"repetitions", "2"},
      {"cost_model", "hockney"},
      {"cost_model", "{start_skew: 1us}"},
      {"engine", "simgrid"},
      {"root", "1"}};
  for (const auto& line : relevant) {
    INFO(line.first << ": " << line.second);
    CHECK(hashes.insert(hash({line})).second);
  }
  CHECK(hash({{"description", "other"}, {"name", "other"}, {"baseline", "{channels: 1}"}}) ==
        plain);
}

TEST_CASE("the shipped experiments load", "[experiments][load-experiment]") {
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path("experiments"))) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string name = entry.path().stem().string();
    // The tests of agents and calibration load these.
    if (name.starts_with("train-") || name.starts_with("loop-")) continue;
    INFO(entry.path());
    ++found;
    const Experiment experiment = load_experiment(entry.path().string());
    CHECK(experiment.name == entry.path().stem().string());
    CHECK_FALSE(experiment.description.empty());
    CHECK(experiment.baseline);
  }
  CHECK(found >= 3);
}

}  // namespace
}  // namespace cclgym
