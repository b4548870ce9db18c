#include "topology_models/describe/describe.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "support/places.hpp"
#include "topology_models/fabric_file.hpp"
#include "topology_models/fabrics.hpp"

namespace cclgym {

namespace {

// The expected text of a file in golden/.
std::string golden(const std::string& name) {
  std::ifstream file(test::source_path("tests/topology_models/golden/") + name);
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

TEST_CASE("hosts are described as NCCL's choice sees them", "[topology_models][describe]") {
  const auto described = [](const std::string& keys) {
    return describe_fabric(*read_fabric(parse_yaml(keys + "nodes: [{name: a}]\n", "f"), "f"));
  };
  const std::string title = "\n\nHosts, as NCCL's choice sees them\n";
  CHECK(count(described("gpu_model: A100\n"), title + "  cpu  intel\n") == 1);
  CHECK(count(described("gpu_model: A100\ncpu: amd\n"), title + "  cpu  amd\n") == 1);
  CHECK(count(described("nics_behind_host_bridge: true\n"),
              title + "  cpu                      intel\n  nics_behind_host_bridge  true\n") == 1);
  CHECK(count(described("cpu: arm\n"), title + "  cpu  arm\n") == 1);
  CHECK(count(described("gpu_model: MI300X\n"), "Hosts") == 0);
  CHECK(count(described(""), "Hosts") == 0);
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

TEST_CASE("alike devices of a large node share one box of its drawing",
          "[topology_models][describe]") {
  const std::string rack = to_dot(*fabric_of("gb200-nvl72", 2));
  CHECK(count(rack, "label=\"gpu3 to gpu70: 68 alike\"") == 2);
  CHECK(count(rack, "shape=box,") == 2 * 5);
  CHECK(count(rack, "label=\"gpu71\"") == 2);
  CHECK(count(rack, "label=\"gpu70\"") == 0);
  // One line per box to the NVSwitch, from it to the PCIe switch and the NIC, and to the network.
  CHECK(count(rack, " -> ") == 2 * 4 * 5);
  // 16 GPUs are still drawn one by one, and so is a mesh of any number of GPUs.
  CHECK(count(to_dot(*fabric_of("dgx2")), "alike") == 0);
  CHECK(count(to_dot(*fabric_of("fully_connected", 1, 20)), " -> ") == 190);
}

TEST_CASE("a torus is drawn in rows, with dashed links around it", "[topology_models][describe]") {
  const auto torus = [](const std::string& shape) {
    FabricSpec spec;
    spec.name = "torus";
    spec.shape = shape;
    return to_dot(*make_fabric(spec));
  };
  const std::string flat = torus("3x5");
  CHECK(count(flat, "layout=neato") == 1);
  CHECK(count(flat, "label=\"gpu7\", shape=box, fillcolor=\"#d9ead3\", pos=\"2.4,-0.9!\"") == 1);
  CHECK(count(flat, " -> ") == 30);
  CHECK(count(flat, "style=dashed") == 3 + 5);
  CHECK(count(torus("2x3x4"), "pos=\"3.6,-4.5!\"") == 1);  // gpu23, in rows of 4
  CHECK(count(to_dot(*fabric_of("ring", 1, 12)), "layout=circo") == 1);
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
