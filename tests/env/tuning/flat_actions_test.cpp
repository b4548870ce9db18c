// Tests of flat actions: every draw under the mask is legal, and each legal configuration has
// exactly one number.
#include "env/gym/wrappers/flat_actions.hpp"

#include <algorithm>
#include <set>

#include "env/gym/counter_env.hpp"
#include "env/gym/probe_env.hpp"
#include "env/registry.hpp"
#include "env/tuning/actions/nccl_offer.hpp"
#include "env/tuning/tuning_testing.hpp"
#include "support/thorough.hpp"
#include "topology_models/machines/registry.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

using Ints = std::vector<std::int32_t>;
using Mask = std::vector<std::uint8_t>;

constexpr CollectiveKind kAll[] = {
    CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
    CollectiveKind::Broadcast, CollectiveKind::Reduce,    CollectiveKind::Gather,
    CollectiveKind::Scatter,   CollectiveKind::AllToAll,  CollectiveKind::AllToNext};

// Collectives for which the profile has programs.
std::vector<CollectiveKind> collectives_of(const std::string& profile) {
  std::vector<CollectiveKind> kinds;
  for (const CollectiveKind kind : kAll) {
    const bool not_tuned = kind == CollectiveKind::Gather || kind == CollectiveKind::Scatter ||
                           kind == CollectiveKind::AllToNext;
    const bool of_levels = kind == CollectiveKind::AllReduce || kind == CollectiveKind::AllGather ||
                           kind == CollectiveKind::ReduceScatter;
    if (profile == "pccl" ? of_levels : profile != "openmpi" || !not_tuned) kinds.push_back(kind);
  }
  return kinds;
}

// A setup whose workload calls the collectives in turn, repeatedly.
std::shared_ptr<const TuningSetup> setup_with(const std::string& fabric, const std::string& profile,
                                              const std::vector<CollectiveKind>& kinds,
                                              const std::string& more = "") {
  std::string calls;
  for (const CollectiveKind kind : kinds) {
    calls += std::string(calls.empty() ? "" : ", ") +
             "{size: 1KiB, collective: " + std::string(to_string(kind)) + "}";
  }
  return setup_of("{fabric: " + fabric + ", actions: " + profile + more +
                  ", episode: 0, workload: {name: trace, calls: [" + calls + "]}}");
}

// Configurations of the actions at `rows`, restricted to those in `mask` unless it is empty.
std::multiset<Ints> meanings(const TuningActions& actions, CollectiveKind kind,
                             std::span<const std::int32_t> rows,
                             std::span<const std::uint8_t> mask) {
  std::multiset<Ints> all;
  const std::size_t width = actions.knobs().size();
  for (std::size_t i = 0; i * width < rows.size(); ++i) {
    if (!mask.empty() && mask[i] == 0) continue;
    const auto row = rows.subspan(i * width, width);
    if (const auto tuner = actions.tuner_of(row)) {
      all.insert({static_cast<std::int32_t>(*tuner)});
      continue;
    }
    const PlainConfig c = actions.config(kind, row);
    all.insert({c.program, c.binding, static_cast<std::int32_t>(c.protocol), c.slots, c.channels,
                c.instances, c.threads, static_cast<std::int32_t>(c.tile_bytes)});
  }
  return all;
}

// True if the conditional masks lead to an action.
bool reachable(const TuningActions& actions, CollectiveKind kind,
               std::span<const std::int32_t> action) {
  for (std::size_t depth = 0; depth < action.size(); ++depth) {
    Mask mask(static_cast<std::size_t>(Space(actions.space()).dimensions()[depth].n));
    actions.conditional_mask(kind, action.first(depth), mask);
    if (mask[static_cast<std::size_t>(action[depth])] == 0) return false;
  }
  return true;
}

// Draws actions under the exact mask of an environment with flat actions, for two rounds of its
// calls.
void check_draws(const std::shared_ptr<const TuningSetup>& setup, std::size_t calls) {
  const TuningActions& actions = *setup->actions;
  auto made = std::make_unique<CollectiveTuningEnv>(setup);
  const CollectiveTuningEnv& tuning = *made;
  FlatActions flat(std::move(made));
  OwnedBuffers buffers(flat.spec());
  flat.reset(1, buffers.view());
  Random random(1);
  Ints action(1);
  for (std::size_t i = 0; i < 2 * calls; ++i) {
    const CollectiveKind kind = tuning.next_call().call.collective;
    CAPTURE(to_string(kind));
    const Mask& mask = buffers.action_mask;
    if (i < calls) {
      // Each legal configuration has exactly one number, and there are no other numbers.
      const auto numbered = meanings(actions, kind, *setup->flat_actions->actions(), mask);
      const auto legal = meanings(actions, kind, actions.legal_actions(kind), {});
      REQUIRE(std::set<Ints>(numbered.begin(), numbered.end()) ==
              std::set<Ints>(legal.begin(), legal.end()));
      REQUIRE(std::set<Ints>(numbered.begin(), numbered.end()).size() == numbered.size());
    }
    flat.spec().action_space.sample(random, action, mask);
    CAPTURE(flat.describe_action(action));
    REQUIRE(reachable(actions, kind, flat.inner_action(action[0])));
    REQUIRE_NOTHROW(flat.step(action, buffers.view()));
    REQUIRE(buffers.info[info_index(flat.spec(), CollectiveTuningEnv::kTime)] > 0);
  }
}

}  // namespace

TEST_CASE("FlatActions numbers what is legal in some state, by conditional masks",
          "[env][flat-actions]") {
  FlatActions flat(std::make_unique<CounterEnv>(parse_yaml("{target: 7}", "test")));
  CHECK(flat.spec().action_space == Space(Discrete{4}));
  CHECK(flat.spec().name == "Counter-v0");
  OwnedBuffers buffers(flat.spec());
  flat.reset(1, parse_yaml("{start: 1}", "test"), buffers.view());
  CHECK(buffers.action_mask == Mask{1, 1, 1, 1});
  CHECK(flat.describe_action(Ints{1}) == "[1 2]");
  CHECK(flat.step(Ints{3}, buffers.view()) == StepOutcome{-1, false, false});
  CHECK(buffers.info == std::vector<double>{5, 1});
  // Three actions remain: 1 x 1, 1 x 2 and 2 x 1. Both marginal masks allow 2 x 2, but it does not
  // fit.
  CHECK(buffers.action_mask == Mask{1, 1, 1, 0});
  CHECK_THROWS_AS(flat.step(Ints{3}, buffers.view()), InvalidAction);
  CHECK_THROWS_AS(flat.step(Ints{4}, buffers.view()), InvalidAction);
  CHECK(buffers.action_mask == Mask{1, 1, 1, 0});
  CHECK(flat.step(Ints{0}, buffers.view()).done() == false);
  CHECK(buffers.action_mask == Mask{1, 0, 0, 0});
  CHECK(flat.step(Ints{0}, buffers.view()).terminated);
}

TEST_CASE("FlatActions of an environment without masks, and of itself", "[env][flat-actions]") {
  FlatActions once(std::make_unique<ProbeEnv>(std::vector<std::vector<float>>{{0}}));
  CHECK(once.spec().has_action_mask);
  OwnedBuffers buffers(once.spec());
  once.reset(std::nullopt, buffers.view());
  CHECK(buffers.action_mask == Mask{1, 1, 1});
  FlatActions twice(std::make_unique<FlatActions>(
      std::make_unique<CounterEnv>(parse_yaml("{target: 2}", "test"))));
  OwnedBuffers more(twice.spec());
  twice.reset(1, parse_yaml("{start: 0}", "test"), more.view());
  CHECK(more.action_mask == Mask{1, 1, 1, 0});
  CHECK(twice.describe_action(Ints{2}) == "[2 1]");
}

// The oracles are the list of factored actions with their conditional masks, and the simulator,
// which refuses illegal configurations.
TEST_CASE("flat actions: legal under the mask on every fabric, with every profile and collective",
          "[env][flat-actions][thorough]") {
  Sample sample(8);
  for (const FabricInfo& fabric : fabric_infos()) {
    for (const std::string& profile : action_profile_names()) {
      if (sample.skips()) continue;
      CAPTURE(fabric.name, profile);
      const auto kinds = collectives_of(profile);
      check_draws(setup_with(fabric.name, profile, kinds), kinds.size());
    }
  }
  for (const char* const servers : {"{name: ndv4, servers: 2}", "{name: frontier, servers: 2}",
                                    "{name: hgx-h100, servers: 2}"}) {
    CAPTURE(servers);
    for (const std::string profile : {"stock-nccl", "nccl-2.30"}) {
      check_draws(setup_with(servers, profile, collectives_of(profile)), std::size(kAll));
    }
    check_draws(setup_with(servers, "offline", {CollectiveKind::AllReduce}), 1);
  }
}

TEST_CASE("flat actions: actions of other calls are refused, or replaced by the default",
          "[env][flat-actions]") {
  const std::vector<CollectiveKind> kinds{CollectiveKind::AllReduce, CollectiveKind::AllGather};
  for (const bool refused : {true, false}) {
    const auto setup = setup_with("ndv4", "stock-nccl", kinds, refused ? "" : ", illegal: default");
    FlatActions flat(std::make_unique<CollectiveTuningEnv>(setup));
    CHECK(flat.spec().refuses_illegal_actions == refused);
    OwnedBuffers buffers(flat.spec());
    flat.reset(1, buffers.view());
    const auto first_illegal = std::ranges::find(buffers.action_mask, 0);
    REQUIRE(first_illegal != buffers.action_mask.end());
    const Ints action{static_cast<std::int32_t>(first_illegal - buffers.action_mask.begin())};
    if (refused) {
      CHECK_THROWS_AS(flat.step(action, buffers.view()), InvalidAction);
      continue;
    }
    const auto info = [&](const char* name) { return buffers.info[info_index(flat.spec(), name)]; };
    CHECK(flat.step(action, buffers.view()).reward == 0);
    CHECK(info(CollectiveTuningEnv::kIllegal) == 1);
    CHECK(info(CollectiveTuningEnv::kTime) == info(CollectiveTuningEnv::kDefault));
    CHECK(flat.step(Ints{0}, buffers.view()).reward == 0);  // the action is nccl-default itself
    CHECK(info(CollectiveTuningEnv::kIllegal) == 0);
  }
}

TEST_CASE("knobs: only the named levels", "[env][flat-actions]") {
  const auto setup = setup_with("ndv4", "offline", {CollectiveKind::AllReduce},
                                ", knobs: {algorithm: [nccl-default, ring, all-pairs], threads: "
                                "nccl, chunk: [protocol, 128KiB], channels: [8, 16]}");
  const TuningActions& actions = *setup->actions;
  const auto all = actions.legal_actions(CollectiveKind::AllReduce);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < all.size(); i += kOfflineKnobs) {
    const auto row = all.subspan(i, kOfflineKnobs);
    seen.insert(actions.describe(row.first(1)));
    if (actions.tuner_of(row)) continue;
    const PlainConfig config = actions.config(CollectiveKind::AllReduce, row);
    CHECK((config.channels == 8 || config.channels == 16));
    CHECK(config.threads >= 512);
    CHECK((row[6] == 0 || row[6] == 3));  // the chunk
  }
  CHECK(seen == std::set<std::string>{"nccl-default", "ring", "all-pairs"});
  const auto error = [](const std::string& more) {
    try {
      (void)setup_with("ndv4", "stock-nccl", {CollectiveKind::AllReduce}, more);
    } catch (const UserError& thrown) {
      return std::string(thrown.what());
    }
    return std::string("nothing thrown");
  };
  CHECK(error(", knobs: {thread: 64}").find("unknown knob 'thread'") != std::string::npos);
  CHECK(error(", knobs: {protocol: [LL, Sinple]}")
            .find("unknown level of protocol 'Sinple'; expected one of LL, LL128, Simple (did you "
                  "mean 'Simple'?)") != std::string::npos);
  CHECK(error(", knobs: {protocol: []}").find("has no level left") != std::string::npos);
  CHECK(error(", knobs: {algorithm: pat}").find("no action of profile stock-nccl") !=
        std::string::npos);
}

TEST_CASE("legal: nccl leaves NCCL's own choices on the machine", "[env][flat-actions]") {
  const auto has = [](const std::string& fabric, CollectiveKind kind, const std::string& version) {
    const auto setup = setup_with(fabric, "stock-nccl", {kind},
                                  ", legal: nccl, tuners: ['nccl-default" + version + "']");
    const TuningActions& actions = *setup->actions;
    std::set<std::string> found;
    const auto all = actions.legal_actions(kind);
    for (std::size_t i = 0; i < all.size(); i += 3) {
      if (!actions.tuner_of(all.subspan(i, 3))) found.insert(actions.describe(all.subspan(i, 2)));
    }
    return found;
  };
  using Names = std::set<std::string>;
  const Names ring{"ring LL", "ring LL128", "ring Simple"};
  // In NCCL 2.30, PAT needs one GPU per node and Simple, Broadcast needs rings, Slingshot has no
  // LL128, and sends use LL only inside a node (src/graph/tuning.cc, src/enqueue.cc).
  CHECK(has("{name: ndv4, servers: 2}", CollectiveKind::AllGather, "") == ring);
  CHECK(has("ndv4", CollectiveKind::Broadcast, "") == ring);
  CHECK(has("{name: ndv4, servers: 2}", CollectiveKind::AllToAll, "") == Names{"naive Simple"});
  CHECK(has("ndv4", CollectiveKind::AllToAll, "") == Names{"naive LL", "naive Simple"});
  CHECK(has("ndv4", CollectiveKind::AllToAll, ":2.8.4") == Names{"naive Simple"});
  const std::string alone = "{name: ndv4, servers: 4, gpus_per_server: 1}";
  CHECK(has(alone, CollectiveKind::AllGather, "").count("pat Simple") == 1);
  CHECK(has(alone, CollectiveKind::AllGather, "").count("pat LL") == 0);
  CHECK(has(alone, CollectiveKind::AllGather, ":2.18").count("pat Simple") == 0);
  const Names hopper = has("hgx-h100", CollectiveKind::AllReduce, "");
  CHECK(hopper.count("nvls Simple") == 1);
  CHECK(hopper.count("nvls LL") == 0);
  CHECK(has("{name: perlmutter, servers: 2}", CollectiveKind::AllReduce, "").count("ring LL128") ==
        0);
  const auto error = [](const std::string& fabric, const std::string& profile,
                        CollectiveKind kind = CollectiveKind::AllReduce) {
    try {
      (void)setup_with(fabric, profile, {kind}, ", legal: nccl");
    } catch (const UserError& thrown) {
      return std::string(thrown.what());
    }
    return std::string("nothing thrown");
  };
  CHECK(error("frontier", "stock-nccl").find("test.yaml:1:") == 0);
  CHECK(error("frontier", "stock-nccl").find("the programs of NCCL there are not known") !=
        std::string::npos);
  CHECK(error("ndv4", "offline").find("or nccl-2.30") != std::string::npos);
  // NCCL does not aggregate sends, nor collectives that it has no algorithm for.
  const auto fabric = make_fabric({.name = "ndv4", .servers = 2});
  const NcclOffer offer(kNewestNccl, *fabric);
  CHECK(offer.has(CollectiveKind::AllToAll, "naive", Protocol::Simple));
  // NCCL reduces to a root by rings alone.
  CHECK(offer.has(CollectiveKind::Reduce, "ring", Protocol::LL));
  CHECK_FALSE(offer.has(CollectiveKind::Reduce, "tree", Protocol::LL));
  CHECK_FALSE(offer.has(CollectiveKind::AllToAll, "two-step-composed", Protocol::Simple));
  CHECK_FALSE(offer.has(CollectiveKind::AllReduce, "all-pairs", Protocol::Simple));
  // NCCL's own choice is among its offers.
  const auto setup = setup_with("{name: ndv4, servers: 2}", "stock-nccl",
                                {CollectiveKind::AllReduce}, ", legal: nccl");
  for (std::uint64_t bytes = 1024; bytes <= std::uint64_t{1} << 30; bytes *= 8) {
    const PlainConfig config =
        setup->actions->choose(0, {.collective = CollectiveKind::AllReduce, .bytes = bytes});
    const std::string name = full_config(AlgorithmLibrary::shipped(), config).algorithm + " " +
                             std::string(to_string(config.protocol));
    CHECK(has("{name: ndv4, servers: 2}", CollectiveKind::AllReduce, "").count(name) == 1);
  }
}

TEST_CASE("legal: nccl warns of collectives about which NCCL asks no tuner",
          "[env][flat-actions]") {
  const auto warnings = [](const std::string& legal) {
    return make_environment("CollectiveTuning-v0",
                            parse_yaml("{fabric: dgx1, actions: stock-nccl, legal: " + legal +
                                           ", workload: {name: sweep, collectives: [allreduce, "
                                           "alltoall], sizes: 1KiB}}",
                                       "options"))
        ->spec()
        .warnings;
  };
  CHECK(warnings("library").empty());
  CHECK(warnings("nccl") ==
        std::vector<std::string>{"NCCL asks no tuner about alltoall, so no job can use what is "
                                 "learned for it"});
}

TEST_CASE("legal: nccl follows the release that the first tuner names", "[env][flat-actions]") {
  // The rules of src/graph/tuning.cc (2.8.4: src/graph/tuning.cc, src/enqueue.cc) that a mask can
  // break, on machines with NVLink SHARP, several GPUs per node, one GPU per node, and Slingshot.
  struct Machine {
    std::string fabric;
    bool sharp;
    bool alone;
    bool ll128;
  };
  const std::vector<Machine> machines{
      {"hgx-h100", true, false, true},
      {"{name: hgx-h100, servers: 2}", true, false, true},
      {"ndv4", false, false, true},
      {"{name: ndv4, servers: 2}", false, false, true},
      {"{name: ndv4, servers: 4, gpus_per_server: 1}", false, true, true},
      {"{name: perlmutter, servers: 2}", false, false, false},
  };
  const std::vector<CollectiveKind> kinds{CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                          CollectiveKind::ReduceScatter, CollectiveKind::Broadcast};
  for (const std::string release : {"2.8.4", "2.18", "2.21", "2.24", "2.28", "2.30"}) {
    const NcclVersion version = parse_nccl_version(release);
    for (const Machine& machine : machines) {
      // 2.8.4 knows no Hopper.
      if (machine.sharp && version < NcclVersion{2, 18, 0}) continue;
      const auto setup = setup_with(machine.fabric, "nccl-2.30", kinds,
                                    ", legal: nccl, tuners: ['nccl-default:" + release + "']");
      const TuningActions& actions = *setup->actions;
      std::set<std::string> seen;
      for (const CollectiveKind kind : kinds) {
        CAPTURE(release, machine.fabric, to_string(kind));
        const auto all = actions.legal_actions(kind);
        for (std::size_t i = 0; i < all.size(); i += 4) {
          const auto action = all.subspan(i, 4);
          if (actions.tuner_of(action)) continue;
          const std::string& program = actions.levels(Knob::Algorithm)[std::size_t(action[0])];
          const std::string& protocol = actions.levels(Knob::Protocol)[std::size_t(action[1])];
          seen.insert(program + " " + protocol);
          if (action[3] != 0) seen.insert("chunk");
          const bool nvls = program == "nvls" || program == "nvls-tree";
          if (nvls) REQUIRE((machine.sharp && protocol == "Simple"));
          if (program == "pat") REQUIRE((machine.alone && protocol == "Simple"));
          if (program == "pat") REQUIRE(version >= NcclVersion{2, 23, 0});
          if (program == "tree") REQUIRE(kind == CollectiveKind::AllReduce);
          if (protocol == "LL128") REQUIRE(machine.ll128);
          // A tuner sets chunks from 2.30 on, and never threads.
          if (action[3] != 0) REQUIRE(version >= NcclVersion{2, 30, 0});
          REQUIRE((program == "ring" || program == "tree" || program == "pat" || nvls));
        }
      }
      // The combinations that the release does have are not lost.
      CHECK(seen.count("ring Simple") == 1);
      CHECK(seen.count("ring LL128") == std::size_t(machine.ll128));
      CHECK(seen.count("chunk") == std::size_t(version >= NcclVersion{2, 30, 0}));
      CHECK(seen.count("pat Simple") ==
            std::size_t(machine.alone && version >= NcclVersion{2, 23, 0}));
      // Across nodes, NVLS without a tree needs SHARP in the network.
      const bool one_node = machine.fabric == "hgx-h100";
      CHECK(seen.count("nvls Simple") == std::size_t(one_node));
      CHECK(seen.count("nvls-tree Simple") == std::size_t(machine.sharp && !one_node));
    }
  }
}

TEST_CASE("the message about an illegal action names the knob and its legal levels",
          "[env][flat-actions]") {
  const auto setup = setup_with("{name: ndv4, servers: 4, gpus_per_server: 1}", "nccl-2.30",
                                {CollectiveKind::AllGather}, ", legal: nccl");
  const TuningActions& actions = *setup->actions;
  const auto action = [&](std::vector<std::string> names) {
    Ints values;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto& levels = actions.levels(actions.knobs()[i]);
      values.push_back(
          static_cast<std::int32_t>(std::ranges::find(levels, names[i]) - levels.begin()));
    }
    return values;
  };
  const auto misfit = [&](std::vector<std::string> names) {
    return actions.misfit(Call{.collective = CollectiveKind::AllGather, .bytes = 0},
                          action(std::move(names)));
  };
  CHECK(misfit({"pat", "Simple", "1", "protocol"}) == "");
  CHECK(misfit({"pat", "LL", "1", "protocol"}) == "protocol LL: 'pat' has only Simple");
  CHECK(misfit({"tree", "LL", "1", "protocol"}) ==
        "algorithm tree: allgather has nccl-default, ring or pat");
  CHECK(misfit({"nccl-default", "LL", "2", "protocol"}) == "channels 2: 'nccl-default' has only 1");
  CHECK(misfit({"ring", "LL", "2", "whole"}) ==
        "chunk whole: 'ring LL channels=2' has protocol or 128KiB");
  CHECK(actions.misfit(Call{.collective = CollectiveKind::AllToAll, .bytes = 0},
                       action({"ring", "LL", "1", "protocol"})) ==
        "no action carries out alltoall");
  CollectiveTuningEnv env(setup);
  OwnedBuffers buffers(env.spec());
  env.reset(1, buffers.view());
  std::string message;
  try {
    env.step(action({"pat", "LL", "1", "protocol"}), buffers.view());
  } catch (const InvalidAction& error) {
    message = error.what();
  }
  CHECK(message ==
        "CollectiveTuning-v0: 'pat LL' is not legal for allgather on ndv4 nodes=4 "
        "gpus_per_node=1: protocol LL: 'pat' has only Simple");
}
