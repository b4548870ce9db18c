#include "topology_models/describe/describe.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "topology_models/fabrics.hpp"

namespace cclgym {

namespace {

// The expected text of a file in golden/.
std::string golden(const std::string& name) {
  std::ifstream file(std::string(CCLGYM_SOURCE_DIR "/tests/topology_models/golden/") + name);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t number = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++number;
  }
  return number;
}

}  // namespace

TEST_CASE("descriptions are as agreed", "[topology_models][describe]") {
  CHECK(describe_fabric(*fabric_of("dgx1")) == golden("dgx1.txt"));
  CHECK(describe_fabric(*fabric_of("dgx2")) == golden("dgx2.txt"));
  CHECK(describe_fabric(*fabric_of("ndv4", 4)) == golden("ndv4-4.txt"));
}

TEST_CASE("drawings are as agreed", "[topology_models][describe]") {
  CHECK(to_dot(*fabric_of("dgx1")) == golden("dgx1.dot"));
  CHECK(to_dot(*fabric_of("dgx2")) == golden("dgx2.dot"));
  const std::string cluster = to_dot(*fabric_of("ndv4", 2));
  CHECK(count(cluster, "subgraph cluster_") == 2);
  CHECK(count(cluster, " -> ") == 64);  // every duplex link once
  CHECK(count(cluster, "dir=none") == 64);
  CHECK(count(cluster, "label=\" 12 x 25 GB/s\"") == 16);
  CHECK(count(cluster, "label=\"gpu3\"") == 2);
  CHECK(count(cluster, "[label=\"network\", shape=octagon") == 1);
}

TEST_CASE("many cluster nodes stand on both sides of the network, with equal layers",
          "[topology_models][describe]") {
  const std::string drawing = to_dot(*fabric_of("ndv4", 16));
  CHECK(count(drawing, "rankdir=LR") == 1);
  CHECK(count(drawing, "subgraph cluster_") == 16);
  CHECK(count(drawing, "label=\" ") == 0);  // the links are in the title
  CHECK(count(drawing, "NVLink 12 x 25 GB/s") == 1);
  // Edges lead to the network in the first half, and away from it in the second.
  CHECK(count(drawing, "\"server7/nic0\" -> \"network\"") == 1);
  CHECK(count(drawing, "\"network\" -> \"server8/nic0\"") == 1);
  CHECK(count(drawing, "\"server0/nvswitch\" -> \"server0/gpu3\"") == 1);
  CHECK(count(drawing, "\"server15/gpu3\" -> \"server15/nvswitch\"") == 1);
  CHECK(count(to_dot(*fabric_of("ndv4", 4)), "rankdir=TB") == 1);
}

TEST_CASE("the boards of dgx2 are drawn side by side", "[topology_models][describe]") {
  const std::string cluster = to_dot(*fabric_of("dgx2", 2));
  CHECK(count(cluster, "subgraph cluster_") == 2);
  CHECK(count(cluster, " -> ") == 2 * 49);
  CHECK(count(cluster, "label=\"nvswitch0 x 6\"") == 2);
  // Only the links between the boards are drawn without an effect on the layers.
  CHECK(count(cluster, "constraint=false") == 2);
  CHECK(count(cluster, "label=\" 48 x 25 GB/s\", constraint=false, dir=none") == 2);
}

TEST_CASE("one-way links and unusual names survive a drawing and a description",
          "[topology_models][describe]") {
  FabricBuilder builder("odd \"name\"");
  builder.add_node({.name = "a\\b"});
  builder.add_node({.name = "switch", .kind = NodeKind::NvSwitch});
  builder.add_node({.name = "c\"d"});
  const auto join = [&](NodeId from, NodeId to) {
    builder.add_link({.source = from, .target = to, .latency_s = 0, .unit_bandwidth_Bps = 2.5e6});
  };
  join(0, 1);
  join(1, 2);
  join(2, 0);
  const FabricPtr fabric = builder.build();
  const std::string dot = to_dot(*fabric);
  CHECK(dot.find("digraph \"odd \\\"name\\\"\" {") == 0);
  // Switches are drawn above, so the edge and its arrow are reversed.
  CHECK(count(dot, "\"switch\" -> \"a\\\\b\"") == 1);
  CHECK(count(dot, "dir=back") == 1);
  CHECK(count(dot, "\"switch\" -> \"c\\\"d\"") == 1);
  CHECK(count(dot, "dir=none") == 0);
  const std::string text = describe_fabric(*fabric);
  CHECK(count(text, "2.5 MB/s") == 8);
  CHECK(count(text, "<->") == 1);  // in the heading only
}

TEST_CASE("a dense drawing of equal links has one label", "[topology_models][describe]") {
  CHECK(count(to_dot(*fabric_of("fully_connected")), "25 GB/s") == 1);
  CHECK(count(to_dot(*fabric_of("ring")), "25 GB/s") == 8);
}

}  // namespace cclgym
