// Tests of programs as actions of CollectiveTuning-v0.
#include <algorithm>

#include "collectives/library/program_entry.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "env/registry.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"
#include "tuning_testing.hpp"

namespace cclgym {
namespace {

std::shared_ptr<const ThreadBlockProgram> all_pairs(int channels) {
  AlgorithmRequest request;
  request.collective = CollectiveKind::AllReduce;
  request.ranks = 8;
  request.channels = channels;
  return build_algorithm("all-pairs", request);
}

const char* const kMachine =
    "fabric: ndv4\nworkload: {name: sweep, collectives: [allreduce, allgather], sizes: 64KiB}\n";

std::size_t level_of(const TuningActions& actions, const std::string& name) {
  const auto& levels = actions.levels(Knob::Algorithm);
  return static_cast<std::size_t>(std::ranges::find(levels, name) - levels.begin());
}

}  // namespace

TEST_CASE("a program is a level behind those of the profile, with its own channels",
          "[env][programs]") {
  const test::TemporaryFolder folder;
  test::write_file(folder / "ap.xml", to_msccl_xml(*all_pairs(3)));
  const auto plain = test::setup_of(kMachine);
  const auto setup = read_tuning_setup(parse_yaml(
      std::string(kMachine) + "programs: {file: ap.xml, name: ap}\nknobs: {channels: [4, 8]}\n",
      folder / "e.yaml"));
  const TuningActions& actions = *setup->actions;
  std::vector<std::string> expected = plain->actions->levels(Knob::Algorithm);
  expected.emplace_back("ap");
  CHECK(actions.levels(Knob::Algorithm) == expected);
  CHECK(actions.levels(Knob::Inter) == plain->actions->levels(Knob::Inter));

  const auto level = static_cast<std::int32_t>(level_of(actions, "ap"));
  const auto all = actions.legal_actions(CollectiveKind::AllReduce);
  const std::size_t n = actions.knobs().size();
  std::size_t count = 0;
  for (std::size_t i = 0; i < all.size(); i += n) {
    if (all[i] != level) continue;
    const auto action = all.subspan(i, n);
    const PlainConfig config = actions.config(CollectiveKind::AllReduce, action);
    CHECK(config.channels == 3);
    CHECK(config.instances == 1);
    CHECK(full_config(actions.algorithms(), config).algorithm == "ap");
    CHECK(actions.describe(action).starts_with("ap "));
    // The first action with this configuration is found; its chunk may be the protocol's default.
    const auto found = actions.action_of(CollectiveKind::AllReduce, config);
    REQUIRE(found);
    CHECK(actions.config(CollectiveKind::AllReduce, *found) == config);
    ++count;
  }
  CHECK(count > 3);
  const auto gather = actions.legal_actions(CollectiveKind::AllGather);
  for (std::size_t i = 0; i < gather.size(); i += n) CHECK(gather[i] != level);
  CHECK(setup->fill_oracle(2) == 2);
}

TEST_CASE("an algorithm of the library that the profile lacks, or of a user, can be an action",
          "[env][programs]") {
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  library.add(program_entry("mine", all_pairs(1)));
  const auto setup = read_tuning_setup(
      parse_yaml(std::string(kMachine) + "programs: [mine, bruck]\n", "e.yaml"), library);
  const TuningActions& actions = *setup->actions;
  for (const auto& [name, collective] : {std::pair("mine", CollectiveKind::AllReduce),
                                         std::pair("bruck", CollectiveKind::AllGather)}) {
    const auto level = static_cast<std::int32_t>(level_of(actions, name));
    const auto all = actions.legal_actions(collective);
    bool found = false;
    for (std::size_t i = 0; i < all.size(); i += actions.knobs().size()) {
      found = found || all[i] == level;
    }
    INFO(name);
    CHECK(found);
  }
}

TEST_CASE("a program that can never run is refused or reported", "[env][programs]") {
  const test::TemporaryFolder folder;
  test::write_file(folder / "ap.xml", to_msccl_xml(*all_pairs(1)));
  const auto options = [&](const std::string& collectives, const std::string& fabric,
                           const std::string& more) {
    return parse_yaml("fabric: " + fabric + "\nworkload: {name: sweep, collectives: [" +
                          collectives + "], sizes: 64KiB}\n" + more +
                          "programs:\n  - {file: ap.xml, name: ap}\n",
                      folder / "e.yaml");
  };
  const auto refusal = [&](const YamlValue& value) {
    return thrown([&] { return make_environment("CollectiveTuning-v0", value); });
  };
  const std::string place = folder / "e.yaml:";
  CHECK(refusal(options("allgather, allreduce", "ndv4", "")) == "(nothing thrown)");
  CHECK(refusal(options("allgather", "ndv4", "")) ==
        place +
            "4:5: program 'ap' can never run here: it has allreduce; the workload calls "
            "allgather");
  CHECK(refusal(options("allreduce", "ndv4", "knobs: {algorithm: [ring, tree]}\n")) ==
        place + "5:5: program 'ap' can never run here: knobs.algorithm leaves out 'ap'");
  CHECK(refusal(options("allreduce", "ndv4", "knobs: {algorithm: [ring, ap]}\n")) ==
        "(nothing thrown)");

  // Another machine may run it.
  const auto environment =
      make_environment("CollectiveTuning-v0", options("allreduce", "{name: ndv4, nodes: 2}", ""));
  const std::vector<std::string>& warnings = environment->spec().warnings;
  REQUIRE_FALSE(warnings.empty());
  CHECK(warnings.back() == place +
                               "4:5: program 'ap' can never run here: ap does not run on 16 ranks: "
                               "it needs exactly 8 ranks");
  // Nothing is refused where several environments share the actions.
  const auto setup = read_tuning_setup(options("allgather", "ndv4", ""));
  REQUIRE(setup->idle_programs.size() == 1);
  CHECK(setup->idle_programs[0].name == "ap");
}

TEST_CASE("programs that cannot be actions are refused", "[env][programs]") {
  const test::TemporaryFolder folder;
  test::write_file(folder / "ap.xml", to_msccl_xml(*all_pairs(1)));
  const auto refusal = [&](const std::string& more) {
    return thrown([&] {
      return read_tuning_setup(parse_yaml(std::string(kMachine) + more, folder / "e.yaml"));
    });
  };
  const auto says = [&](const std::string& more, const char* part) {
    INFO(more << ": " << refusal(more));
    CHECK(refusal(more).find(part) != std::string::npos);
  };
  says("programs: [ring]\n", "'ring' is an action already");
  says("programs: [rign]\n", "ring");
  says("actions: stock-nccl\nprograms: [bruck]\n", "expected actions offline");
  says("programs: [{file: gone.xml, name: x}]\n", "e.yaml:3:19: program");
  says("programs: [{file: ap.xml, name: tree}]\n", "there is an algorithm 'tree' already");
}

}  // namespace cclgym
