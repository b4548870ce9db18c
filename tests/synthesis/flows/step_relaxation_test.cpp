// Tests of the bounds for every chunk count.
#include "synthesis/flows/step_relaxation.hpp"

#include "core/index.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"
#include "synthesis/published_instances.hpp"

namespace cclgym::test {
namespace {

using namespace synthesis;

Rational checked_relaxation(const Instance& instance, CollectiveKind collective, int steps,
                            const StepRelaxationOptions& options = {}) {
  const Demand demand = make_demand(collective, instance.ranks, 1);
  const StepRelaxation relaxation = step_relaxation(instance, demand, steps, options);
  CHECK(check_step_relaxation(instance, demand, relaxation, options) == "");
  return relaxation.rounds;
}

TEST_CASE("AllGather in S steps takes the published rounds for any chunk count",
          "[synthesis][flows]") {
  const Instance dgx1 = dgx1_instance();
  CHECK(checked_relaxation(dgx1, CollectiveKind::AllGather, 2) == Rational(3, 2));
  CHECK(checked_relaxation(dgx1, CollectiveKind::AllGather, 3) == Rational(7, 6));
  const Instance ring = ring_instance(8);
  CHECK(checked_relaxation(ring, CollectiveKind::AllGather, 4) == Rational(7, 2));
  // A schedule: three thirds of the chunk go two hops in either direction, one after the other.
  const Instance five = ring_instance(5);
  const Rational loose = checked_relaxation(five, CollectiveKind::Broadcast, 4);
  const Rational tight =
      checked_relaxation(five, CollectiveKind::Broadcast, 4, {.copying = Copying::PerTarget});
  CHECK(loose < tight);
  CHECK(tight <= Rational(4, 3));
  CHECK(checked_relaxation(dgx1, CollectiveKind::AllToAll, 3) == Rational(8, 3));
}

TEST_CASE("relaxations on the quotient equal those of the instance", "[synthesis][flows]") {
  for (const Instance& instance : {dgx1_instance(), ring_instance(6)}) {
    const std::vector<InstanceGroup> groups = semiregular_groups(instance);
    REQUIRE(!groups.empty());
    for (const InstanceGroup& group : groups) {
      for (const CollectiveKind collective :
           {CollectiveKind::AllGather, CollectiveKind::AllToAll}) {
        CHECK(checked_relaxation(instance, collective, 3, {.symmetries = group}) ==
              checked_relaxation(instance, collective, 3));
      }
    }
  }
}

TEST_CASE("relaxations are refused for too few steps and altered proofs", "[synthesis][flows]") {
  const Instance instance = dgx1_instance();
  const Demand demand = make_demand(CollectiveKind::AllGather, 8, 1);
  CHECK(contains(thrown([&] { return step_relaxation(instance, demand, 1); }),
                 "1 steps are too few"));
  const StepRelaxation good = step_relaxation(instance, demand, 2);
  StepRelaxation bad = good;
  bad.steps = 3;
  CHECK(contains(check_step_relaxation(instance, demand, bad), "another linear program"));
  bad = good;
  bad.rounds = Rational(2);
  CHECK(contains(check_step_relaxation(instance, demand, bad), "the certificate proves 3/2"));
  bad = good;
  for (Rational& dual : bad.certificate.duals) dual *= Rational(2);
  CHECK(!check_step_relaxation(instance, demand, bad).empty());
  InstanceSymmetry swap{{1, 0, 2, 3, 4, 5, 6, 7}, {}, {}};
  for (std::size_t k = 0; k < instance.hops.size(); ++k) swap.hops.push_back(static_cast<int>(k));
  for (std::size_t k = 0; k < instance.limits.size(); ++k) {
    swap.limits.push_back(static_cast<int>(k));
  }
  CHECK(
      contains(thrown([&] { return step_relaxation(instance, demand, 2, {.symmetries = {swap}}); }),
               "which is no image of it"));
}

}  // namespace
}  // namespace cclgym::test
