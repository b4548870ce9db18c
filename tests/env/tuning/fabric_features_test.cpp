#include "env/tuning/estimates/fabric_features.hpp"

#include "cost_models/cost_model.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {
namespace {

FabricFeatures hockney(const std::string& yaml) {
  const auto fabric = make_fabric(read_fabric_spec(parse_yaml(yaml, test::source_path("t.yaml"))));
  return fabric_features(*fabric, cost_model_for("hockney", *fabric));
}

constexpr double kLarge = 1e9;

TEST_CASE("A bridge between two islands is crossed less by a chain than by a ring",
          "[env][fabric-features]") {
  const FabricFeatures f = hockney("experiments/fabrics/two-islands.yaml");
  // Rings cross the bridge once in each direction, and so do chains, up and down.
  CHECK(f.ring_s_per_B == Approx(1 / 12e9));
  CHECK(f.tree_s_per_B == Approx(1 / 12e9));
  const double ring_s =
      alpha_beta_time_s(f, CollectiveKind::AllReduce, kLarge, PlanShape::Ring, Protocol::Simple);
  const double tree_s =
      alpha_beta_time_s(f, CollectiveKind::AllReduce, kLarge, PlanShape::Tree, Protocol::Simple);
  CHECK(ring_s == Approx(2 * 7.0 / 8 * kLarge / 12e9).epsilon(1e-3));
  CHECK(tree_s == Approx(kLarge / 12e9).epsilon(1e-3));
}

TEST_CASE("A prior has the steps of a ring and of a tree over nodes", "[env][fabric-features]") {
  const FabricFeatures f = hockney("{name: ndv4, servers: 4}");
  const ProtocolFeatures& p = f.protocols[static_cast<std::size_t>(Protocol::LL)];
  CHECK(p.alpha_s == f.alpha_s);
  CHECK(p.network_alpha_s == f.network_alpha_s);
  const auto small_s = [&](CollectiveKind collective, PlanShape shape) {
    return alpha_beta_time_s(f, collective, 1e-6, shape, Protocol::LL);
  };
  const double lap_s = 28 * p.alpha_s + 4 * p.network_alpha_s;
  CHECK(small_s(CollectiveKind::AllGather, PlanShape::Ring) == Approx(lap_s));
  CHECK(small_s(CollectiveKind::AllReduce, PlanShape::Ring) == Approx(2 * lap_s));
  CHECK(small_s(CollectiveKind::AllReduce, PlanShape::Tree) ==
        Approx(2 * (7 * p.alpha_s + 2 * p.network_alpha_s)));
  CHECK(small_s(CollectiveKind::ReduceScatter, PlanShape::Tree) == Approx(5 * p.network_alpha_s));
  CHECK(small_s(CollectiveKind::AllToAll, PlanShape::Ring) == Approx(p.network_alpha_s));
  CHECK(f.tree_s_per_B == Approx(2 * f.ring_s_per_B));
  CHECK(hockney("{name: ndv4, servers: 2}").tree_s_per_B ==
        Approx(hockney("{name: ndv4, servers: 2}").ring_s_per_B));
}

}  // namespace
}  // namespace cclgym
