#include <cmath>
#include <limits>

#include "topology_models/fabrics.hpp"

namespace cclgym {

namespace {

const Link kLink{.source = 0, .target = 1, .latency_s = 1e-6, .unit_bandwidth_Bps = 1e9};

FabricBuilder two_gpus() {
  FabricBuilder builder("pair");
  builder.add_node({.name = "a"});
  builder.add_node({.name = "b"});
  return builder;
}

}  // namespace

TEST_CASE("a fabric numbers its ranks in the order of its GPUs", "[topology_models][fabric]") {
  FabricBuilder builder("mixed");
  builder.set_gpu_model("V100");
  builder.add_node({.name = "switch", .kind = NodeKind::NvSwitch, .server = -1});
  builder.add_node({.name = "first"});
  builder.add_node({.name = "nic", .kind = NodeKind::Nic, .server = 1});
  builder.add_node({.name = "second", .server = 1});
  Link link = kLink;
  CHECK(builder.add_duplex_link(link) == 0);
  link.source = 3;
  link.target = 0;
  link.multiplicity = 3;
  CHECK(builder.add_duplex_link(link) == 2);
  const FabricPtr fabric = builder.build();
  CHECK(fabric->name() == "mixed");
  CHECK(fabric->gpu_model() == "V100");
  CHECK(fabric->ranks() == 2);
  CHECK(fabric->gpu(0) == 1);
  CHECK(fabric->gpu(1) == 3);
  CHECK(fabric->servers() == 2);
  CHECK(fabric->server_of(0) == 0);
  CHECK(fabric->server_of(1) == 1);
  REQUIRE(fabric->links().size() == 4);
  CHECK(fabric->links()[3].source == 0);
  CHECK(fabric->links()[3].target == 3);
  CHECK(fabric->links()[3].capacity_Bps() == 3e9);
}

TEST_CASE("ranks per server: only if even and numbered server by server",
          "[topology_models][fabric]") {
  const auto of = [](const std::vector<int>& server_of_gpu) {
    FabricBuilder builder("servers");
    for (std::size_t k = 0; k < server_of_gpu.size(); ++k) {
      const NodeId gpu =
          builder.add_node({.name = "gpu" + std::to_string(k), .server = server_of_gpu[k]});
      if (gpu > 0) {
        builder.add_duplex_link({.source = gpu - 1, .target = gpu, .unit_bandwidth_Bps = 1e9});
      }
    }
    return builder.build()->ranks_per_server();
  };
  CHECK(of({0}) == 1);
  CHECK(of({0, 0, 0}) == 3);
  CHECK(of({0, 1, 2}) == 1);
  CHECK(of({0, 0, 1, 1, 2, 2}) == 2);
  CHECK_FALSE(of({0, 0, 1}));
  CHECK_FALSE(of({0, 1, 1}));
  CHECK_FALSE(of({0, 1, 0, 1}));  // equal numbers, but not in blocks
  CHECK_FALSE(of({1, 1, 0, 0}));  // in blocks, but not in order
  CHECK_FALSE(of({0, 0, 0, 1, 1, 2}));
  // A node that has only switches.
  FabricBuilder builder("storage");
  builder.add_node({.name = "a"});
  builder.add_node({.name = "b"});
  builder.add_node({.name = "nic", .kind = NodeKind::Nic, .server = 1});
  builder.add_duplex_link({.source = 0, .target = 1, .unit_bandwidth_Bps = 1e9});
  CHECK_FALSE(builder.build()->ranks_per_server());
}

TEST_CASE("a builder refuses links that cannot be", "[topology_models][fabric]") {
  FabricBuilder builder = two_gpus();
  const auto refusal = [&](auto change) {
    Link link = kLink;
    change(link);
    return complaint([&] { builder.add_link(link); });
  };
  CHECK(refusal([](Link& l) { l.target = 2; }) ==
        "fabric 'pair', link a -> #2: there is no node #2");
  CHECK(refusal([](Link& l) { l.source = -1; }) ==
        "fabric 'pair', link #-1 -> b: there is no node #-1");
  CHECK(refusal([](Link& l) { l.target = 0; }) ==
        "fabric 'pair', link a -> a: a link cannot join a node to itself");
  CHECK(refusal([](Link& l) { l.latency_s = -1; }) ==
        "fabric 'pair', link a -> b: latency is -1 s, but must be at least 0");
  CHECK(refusal([](Link& l) { l.unit_bandwidth_Bps = 0; }) ==
        "fabric 'pair', link a -> b: bandwidth is 0 B/s, but must be above 0");
  CHECK(refusal([](Link& l) { l.multiplicity = 0; }) ==
        "fabric 'pair', link a -> b: multiplicity is 0, but must be at least 1");
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    refusal([&](Link& l) { l.latency_s = bad; });
    refusal([&](Link& l) { l.unit_bandwidth_Bps = bad; });
  }
}

TEST_CASE("a builder refuses nodes that cannot be", "[topology_models][fabric]") {
  FabricBuilder builder("f");
  const auto refusal = [&](const Node& node) { return complaint([&] { builder.add_node(node); }); };
  CHECK(refusal({.name = ""}) == "fabric 'f', node '': a node needs a name");
  CHECK(refusal({.name = "x", .kind = NodeKind::NvSwitch, .multiplicity = 0}) ==
        "fabric 'f', node 'x': multiplicity is 0, but must be at least 1");
  CHECK(refusal({.name = "x", .server = -1}) ==
        "fabric 'f', node 'x': server is -1, but must be from 0 to 999999");
  CHECK(refusal({.name = "x", .kind = NodeKind::Nic, .server = -2}) ==
        "fabric 'f', node 'x': server is -2, but must be from -1 (in no server) to 999999");
  CHECK(refusal({.name = "x", .multiplicity = 2}) ==
        "fabric 'f', node 'x': a GPU has multiplicity 1: each is a rank of its own");
}

TEST_CASE("a builder refuses fabrics that cannot be", "[topology_models][fabric]") {
  SECTION("no GPU") {
    FabricBuilder builder("empty");
    CHECK(complaint([&] { (void)builder.build(); }) ==
          "fabric 'empty' has no GPU, but needs at least one");
  }
  SECTION("equal names") {
    FabricBuilder builder = two_gpus();
    builder.add_node({.name = "a", .kind = NodeKind::Nic});
    CHECK(complaint([&] { (void)builder.build(); }) == "fabric 'pair': two nodes are called 'a'");
  }
  SECTION("GPUs apart") {
    FabricBuilder builder = two_gpus();
    CHECK(complaint([&] { (void)builder.build(); }) ==
          "fabric 'pair': no links lead from GPU 'a' to GPU 'b'");
  }
  SECTION("GPUs joined one way only") {
    FabricBuilder builder = two_gpus();
    builder.add_link(kLink);
    CHECK(complaint([&] { (void)builder.build(); }) ==
          "fabric 'pair': no links lead from GPU 'b' to GPU 'a'");
  }
  SECTION("a server without nodes") {
    FabricBuilder builder = two_gpus();
    builder.add_duplex_link(kLink);
    builder.add_node({.name = "c", .kind = NodeKind::Nic, .server = 2});
    CHECK(complaint([&] { (void)builder.build(); }) ==
          "fabric 'pair': no node is in server 1, but one is in server 2");
  }
  SECTION("one GPU is enough") {
    FabricBuilder builder("one");
    builder.add_node({.name = "a"});
    const FabricPtr fabric = builder.build();
    CHECK(fabric->ranks() == 1);
    CHECK(fabric->route(0, 0, 5).empty());
  }
}

TEST_CASE("canonical text tells apart every bit that a simulation sees",
          "[topology_models][fabric]") {
  const auto text = [](auto change) {
    FabricBuilder builder("pair");
    Node node{.name = "b"};
    Link link = kLink;
    std::string model = "V100";
    change(node, link, model);
    builder.set_gpu_model(model);
    builder.add_node({.name = "a"});
    builder.add_node(node);
    builder.add_duplex_link(link);
    return builder.build()->canonical_text();
  };
  const std::string plain = text([](Node&, Link&, std::string&) {});
  CHECK(plain == text([](Node&, Link&, std::string&) {}));
  CHECK(plain !=
        text([](Node&, Link& link, std::string&) { link.latency_s = std::nextafter(1e-6, 1.0); }));
  CHECK(plain != text([](Node&, Link& link, std::string&) {
          link.unit_bandwidth_Bps = std::nextafter(1e9, 0.0);
        }));
  CHECK(plain != text([](Node&, Link& link, std::string&) { link.multiplicity = 2; }));
  CHECK(plain != text([](Node&, Link& link, std::string&) { link.latency_stated = true; }));
  CHECK(plain != text([](Node&, Link& link, std::string&) { link.kind = LinkKind::Pcie; }));
  CHECK(plain != text([](Node& node, Link&, std::string&) { node.name = "c"; }));
  CHECK(plain != text([](Node&, Link&, std::string& model) { model = "A100"; }));
}

}  // namespace cclgym
