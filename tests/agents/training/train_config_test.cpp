#include "agents/training/train_config.hpp"

#include <string>
#include <vector>

#include "agents/agents_testing.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

std::string config_fault(const std::string& text) {
  try {
    (void)read_train_config(text, "t.yaml");
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

const std::string kGood =
    "name: t\n"
    "train: [{environment: Counter-v0}]\n";

TEST_CASE("A training file of two lines has the defaults", "[agents][train-config]") {
  const TrainConfig config = read_train_config(kGood, "t.yaml");
  CHECK(config.name == "t");
  CHECK(config.parts.size() == 1);
  CHECK(config.warm_start.iterations == 0);  // Counter-v0 has no oracle
  CHECK(config.ppo.iterations == 100);
  CHECK(config.seeds == std::vector<std::uint64_t>{1});
  CHECK(config.layers.encoder == std::vector<std::size_t>{32});
  CHECK(config.hash() != read_train_config(kGood + "seeds: 2\n", "t.yaml").hash());
}

TEST_CASE("A variant changes only the keys that it names", "[agents][train-config]") {
  const std::string text = kGood +
                           "agent: {lstm: 8, head: 4}\n"
                           "variants:\n"
                           "  memoryless: {agent: {lstm: 0}, seeds: [1, 2]}\n"
                           "  short: {ppo: {iterations: 3}}\n";
  const TrainConfig plain = read_train_config(text, "t.yaml");
  CHECK(plain.name == "t");
  CHECK(plain.layers.lstm == 8);
  const TrainConfig changed = read_train_config(text + "variant: memoryless\n", "t.yaml");
  CHECK(changed.name == "t-memoryless");
  CHECK(changed.layers.lstm == 0);
  CHECK(changed.layers.head == 4);
  CHECK(changed.seeds == std::vector<std::uint64_t>{1, 2});
  CHECK(changed.ppo.iterations == plain.ppo.iterations);
  CHECK(changed.hash() != plain.hash());
  CHECK(config_fault(text + "variant: memorless\n").find("'memoryless'") != std::string::npos);
  CHECK(config_fault(text + "variant: memorless\n").starts_with("t.yaml:7:10: "));
  CHECK(config_fault(kGood + "variant: any\n").find("no variants") != std::string::npos);
  CHECK(config_fault(kGood + "variants: {a: {name: x}}\n").starts_with("t.yaml:3:16: "));
  CHECK(config_fault(text + "variant: short\nppo: {clip: 2}\n").starts_with("t.yaml:8:13: "));
}

TEST_CASE("Choices of the command line are part of the training's text", "[agents][train-config]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/t.yaml";
  write_text_file(path, kGood + "variants: {short: {ppo: {iterations: 3}}}");
  const TrainConfig config =
      load_train_config(path, {.variant = "short", .start_from = "/runs/\"a\": b"});
  CHECK(config.ppo.iterations == 3);
  CHECK(config.start_from == "/runs/\"a\": b");
  const TrainConfig again = read_train_config(config.text, "/elsewhere/u.yaml");
  CHECK(again.hash() == config.hash());
  CHECK(again.start_from == config.start_from);
  CHECK(again.variant == "short");
  // The path in a file is relative to the file.
  CHECK(read_train_config(kGood + "start_from: a/b\n", "/elsewhere/u.yaml").start_from ==
        "/elsewhere/a/b");
}

TEST_CASE("A command line chooses one variant, several or all", "[agents][train-config]") {
  using Names = std::vector<std::string>;
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/t.yaml";
  write_text_file(path, kGood + "variants: {b: {}, a: {}, \"b,a\": {}, c: {}}\n");
  CHECK(chosen_variants(path, "") == Names{""});
  CHECK(chosen_variants(path, "a") == Names{"a"});
  CHECK(chosen_variants(path, "all") == Names{"b", "a", "b,a", "c"});
  CHECK(chosen_variants(path, "b,a") == Names{"b,a"});
  CHECK(chosen_variants(path, "a,b,x") == Names{"a", "b", "x"});
  CHECK_THROWS_AS(chosen_variants(path, "a,c,a"), UserError);
  // Without variants, or with one of this name, "all" is a name like others.
  write_text_file(path, kGood);
  CHECK(chosen_variants(path, "all") == Names{"all"});
  write_text_file(path, kGood + "variants: {a: {}, all: {}}\n");
  CHECK(chosen_variants(path, "all") == Names{"all"});
}

TEST_CASE("A program must run in some environment of a training", "[agents][train-config]") {
  const test::TemporaryFolder folder;
  AlgorithmRequest request;
  request.collective = CollectiveKind::AllReduce;
  request.ranks = 4;
  write_text_file(folder / "ap.xml", to_msccl_xml(*build_algorithm(
                                         AlgorithmLibrary::shipped().at("all-pairs"), request)));
  const auto part = [](const std::string& collective, int gpus) {
    return "  - options:\n      fabric: {name: ring, gpus: " + std::to_string(gpus) +
           "}\n      workload: {name: sweep, collectives: [" + collective +
           "], sizes: 1MiB}\n      programs: {file: ap.xml, name: ap}\n";
  };
  const auto load = [&](const std::string& parts) {
    write_text_file(folder / "t.yaml", "name: t\ntrain:\n" + parts);
    return load_train_config(folder / "t.yaml");
  };
  const auto fault = [&](const std::string& parts) -> std::string {
    try {
      (void)load(parts);
    } catch (const UserError& error) {
      return error.what();
    }
    return {};
  };
  const std::string place = folder / "t.yaml:";
  CHECK(load(part("allreduce", 4)).warnings.empty());
  CHECK(fault(part("allgather", 4)) ==
        place +
            "6:17: program 'ap' can never run here: it has allreduce; the workload calls "
            "allgather");
  CHECK(fault(part("allreduce", 8)).starts_with(place + "6:17: program 'ap' can never run here"));
  CHECK(fault(part("allreduce", 8) + part("allgather", 4)).starts_with(place + "6:17: "));
  const TrainConfig some = load(part("allreduce", 4) + part("allgather", 4) + part("allreduce", 8));
  REQUIRE(some.warnings.size() == 2);
  CHECK(some.warnings[0].starts_with(place + "10:17: program 'ap' can never run here: it has"));
  CHECK(some.warnings[1].starts_with(place + "14:17: program 'ap' can never run here: ap does"));
}

TEST_CASE("Mistakes in a training file are reported with their location",
          "[agents][train-config]") {
  CHECK(config_fault("name: t\n").find("train") != std::string::npos);
  CHECK(config_fault(kGood + "pppo: {}\n").starts_with("t.yaml:3:1: "));
  CHECK(config_fault(kGood + "ppo: {clip: 2}\n").starts_with("t.yaml:3:13: "));
  CHECK(config_fault(kGood + "ppo: {steps: 30, sequence: 16}\n").starts_with("t.yaml:3:28: "));
  CHECK(config_fault(kGood + "ppo: {environments: 1, steps: 16, minibatches: 9}\n")
            .starts_with("t.yaml:3:48: "));
  CHECK(config_fault(kGood + "agent: {lstm: -1}\n").starts_with("t.yaml:3:15: "));
  CHECK(config_fault(kGood + "warm_start: {expert: smv}\n").starts_with("t.yaml:3:22: "));
  CHECK(config_fault(kGood + "warm_start: {iterations: 5}\n")
            .find("needs an environment with an "
                  "oracle") != std::string::npos);
  CHECK(config_fault("name: t\ntrain: [{environment: Counter-v0, from: 2},"
                     " {environment: Counter-v0, until: 2}]\n")
            .empty());
  CHECK(config_fault("name: t\ntrain: [{environment: Counter-v0, from: 3},"
                     " {environment: Counter-v0, until: 2}]\n") ==
        "t.yaml:2:8: iteration 2 has no environment to train in");
  // A rollout may have more sequences than an int holds.
  CHECK(
      config_fault(kGood + "ppo: {environments: 1000000, steps: 1000000, sequence: 1}\n").empty());
  CHECK(config_fault("name: t\ntrain: [{environment: Conter-v0}]\n").find("Counter-v0") !=
        std::string::npos);
  CHECK(config_fault("name: t\ntrain: [{environment: Counter-v0, from: 5}]\n")
            .find("iteration 0 has no environment") != std::string::npos);
  CHECK(config_fault("name: t\ntrain: [{environment: Counter-v0}, {options: {fabric: dgx1}}]\n")
            .find("other observations or actions") != std::string::npos);
}

}  // namespace
}  // namespace cclgym
