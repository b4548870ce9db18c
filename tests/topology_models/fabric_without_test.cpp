// Tests of fabrics after failures.
#include "topology_models/fabric_without.hpp"

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/shipped_fabric.hpp"
#include "support/thrown.hpp"
#include "topology_models/metrics/metrics.hpp"

namespace cclgym::test {
namespace {

TEST_CASE("links between two devices are left out in both directions",
          "[topology_models][without]") {
  const auto dgx1 = fabric_of("dgx1");
  const auto failed = fabric_of("dgx1", 1, "gpu0:gpu4");
  CHECK(failed->links().size() + 2 == dgx1->links().size());
  CHECK(failed->ranks() == 8);
  CHECK(failed->name() == "dgx1 without=gpu0:gpu4");
  // ForestColl's optimum on DGX-1 with this double link down: 800/7 = 114.29 GB/s instead of
  // 1200/7.
  CHECK(*inverse_bisection(*dgx1).value == Rational(7, 6));
  CHECK(*inverse_bisection(*failed).value == Rational(7, 4));
  CHECK(failed->route(0, 4, 0).size() == 5);  // through both hosts
}

TEST_CASE("a device is left out with its links, and ranks are numbered anew",
          "[topology_models][without]") {
  const auto seven = fabric_of("dgx1", 1, "gpu3");
  CHECK(seven->ranks() == 7);
  CHECK(seven->nodes()[static_cast<std::size_t>(seven->gpu(3))].name == "gpu4");
  const auto nic = fabric_of("ndv4", 2, "server0/nic1");
  CHECK(nic->nodes().size() + 1 == fabric_of("ndv4", 2)->nodes().size());
  for (const Link& link : nic->links()) {
    CHECK(nic->nodes()[static_cast<std::size_t>(link.source)].name != "server0/nic1");
  }
  const auto both = fabric_of("ndv4", 2, "server0/nic1,server1/gpu7");
  CHECK(both->ranks() == 15);
}

TEST_CASE("the label of a result names the parts that are left out", "[topology_models][without]") {
  FabricSpec spec;
  spec.name = "ndv4";
  spec.servers = 2;
  spec.without = "server0/nic1,server1/nic0";
  CHECK(fabric_label(spec) == "ndv4 nodes=2 without=server0/nic1+server1/nic0");
  // Blanks do not make another fabric.
  spec.without = "server0/nic1, server1/nic0 ";
  CHECK(fabric_label(spec) == "ndv4 nodes=2 without=server0/nic1+server1/nic0");
  CHECK(make_fabric(spec)->name() == fabric_of("ndv4", 2, "server0/nic1,server1/nic0")->name());
}

TEST_CASE("parts that do not exist, and rests that are not connected, are refused",
          "[topology_models][without]") {
  CHECK(contains(thrown([] { return fabric_of("dgx1", 1, "gpu9"); }), "has no device 'gpu9'"));
  CHECK(contains(thrown([] { return fabric_of("ndv4", 2, "server0/nik1"); }),
                 "did you mean 'server0/nic1'?"));
  CHECK(contains(thrown([] { return fabric_of("dgx1", 1, "gpu0:gpu5"); }),
                 "no link between 'gpu0' and 'gpu5'"));
  CHECK(contains(thrown([] { return fabric_of("dgx1", 1, "gpu0,,gpu1"); }), "has no device ''"));
  CHECK(contains(thrown([] { return fabric_of("ndv4", 1, "nvswitch"); }), "not"));
  CHECK(contains(thrown([] { return fabric_of("frontier", 2, "server0/nic0"); }),
                 "has no option 'without'"));
}

}  // namespace
}  // namespace cclgym::test
