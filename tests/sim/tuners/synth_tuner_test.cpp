// Tests of the tuner synth:KIND.
#include "sim/tuners/synth_tuner.hpp"

#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

using test::contains;

namespace {

TunerSite site_of(const std::string& fabric, std::vector<CollectiveKind> collectives) {
  FabricSpec spec;
  spec.name = fabric;
  return {.fabric = make_fabric(spec),
          .fabric_label = fabric,
          .cost_model = shipped_cost_model("hockney"),
          .where = {.file = "e.yaml", .line = 3, .column = 5},
          .collectives = std::move(collectives)};
}

TEST_CASE("synth chooses few steps for small calls and bandwidth for large ones", "[sim][tuners]") {
  const TunerSite site = site_of("dgx1", {CollectiveKind::AllGather});
  const auto tuner = make_tuner("synth:pareto", site);
  CHECK(tuner->chooses_for(CollectiveKind::AllGather));
  CHECK_FALSE(tuner->chooses_for(CollectiveKind::AllReduce));
  const Config small = tuner->choose({.collective = CollectiveKind::AllGather, .bytes = 8192});
  const Config large = tuner->choose({.collective = CollectiveKind::AllGather, .bytes = 96 << 20});
  CHECK(contains(small.algorithm, "synth-dgx1-"));
  CHECK(contains(small.algorithm, "allgather-2-2-3"));
  CHECK(contains(large.algorithm, "allgather-6-3-7"));

  // The formula is the simulated time: 2 and 3 steps, 3/2 and 7/6 rounds per chunk.
  Simulator simulator(site.fabric, site.cost_model, "flow", tuner->algorithms());
  const std::uint64_t bytes = 8 * 6 * 250'000;
  const double time_s =
      simulator.simulate({.collective = CollectiveKind::AllGather, .bytes = bytes}, large).time_s;
  CHECK(time_s >= 7 * 10e-6 + 3 * 0.7e-6 - 1e-9);
  CHECK(time_s <= 1.25 * (7 * 10e-6 + 3 * 0.7e-6));
}

TEST_CASE("synth refuses other kinds, collectives and roots", "[sim][tuners]") {
  CHECK(contains(thrown([] {
                   return make_tuner("synth:paretto", site_of("dgx1", {CollectiveKind::AllGather}))
                       ->description();
                 }),
                 "e.yaml:3:5: unknown kind of synthesis 'paretto'"));
  CHECK(contains(
      thrown([] {
        return make_tuner("synth", site_of("dgx1", {CollectiveKind::AllToNext}))->description();
      }),
      "synthesis has no program on fabric 'dgx1'"));
  const auto tuner = make_tuner("synth:throughput", site_of("dgx1", {CollectiveKind::Broadcast}));
  CHECK(contains(thrown([&] {
                   return tuner->choose(
                       {.collective = CollectiveKind::Broadcast, .bytes = 1 << 20, .root = 2});
                 }),
                 "with root 2"));
}

}  // namespace
}  // namespace cclgym
