#include "topology_models/metrics/metrics.hpp"

#include <algorithm>
#include <limits>

#include "core/index.hpp"
#include "topology_models/fabrics.hpp"
#include "topology_models/metrics/max_flow.hpp"

namespace cclgym {

namespace {

// Capacity out of a set of vertices (by bit), in units of 5 GB/s, the unit of random fabrics.
std::int64_t units_out(const Fabric& fabric, std::uint32_t set) {
  std::int64_t units = 0;
  for (const Link& link : fabric.links()) {
    if ((set >> link.source & 1U) != 0 && (set >> link.target & 1U) == 0)
      units += link.multiplicity;
  }
  return units;
}

int gpus_in(const Fabric& fabric, std::uint32_t set) {
  int count = 0;
  for (int rank = 0; rank < fabric.ranks(); ++rank) {
    count += static_cast<int>(set >> fabric.gpu(rank) & 1U);
  }
  return count;
}

int steps_by_relaxation(const Fabric& fabric) {
  // Bellman-Ford, in which entering a GPU costs one step and entering any other vertex costs
  // nothing.
  int farthest = 0;
  for (int rank = 0; rank < fabric.ranks(); ++rank) {
    std::vector<int> steps(fabric.nodes().size(), 1000);
    steps[static_cast<std::size_t>(fabric.gpu(rank))] = 0;
    for (std::size_t round = 0; round < fabric.nodes().size(); ++round) {
      for (const Link& link : fabric.links()) {
        const auto target = static_cast<std::size_t>(link.target);
        const int cost = fabric.nodes()[target].kind == NodeKind::Gpu ? 1 : 0;
        steps[target] =
            std::min(steps[target], steps[static_cast<std::size_t>(link.source)] + cost);
      }
    }
    for (int other = 0; other < fabric.ranks(); ++other) {
      farthest = std::max(farthest, steps[static_cast<std::size_t>(fabric.gpu(other))]);
    }
  }
  return farthest;
}

}  // namespace

TEST_CASE("metrics: SCCL's bounds", "[topology_models][metrics]") {
  struct Known {
    const char* name;
    int gpus;
    int a_l;
    Rational b_l;
    double bisection_units;
  };
  const std::vector<Known> all = {
      {"dgx1", 0, 2, Rational(7, 6), 6},
      {"ring", 8, 4, Rational(7, 2), 2},
      {"ring", 2, 1, Rational(1), 1},
      {"ring", 5, 2, Rational(2), 2},
      {"ring", 16, 8, Rational(15, 2), 2},
      {"fully_connected", 8, 1, Rational(1), 16},
      {"fully_connected", 3, 1, Rational(1), 2},
      {"fully_connected", 16, 1, Rational(1), 64},
  };
  for (const Known& known : all) {
    INFO(known.name << " " << known.gpus);
    const FabricMetrics metrics = fabric_metrics(*fabric_of(known.name, 1, known.gpus));
    CHECK(metrics.diameter.value == known.a_l);
    CHECK(metrics.link_unit_Bps.value == 25e9);
    CHECK(metrics.inverse_bisection.value == known.b_l);
    CHECK(metrics.bisection_Bps.value == known.bisection_units * 25e9);
  }
}

TEST_CASE("metrics: ndv4, where NICs and switches carry data but are no steps",
          "[topology_models][metrics]") {
  // With one node, the links into a GPU are 12 NVLinks and a PCIe link.
  const FabricMetrics one = fabric_metrics(*fabric_of("ndv4"));
  CHECK(one.diameter.value == 1);
  CHECK(one.link_unit_Bps.value == 1e9);
  CHECK(one.inverse_bisection.value == Rational(7, 324));
  // With four nodes, the links into a node are 8 NICs behind PCIe links.
  const FabricMetrics four = fabric_metrics(*fabric_of("ndv4", 4));
  CHECK(four.diameter.value == 1);
  CHECK(four.inverse_bisection.value == Rational(24, 8 * 24));
  CHECK_FALSE(four.bisection_Bps.value);
  CHECK(four.bisection_Bps.why_not == "more than 16 GPUs (32)");
  const FabricMetrics two = fabric_metrics(*fabric_of("ndv4", 2));
  CHECK(two.bisection_Bps.value == 8 * 24e9);
}

TEST_CASE("metrics: dgx2", "[topology_models][metrics]") {
  // With one node, the links into a GPU are 6 NVLinks and a PCIe link. Between the boards there are
  // 48 NVLinks and the PCIe links of four NICs.
  const FabricMetrics one = fabric_metrics(*fabric_of("dgx2"));
  CHECK(one.diameter.value == 1);
  CHECK(one.link_unit_Bps.value == 1e9);
  CHECK(one.inverse_bisection.value == Rational(15, 6 * 25 + 12));
  CHECK(one.bisection_Bps.value == 48 * 25e9 + 4 * 12e9);
  // With two nodes, a GPU is the limit; with four, a node with its 8 NICs behind PCIe links.
  CHECK(inverse_bisection(*fabric_of("dgx2", 2)).value == Rational(31, 162));
  CHECK(inverse_bisection(*fabric_of("dgx2", 4)).value == Rational(48, 8 * 12));
}

TEST_CASE("metrics: a lone GPU", "[topology_models][metrics]") {
  FabricBuilder builder("one");
  builder.add_node({.name = "a"});
  const FabricMetrics metrics = fabric_metrics(*builder.build());
  CHECK(metrics.diameter.value == 0);
  CHECK_FALSE(metrics.link_unit_Bps.value);
  CHECK(metrics.link_unit_Bps.why_not == "there are no links");
  CHECK(metrics.inverse_bisection.value == Rational(0));
  CHECK(metrics.bisection_Bps.why_not == "one GPU has no halves");
}

TEST_CASE("metrics: bandwidths without a common unit are exact, too",
          "[topology_models][metrics]") {
  FabricBuilder builder("odd");
  for (const char* name : {"a", "b", "c"}) builder.add_node({.name = name});
  const auto join = [&](NodeId from, NodeId to, double rate_Bps) {
    builder.add_duplex_link({.source = from, .target = to, .unit_bandwidth_Bps = rate_Bps});
  };
  join(0, 1, 33.3e9);
  join(1, 2, 12.7e9);
  join(2, 0, 0.1e9);
  const FabricMetrics metrics = fabric_metrics(*builder.build());
  CHECK(metrics.link_unit_Bps.value == 0.1e9);
  CHECK(metrics.inverse_bisection.value == Rational(2, 128));
  CHECK(metrics.bisection_Bps.value == 12.8e9);
}

TEST_CASE("metrics: bandwidths beyond whole numbers are refused, not wrapped",
          "[topology_models][metrics]") {
  for (const double rate_Bps : {1e-3, 1e300}) {
    FabricBuilder builder("extreme");
    builder.add_node({.name = "a"});
    builder.add_node({.name = "b"});
    builder.add_duplex_link({.source = 0, .target = 1, .unit_bandwidth_Bps = rate_Bps});
    const FabricMetrics metrics = fabric_metrics(*builder.build());
    CHECK_FALSE(metrics.link_unit_Bps.value);
    CHECK_FALSE(metrics.inverse_bisection.value);
    CHECK_FALSE(metrics.bisection_Bps.value);
  }
  FabricBuilder builder("coprime");
  builder.add_node({.name = "a"});
  builder.add_node({.name = "b"});
  for (const double rate_Bps : {1e17, 1e17 - 16}) {
    builder.add_duplex_link(
        {.source = 0, .target = 1, .unit_bandwidth_Bps = rate_Bps, .multiplicity = 1'000'000});
  }
  CHECK(fabric_metrics(*builder.build()).inverse_bisection.why_not ==
        "the links' bandwidths have no large enough common divisor");
}

TEST_CASE("metrics agree with trying every cut of random fabrics", "[topology_models][metrics]") {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const int gpus = 2 + trial % 6;
    const FabricPtr fabric = random_fabric(random, gpus, trial / 6 % 5);
    Rational most(0);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t set = 1; set < 1U << fabric->nodes().size(); ++set) {
      const int inside = gpus_in(*fabric, set);
      if (inside > 0 && inside < gpus) {
        most = std::max(most, Rational(inside, units_out(*fabric, set)));
      }
      if (inside == gpus / 2 || inside == gpus - gpus / 2) {
        least = std::min(least, units_out(*fabric, set));
      }
    }
    const FabricMetrics metrics = fabric_metrics(*fabric);
    CHECK(metrics.inverse_bisection.value == most);
    CHECK(metrics.bisection_Bps.value == static_cast<double>(least) * 5e9);
    CHECK(metrics.diameter.value == steps_by_relaxation(*fabric));
  }
}

TEST_CASE("metrics of fabrics too large to compute say so at once", "[topology_models][metrics]") {
  const FabricMetrics metrics = fabric_metrics(*fabric_of("ring", 1, 4096));
  CHECK(metrics.diameter.value == 2048);
  CHECK(metrics.inverse_bisection.why_not == "4096 GPUs and 8192 links are too many");
  CHECK(metrics.bisection_Bps.why_not == "more than 16 GPUs (4096)");
  CHECK(fabric_metrics(*fabric_of("ring", 1, 65536)).diameter.why_not ==
        "65536 GPUs and 131072 links are too many");
}

TEST_CASE("metrics of a cluster of 512 GPUs are computed", "[topology_models][metrics]") {
  const FabricMetrics metrics = fabric_metrics(*fabric_of("ndv4", 64));
  CHECK(metrics.diameter.value == 1);
  CHECK(metrics.inverse_bisection.value == Rational(63 * 8, 8 * 24));
}

TEST_CASE("inverse bisection of 1,024 GPUs is computed", "[topology_models][metrics]") {
  CHECK(inverse_bisection(*fabric_of("ndv4", 128)).value == Rational(127, 24));
}

namespace {

// Minimum cut from node 0 to the last node over all sets of nodes.
std::int64_t minimum_cut(const std::vector<std::vector<std::int64_t>>& units) {
  const std::size_t count = units.size();
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t set = 1; set < 1U << (count - 1); set += 2) {
    std::int64_t out = 0;
    for (std::size_t u = 0; u < count; ++u) {
      for (std::size_t v = 0; v < count; ++v) {
        if ((set >> u & 1U) != 0 && (set >> v & 1U) == 0) out += units[u][v];
      }
    }
    least = std::min(least, out);
  }
  return least;
}

}  // namespace

TEST_CASE("maximum flows equal minimum cuts of random networks, also when resumed",
          "[topology_models][metrics]") {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const int count = 2 + trial % 7;
    std::vector<std::vector<std::int64_t>> units(at(count), std::vector<std::int64_t>(at(count)));
    MaxFlow flow(count);
    for (int u = 0; u < count; ++u) {
      for (int v = u + 1; v < count; ++v) {
        units[at(u)][at(v)] = static_cast<std::int64_t>(random() % 6);
        units[at(v)][at(u)] = static_cast<std::int64_t>(random() % 6);
        flow.add_edge(u, v, units[at(u)][at(v)], units[at(v)][at(u)]);
      }
    }
    const int extra = flow.add_edge(0, count - 1);
    const std::int64_t value = minimum_cut(units);
    CHECK(flow.solve(0, count - 1) == value);
    const std::vector<bool> side = flow.source_side();
    std::int64_t out = 0;
    for (int u = 0; u < count; ++u) {
      for (int v = 0; v < count; ++v) {
        if (side[at(u)] && !side[at(v)]) out += units[at(u)][at(v)];
      }
    }
    CHECK(out == value);
    const MaxFlow::State solved = flow.save();
    flow.set_capacity(extra, 3);
    CHECK(flow.augment(0, count - 1) == 3);
    flow.set_capacity(extra, 0);
    flow.restore(solved);
    CHECK(flow.augment(0, count - 1) == 0);
    CHECK(flow.solve(0, count - 1, value + 1) == value);
    if (value > 1) {
      CHECK(flow.solve(0, count - 1, value - 1) == value - 1);
      CHECK(flow.augment(0, count - 1) == 1);
    }
  }
}

}  // namespace cclgym
