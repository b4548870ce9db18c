// Tests of actions: every legal action simulates, masks allow exactly the legal actions, and the
// conversions between action and configuration agree.
#include "env/tuning/actions/tuning_action.hpp"

#include <algorithm>
#include <numeric>

#include "env/tuning/tuning_testing.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"
#include "support/shipped_algorithms.hpp"
#include "support/thorough.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

const char* const kMachines[] = {
    "{fabric: dgx1, actions: offline, ",
    "{fabric: {name: ndv4, servers: 2}, actions: offline, ",
    "{fabric: ndv4, actions: stock-nccl, ",
    "{fabric: z52, actions: nccl-2.30, ",
    "{fabric: {name: frontier, servers: 2}, actions: offline, ",
    "{fabric: {name: ring, gpus: 6}, actions: offline, cost_model: hockney, ",
};

}  // namespace

TEST_CASE("every legal action simulates", "[env][tuning-action][thorough]") {
  for (const char* const text : kMachines) {
    CAPTURE(text);
    const auto setup = setup_of(text + kAllCollectives + "}");
    CallTimer timer(setup->site, std::size_t{0});
    TuningOracle oracle(setup->actions, timer);
    Random random(1);
    for (int i = 0; i < (thorough() ? 80 : 20); ++i) {
      const Call call = random_call(random, setup->fabric.ranks, 18);
      const std::vector<std::int32_t> action =
          random_action(random, *setup->actions, call.collective);
      CAPTURE(setup->actions->describe(action), to_string(call.collective), call.bytes);
      const PlainConfig plain = oracle.config(call, action);
      const Config config = full_config(AlgorithmLibrary::shipped(), plain);
      const Fabric& fabric = *setup->site->fabrics[plain.binding];
      REQUIRE(check_config(AlgorithmLibrary::shipped(), call, config, fabric.ranks()).empty());
      REQUIRE(
          check_resident(AlgorithmLibrary::shipped(), call, config, fabric, setup->site->cost_model)
              .empty());
      REQUIRE(oracle.time(call, action).time_s > 0);
    }
  }
}

TEST_CASE("an illegal action does not fit, or is equivalent to a legal one",
          "[env][tuning-action]") {
  const auto setup = setup_of("{fabric: dgx1, actions: offline, " + kAllCollectives + "}");
  const TuningActions& actions = *setup->actions;
  const Space space(actions.space());
  Random random(2);
  std::vector<std::int32_t> action(space.size());
  int legal = 0;
  for (int i = 0; i < 20'000; ++i) {
    space.sample(random, action);
    for (const CollectiveKind kind : kTuned) {
      const auto all = actions.legal_actions(kind);
      const std::size_t n = action.size();
      bool listed = false;
      // The list is sorted.
      std::size_t low = 0;
      std::size_t high = all.size() / n;
      while (low < high) {
        const std::size_t middle = (low + high) / 2;
        const auto row = all.subspan(middle * n, n);
        if (std::ranges::equal(row, action)) listed = true;
        if (std::ranges::lexicographical_compare(row, action)) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      REQUIRE(actions.legal(kind, action) == listed);
      legal += listed ? 1 : 0;
    }
  }
  CHECK(legal > 0);
}

TEST_CASE("conditional masks lead to legal actions, and to all of them", "[env][tuning-action]") {
  const auto setup =
      setup_of("{fabric: {name: ndv4, servers: 2}, actions: offline, " + kAllCollectives + "}");
  const TuningActions& actions = *setup->actions;
  const Space space(actions.space());
  for (const CollectiveKind kind : kTuned) {
    CAPTURE(to_string(kind));
    // Counts the actions that the masks allow, prefix by prefix.
    std::vector<std::int32_t> prefix;
    std::vector<std::uint8_t> marginal(space.mask_size(), 0);
    const auto count = [&](const auto& self) -> std::size_t {
      if (prefix.size() == space.size()) return actions.legal(kind, prefix) ? 1 : 0;
      const std::size_t depth = prefix.size();
      std::vector<std::uint8_t> mask(static_cast<std::size_t>(space.dimensions()[depth].n));
      actions.conditional_mask(kind, prefix, mask);
      std::size_t found = 0;
      for (std::size_t value = 0; value < mask.size(); ++value) {
        if (mask[value] == 0) continue;
        marginal[space.mask_offset(depth) + value] = 1;
        prefix.push_back(static_cast<std::int32_t>(value));
        found += self(self);
        prefix.pop_back();
      }
      return found;
    };
    CHECK(count(count) == actions.legal_count(kind));
    std::vector<std::uint8_t> written(space.mask_size());
    actions.mask(kind, written);
    CHECK(written == marginal);
    CHECK_NOTHROW(space.check_mask(written));
    // Nothing is legal after an illegal prefix.
    std::vector<std::uint8_t> nothing(static_cast<std::size_t>(space.dimensions()[1].n), 7);
    const std::vector<std::int32_t> beyond{space.dimensions()[0].n};
    actions.conditional_mask(kind, beyond, nothing);
    CHECK(std::accumulate(nothing.begin(), nothing.end(), 0) == 0);
  }
}

TEST_CASE("an action has one configuration, which leads back to it", "[env][tuning-action]") {
  const auto setup = setup_of("{fabric: ndv4, actions: nccl-2.30, " + kAllCollectives + "}");
  const TuningActions& actions = *setup->actions;
  for (const CollectiveKind kind : kTuned) {
    const auto all = actions.legal_actions(kind);
    const std::size_t n = actions.knobs().size();
    for (std::size_t i = 0; i < all.size(); i += n) {
      const auto action = all.subspan(i, n);
      if (actions.tuner_of(action)) continue;
      const PlainConfig config = actions.config(kind, action);
      CHECK(plain_config(AlgorithmLibrary::shipped(),
                         full_config(AlgorithmLibrary::shipped(), config),
                         config.binding) == config);
      const auto back = actions.action_of(kind, config);
      REQUIRE(back);
      CHECK(actions.config(kind, *back) == config);
    }
  }
}

TEST_CASE("profiles have the knobs of their libraries", "[env][tuning-action]") {
  const auto knobs = [](const std::string& profile) {
    return setup_of("{fabric: ndv4, actions: " + profile + ", " + kAllCollectives + "}")
        ->actions->knobs();
  };
  CHECK(knobs("stock-nccl") == std::vector<Knob>{Knob::Algorithm, Knob::Protocol, Knob::Channels});
  CHECK(knobs("nccl-2.30") ==
        std::vector<Knob>{Knob::Algorithm, Knob::Protocol, Knob::Channels, Knob::Chunk});
  CHECK(knobs("offline").size() == kOfflineKnobs);
  // The space is the same on every fabric.
  const auto space = [](const std::string& fabric) {
    return setup_of("{fabric: " + fabric + ", actions: offline, " + kAllCollectives + "}")
        ->actions->space();
  };
  CHECK(space("dgx1") == space("{name: frontier, servers: 2}"));
}

TEST_CASE("openmpi: OpenMPI's algorithms, and segments where it takes them",
          "[env][tuning-action]") {
  const auto setup = setup_of(
      "{fabric: {name: ethernet, servers: 6}, actions: openmpi, workload: {name: sweep, "
      "collectives: [allreduce, allgather, broadcast, alltoall]}}");
  const TuningActions& actions = *setup->actions;
  CHECK(actions.profile() == ActionProfile::OpenMpi);
  CHECK(actions.knobs() == std::vector<Knob>{Knob::Algorithm, Knob::Chunk});
  CHECK(actions.levels(Knob::Algorithm).front() == "openmpi-default");
  CHECK(actions.levels(Knob::Chunk) ==
        std::vector<std::string>{"whole", "32KiB", "128KiB", "512KiB", "2MiB"});
  const auto all = [&](CollectiveKind collective) {
    std::vector<std::string> texts;
    const auto legal = actions.legal_actions(collective);
    for (std::size_t i = 0; i < legal.size(); i += 2) {
      texts.push_back(actions.describe(legal.subspan(i, 2)));
      if (actions.tuner_of(legal.subspan(i, 2))) continue;
      const Config config =
          full_config(AlgorithmLibrary::shipped(), actions.config(collective, legal.subspan(i, 2)));
      CHECK(config == Config{.algorithm = config.algorithm, .tile_bytes = config.tile_bytes});
      CHECK(find_openmpi_algorithm(collective, config.algorithm, config.tile_bytes) != nullptr);
    }
    return texts;
  };
  // Recursive doubling does not exist for six ranks.
  CHECK(all(CollectiveKind::AllReduce) ==
        std::vector<std::string>{"openmpi-default", "linear", "ring", "ring chunk=32KiB",
                                 "ring chunk=128KiB", "ring chunk=512KiB", "ring chunk=2MiB"});
  CHECK(all(CollectiveKind::AllToAll) ==
        std::vector<std::string>{"openmpi-default", "bruck", "naive", "pairwise"});
  CHECK(all(CollectiveKind::Broadcast).size() == 1 + 1 + 5 * 5 + 1);
  CHECK(actions.legal_count(CollectiveKind::Reduce) == 0);  // not called
  const Call call{.collective = CollectiveKind::Broadcast, .bytes = 1 << 20};
  CHECK(full_config(AlgorithmLibrary::shipped(), actions.reference(call)).algorithm == "pipeline");
  CallTimer timer(setup->site, std::size_t{0});
  TuningOracle oracle(setup->actions, timer);
  const auto legal = actions.legal_actions(call.collective);
  for (std::size_t i = 0; i < legal.size(); i += 2) {
    CAPTURE(actions.describe(legal.subspan(i, 2)));
    REQUIRE(oracle.time(call, legal.subspan(i, 2)).time_s > 0);
  }
  // A tuner given by name replaces the default.
  const auto named = setup_of(
      "{fabric: {name: ethernet, servers: 6}, actions: openmpi, tuners: [openmpi-default:4.1], "
      "workload: {name: sweep, collectives: [allreduce]}}");
  CHECK(named->actions->levels(Knob::Algorithm).front() == "openmpi-default:4.1");
}

TEST_CASE("hierarchical programs and NIC bindings need several nodes; copies an interpreter",
          "[env][tuning-action]") {
  const auto uses = [](const std::string& fabric, Knob knob) {
    const auto setup =
        setup_of("{fabric: " + fabric + ", actions: offline, " + kAllCollectives + "}");
    const Space space(setup->actions->space());
    std::vector<std::uint8_t> mask(space.mask_size());
    setup->actions->mask(CollectiveKind::AllReduce, mask);
    const std::size_t offset = space.mask_offset(static_cast<std::size_t>(knob));
    const auto levels =
        static_cast<std::size_t>(space.dimensions()[static_cast<std::size_t>(knob)].n);
    return std::accumulate(mask.begin() + static_cast<std::ptrdiff_t>(offset),
                           mask.begin() + static_cast<std::ptrdiff_t>(offset + levels), 0);
  };
  CHECK(uses("ndv4", Knob::Inter) == 1);
  CHECK(uses("{name: ndv4, servers: 2}", Knob::Inter) == 4);
  CHECK(uses("{name: frontier, servers: 1}", Knob::Nic) == 1);
  CHECK(uses("{name: frontier, servers: 2}", Knob::Nic) == 3);
  const auto setup = setup_of("{fabric: ndv4, actions: offline, " + kAllCollectives + "}");
  const auto all = setup->actions->legal_actions(CollectiveKind::AllReduce);
  for (std::size_t i = 0; i < all.size(); i += kOfflineKnobs) {
    const auto action = all.subspan(i, kOfflineKnobs);
    if (setup->actions->tuner_of(action)) continue;
    const PlainConfig config = setup->actions->config(CollectiveKind::AllReduce, action);
    const AlgorithmEntry& info = shipped_algorithms()[config.program];
    REQUIRE((info.traits.runtime == Runtime::Interpreter || config.instances == 1));
    REQUIRE(config.channels * config.instances <= 32);
  }
}

TEST_CASE("the oracle is at least as good as any legal action, and finds its time",
          "[env][tuning-action]") {
  const auto setup = setup_of("{fabric: dgx1, actions: stock-nccl, " + kAllCollectives + "}");
  CallTimer timer(setup->site);
  TuningOracle oracle(setup->actions, timer);
  for (const std::uint64_t bytes : {std::uint64_t{4096}, std::uint64_t{1} << 20}) {
    const Call call{.collective = CollectiveKind::AllReduce, .bytes = bytes};
    const BestAction best = oracle.best(call);
    std::vector<double> times(setup->actions->legal_count(call.collective));
    oracle.all_times(call, times);
    CHECK(best.time_s == *std::ranges::min_element(times));
    CHECK(times[best.index] == best.time_s);
    CHECK(best.time_s <= timer.time(call, oracle.reference(call)).time_s);
  }
}

TEST_CASE("where NCCL does not run, its default is not an action, and a rule is the reference",
          "[env][tuning-action]") {
  const auto setup = setup_of("{fabric: {name: frontier, servers: 2}, actions: stock-nccl, " +
                              kAllCollectives + "}");
  std::vector<std::uint8_t> mask(Space(setup->actions->space()).mask_size());
  setup->actions->mask(CollectiveKind::AllReduce, mask);
  CHECK(mask[0] == 0);
  const auto reference = [&](std::uint64_t bytes) {
    return full_config(
        AlgorithmLibrary::shipped(),
        setup->actions->reference({.collective = CollectiveKind::AllReduce, .bytes = bytes}));
  };
  CHECK(reference(1024).algorithm == "tree");
  CHECK(reference(1024).protocol == Protocol::LL);
  CHECK(reference(64 << 10).protocol == Protocol::LL128);
  CHECK(reference(64 << 20).algorithm == "ring");
  CHECK(reference(64 << 20).protocol == Protocol::Simple);
}
