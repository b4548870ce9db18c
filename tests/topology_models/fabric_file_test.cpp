#include "topology_models/fabric_file.hpp"

#include <string_view>

#include "support/allocations.hpp"
#include "support/places.hpp"
#include "topology_models/fabrics.hpp"

namespace cclgym {

namespace {

FabricPtr read(std::string_view text) { return read_fabric(parse_yaml(text, "f.yaml"), "f"); }

std::string refusal(std::string_view text) {
  return complaint([&] { (void)read(text); });
}

// A fabric file with two GPUs, a and b, and a link.
std::string with_link(const std::string& link) {
  return "nodes:\n  - {name: a}\n  - {name: b}\nlinks:\n  - " + link + "\n";
}

}  // namespace

TEST_CASE("fabric file: every key", "[topology_models][fabric-file]") {
  const FabricPtr fabric = read(R"(
name: mine
gpu_model: H100
nodes:
  - {name: gpu0..1, server: 0}
  - {name: s1/gpu0..1, kind: gpu, server: 1}
  - {name: nvs, kind: nvswitch, multiplicity: 4, server: 0, computes: true}
  - {name: net, kind: network-switch}
  - {name: other, kind: generic}
links:
  - {from: gpu0..1, to: nvs, kind: nvlink, bandwidth: 25 GB/s, latency: 0.35us, multiplicity: 18}
  - {from: s1/gpu0..1, to: gpu0..1, kind: pcie, bandwidth: 200 Gb/s, latency: 1 us}
  - {from: net, to: gpu0..1, kind: network, bandwidth: 12.5 GB/s, latency: 0 s, duplex: false}
  - {from: other, to: net, bandwidth: 1 GB/s, latency: 10ns}
)");
  CHECK(fabric->name() == "mine");
  CHECK(fabric->gpu_model() == "H100");
  REQUIRE(fabric->nodes().size() == 7);
  CHECK(fabric->ranks() == 4);
  CHECK(fabric->servers() == 2);
  CHECK(fabric->nodes()[3].name == "s1/gpu1");
  CHECK(fabric->nodes()[3].server == 1);
  CHECK(fabric->nodes()[4].kind == NodeKind::NvSwitch);
  CHECK(fabric->nodes()[4].multiplicity == 4);
  CHECK(fabric->nodes()[4].computes);
  CHECK_FALSE(fabric->nodes()[5].computes);
  CHECK(fabric->nodes()[5].kind == NodeKind::NetworkSwitch);
  CHECK(fabric->nodes()[5].server == -1);
  CHECK(fabric->nodes()[6].kind == NodeKind::Generic);
  CHECK(fabric->nodes()[6].server == 0);
  REQUIRE(fabric->links().size() == 4 + 4 + 2 + 2);
  const Link& nvlink = fabric->links()[2];
  CHECK(nvlink.source == 1);
  CHECK(nvlink.target == 4);
  CHECK(nvlink.kind == LinkKind::NvLink);
  CHECK(nvlink.latency_s == 0.35e-6);
  for (const Link& link : fabric->links()) CHECK(link.latency_stated);
  CHECK(nvlink.capacity_Bps() == 18 * 25e9);
  CHECK(fabric->links()[3].source == 4);
  const Link& pcie = fabric->links()[6];
  CHECK(pcie.source == 3);
  CHECK(pcie.target == 1);
  CHECK(pcie.unit_bandwidth_Bps == 25e9);
  const Link& one_way = fabric->links()[9];
  CHECK(one_way.source == 5);
  CHECK(one_way.target == 1);
  CHECK(one_way.kind == LinkKind::Network);
  CHECK(fabric->links()[10].kind == LinkKind::Generic);
}

TEST_CASE("fabric file: a mesh joins every two nodes", "[topology_models][fabric-file]") {
  const FabricPtr fabric =
      read("nodes: [{name: g0..3}]\nlinks: [{mesh: g0..3, bandwidth: 1 GB/s, latency: 1us}]\n");
  CHECK(fabric->name() == "f");
  CHECK(fabric->links().size() == 12);
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) CHECK(fabric->route(a, b, 0).size() == (a == b ? 0 : 1));
  }
}

TEST_CASE("fabric file: a lone GPU needs no links", "[topology_models][fabric-file]") {
  CHECK(read("nodes: [{name: a}]").get()->ranks() == 1);
}

TEST_CASE("name patterns", "[topology_models][fabric-file]") {
  CHECK(expand_names("gpu") == std::vector<std::string>{"gpu"});
  CHECK(expand_names("g9..11x") == std::vector<std::string>{"g9x", "g10x", "g11x"});
  CHECK(expand_names("s0..1/g2..3") ==
        std::vector<std::string>{"s0/g2", "s0/g3", "s1/g2", "s1/g3"});
  CHECK(expand_names("7..7") == std::vector<std::string>{"7"});
  CHECK(expand_names("a..b") == std::vector<std::string>{"a..b"});
  CHECK(expand_names("a..1..2") == std::vector<std::string>{"a..1", "a..2"});
  CHECK(expand_names("").size() == 1);
  CHECK(complaint([] { (void)expand_names("g3..1"); }) ==
        "name 'g3..1': the range 3..1 counts down; expected the lesser number first");
  CHECK(complaint([] { (void)expand_names("g0..100000"); }) ==
        "name 'g0..100000': stands for more than 100000 names");
  CHECK(complaint([] { (void)expand_names("g0..9223372036854775807"); }) ==
        "name 'g0..9223372036854775807': stands for more than 100000 names");
  CHECK(complaint([] { (void)expand_names("0..999 0..999 0..999"); }) ==
        "name '0..999 0..999 0..999': stands for more than 100000 names");
  CHECK(complaint([] { (void)expand_names(std::string(1'000'000, 'x')); }) ==
        "a name of 1000000 bytes; expected at most 200");
}

TEST_CASE("fabric file: every mistake has its place", "[topology_models][fabric-file]") {
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"nodes: [{name: a, server: -1}]\n",
       "f.yaml:1:27: server is -1 (in none); expected >= 0, because the node is a GPU"},
      {"nodes: [{name: a, multiplicity: 2}]\n",
       "f.yaml:1:33: multiplicity is 2; expected 1, because the node is a GPU: each GPU is a rank "
       "of its own"},
      {"nodes: [{name: a, computes: true}]\n",
       "f.yaml:1:29: computes is true; expected false, because the node is of kind gpu, and only "
       "nvswitch and network-switch compute"},
      {"nodes: [{name: a, server: 1}]\n",
       "f.yaml:1:1: fabric 'f': no node is in server 0, but one is in server 1"},
      {"nodes: [{name: s, kind: nic}]\n",
       "f.yaml:1:1: fabric 'f' has no GPU, but needs at least one"},
      {"nodes:\n  - {name: a0..2}\n  - {name: a2}\n",
       "f.yaml:3:12: there is already a node called 'a2'"},
      {"nodes: [{name: a0..1}]\n",
       "f.yaml:1:1: fabric 'f': no links lead from GPU 'a0' to GPU 'a1'"},
      {with_link("{from: a, to: b, bandwidth: 1 GB/s, latency: 1us, duplex: false}"),
       "f.yaml:1:1: fabric 'f': no links lead from GPU 'b' to GPU 'a'"},
      {with_link("{from: a, to: bb, bandwidth: 1 GB/s, latency: 1us}"),
       "f.yaml:5:19: unknown node 'bb'; expected one of a, b (did you mean 'b'?)"},
      {with_link("{from: a, to: a, bandwidth: 1 GB/s, latency: 1us}"),
       "f.yaml:5:5: a link joins node 'a' to itself"},
      {with_link("{from: a, bandwidth: 1 GB/s, latency: 1us}"),
       "f.yaml:5:5: a link needs 'to' (or 'mesh')"},
      {with_link("{from: a, mesh: b, bandwidth: 1 GB/s, latency: 1us}"),
       "f.yaml:5:5: a link has either 'mesh' or 'from' and 'to', not both"},
      {with_link("{mesh: a, duplex: false, bandwidth: 1 GB/s, latency: 1us}"),
       "f.yaml:5:23: a mesh is always duplex"},
      {"nodes: [{name: gpu0...3}]\n",
       "f.yaml:1:16: name 'gpu0...3': a range has two dots (did you mean 'gpu0..3'?)"},
      {with_link("{mesh: a, bandwidth: 1 GB/s, latency: 1us}") +
           "  - {from: s0....1/a, to: b, bandwidth: 1 GB/s, latency: 1us}\n",
       "f.yaml:6:12: name 's0....1/a': a range has two dots (did you mean 's0..1/a'?)"},
      {"nodes:\n  - {name: gpu0..1}\n  - {name: sw0..2, kind: pcie-switch}\n"
       "links: [{from: gpu0..1, to: sw0..1, bandwidth: 1 GB/s, latency: 1us}]\n",
       "f.yaml:3:12: switch 'sw2' has no link; expected at least one in 'links', or leave the "
       "switch out"},
  };
  for (const auto& [text, message] : mistakes) {
    INFO(text);
    CHECK(refusal(text) == message);
  }
  CHECK(refusal("nodes: [{name: a0..2}, {name: b0..1}]\n"
                "links: [{from: a0..2, to: b0..1, bandwidth: 1 GB/s, latency: 1us}]\n") ==
        "f.yaml:2:9: a link joins 3 nodes to 2; expected equal numbers, or one node at one end");
  CHECK(refusal("nodes: [{name: gpu0..40}]\n"
                "links: [{from: gpx3, to: gpu1, bandwidth: 1 GB/s, latency: 1us}]\n") ==
        "f.yaml:2:16: unknown node 'gpx3' (did you mean 'gpu3'?)");
}

TEST_CASE("a template makes equal servers", "[topology_models][fabric-file]") {
  const std::string text =
      "servers:\n"
      "  - name: s0..2\n"
      "    nodes: [{name: gpu0..1}, {name: nic, kind: nic}]\n"
      "    links:\n"
      "      - {from: gpu0..1, to: nic, kind: pcie, bandwidth: 24 GB/s, latency: 1us}\n"
      "nodes: [{name: leaf, kind: network-switch}]\n"
      "links: [{from: s0..2/nic, to: leaf, kind: network, bandwidth: 25 GB/s, latency: 1us}]\n";
  const std::string spelled_out =
      "nodes:\n"
      "  - {name: s0/gpu0..1, server: 0}\n  - {name: s0/nic, kind: nic, server: 0}\n"
      "  - {name: s1/gpu0..1, server: 1}\n  - {name: s1/nic, kind: nic, server: 1}\n"
      "  - {name: s2/gpu0..1, server: 2}\n  - {name: s2/nic, kind: nic, server: 2}\n"
      "  - {name: leaf, kind: network-switch}\n"
      "links:\n"
      "  - {from: s0/gpu0..1, to: s0/nic, kind: pcie, bandwidth: 24 GB/s, latency: 1us}\n"
      "  - {from: s1/gpu0..1, to: s1/nic, kind: pcie, bandwidth: 24 GB/s, latency: 1us}\n"
      "  - {from: s2/gpu0..1, to: s2/nic, kind: pcie, bandwidth: 24 GB/s, latency: 1us}\n"
      "  - {from: s0..2/nic, to: leaf, kind: network, bandwidth: 25 GB/s, latency: 1us}\n";
  const auto made = [](const std::string& file) { return read_fabric(parse_yaml(file, "f"), "f"); };
  const FabricPtr fabric = made(text);
  CHECK(fabric->ranks() == 6);
  CHECK(fabric->servers() == 3);
  CHECK(fabric->canonical_text() == made(spelled_out)->canonical_text());
  CHECK(refusal("servers: [{name: s0..1, nodes: [{name: a, server: 1}]}]\n") ==
        "f.yaml:1:51: server is stated; leave it out: the devices of a template belong to the "
        "server that it makes");
  CHECK(refusal("servers: [{name: s, nodes: [{name: a}]}, {name: s, nodes: [{name: b}]}]\n") ==
        "f.yaml:1:49: there is already a server called 's'");
}

TEST_CASE("fabric file: mistakes that the records find have their place",
          "[topology_models][fabric-file]") {
  says(refusal("nodse: []\n"), "f.yaml:1:1", "(did you mean 'nodes'?)");
  says(refusal("nodes: [{name: a}]\nlink: []\n"), "f.yaml:2:1", "(did you mean 'links'?)");
  says(refusal("name: x\n"), "f.yaml:1:1", "'nodes'");
  says(refusal("- a\n"), "f.yaml:1:1", "list");
  says(refusal("nodes: []\n"), "f.yaml:1:8", "empty");
  says(refusal("nodes: [{name: a, knd: gpu}]\n"), "f.yaml:1:19", "(did you mean 'kind'?)");
  says(refusal("nodes: [{name: a, kind: gpo}]\n"), "f.yaml:1:25", "(did you mean 'gpu'?)");
  const auto link = [](const std::string& keys) { return refusal(with_link("{" + keys + "}")); };
  says(link("from: a, to: b, bandwidth: 25, latency: 1us"), "f.yaml:5:33", "25 GB/s");
  says(link("from: a, to: b, bandwidth: 0 GB/s, latency: 1us"), "f.yaml:5:33", ">= 1.0 KB/s");
  says(link("from: a, to: b, latency: 1us"), "f.yaml:5:5", "'bandwidth'");
  says(link("from: a, to: b, bandwidth: 1 GB/s, latency: 3"), "f.yaml:5:50", "unit");
  says(link("from: a, to: b, bandwidth: 1 GB/s, latency: 1us, multiplicity: 0"), "f.yaml:5:69",
       "multiplicity");
  says(link("from: a, to: b, bandwith: 1 GB/s, latency: 1us"), "f.yaml:5:22",
       "(did you mean 'bandwidth'?)");
  says(link("from: a, to: b, bandwidth: 1 GB/s, latency: 1us, kind: nvlnk"), "f.yaml:5:61",
       "(did you mean 'nvlink'?)");
}

TEST_CASE("fabric file: magnitudes that no machine has are refused where they stand",
          "[topology_models][fabric-file]") {
  const auto link = [](const std::string& bandwidth, const std::string& latency) {
    return refusal(
        with_link("{from: a, to: b, bandwidth: " + bandwidth + ", latency: " + latency + "}"));
  };
  CHECK(link("25e30 GB/s", "1us") ==
        "f.yaml:5:33: bandwidth is '25e30 GB/s'; expected >= 1.0 KB/s, <= 1000.0 TB/s");
  CHECK(link("1000.1 TB/s", "1us").starts_with("f.yaml:5:33: bandwidth is "));
  CHECK(link("999 B/s", "1us").starts_with("f.yaml:5:33: bandwidth is "));
  CHECK(link("1 GB/s", "11s") == "f.yaml:5:50: latency is '11s'; expected >= 0 s, <= 10 s");
  for (const char* bandwidth : {"1000 TB/s", "1 KB/s"}) {
    CHECK(read(with_link(std::string("{from: a, to: b, latency: 10s, bandwidth: ") + bandwidth +
                         "}")) != nullptr);
  }
}

TEST_CASE("fabric file: a latency that is not stated is the usual one, which an alpha replaces",
          "[topology_models][fabric-file]") {
  const FabricPtr fabric = read(
      "nodes:\n"
      "  - {name: a0..1}\n"
      "  - {name: nvs, kind: nvswitch}\n"
      "  - {name: pcie, kind: pcie-switch}\n"
      "  - {name: host, kind: host}\n"
      "  - {name: nic, kind: nic}\n"
      "  - {name: net, kind: network-switch}\n"
      "links:\n"
      "  - {from: a0, to: nvs, kind: nvlink, bandwidth: 1 GB/s, duplex: false}\n"
      "  - {from: a0, to: a1, kind: nvlink, bandwidth: 1 GB/s}\n"
      "  - {from: a0, to: pcie, kind: pcie, bandwidth: 1 GB/s}\n"
      "  - {from: pcie, to: host, kind: pcie, bandwidth: 1 GB/s}\n"
      "  - {from: nic, to: net, kind: network, bandwidth: 1 GB/s}\n"
      "  - {from: nic, to: net, kind: network, bandwidth: 1 GB/s, latency: 2us}\n");
  std::vector<double> latencies;
  for (std::size_t k = 0; k < fabric->links().size(); k += k == 0 ? 1 : 2) {
    latencies.push_back(fabric->links()[k].latency_s);
    CHECK(fabric->links()[k].latency_stated == (latencies.back() == 2e-6));
  }
  CHECK(latencies == std::vector<double>{0.35e-6, 0.7e-6, 0, 0.5e-6, 1.3e-6, 2e-6});
  const std::string missing =
      "f.yaml:5:5: key 'latency' is missing; only links of kind nvlink and pcie, and those of kind "
      "network to a NIC, have a usual latency";
  CHECK(refusal(with_link("{from: a, to: b, bandwidth: 1 GB/s}")) == missing);
  CHECK(refusal(with_link("{from: a, to: b, kind: network, bandwidth: 1 GB/s}")) == missing);
}

TEST_CASE("fabric file: GPUs relay as the file says", "[topology_models][fabric-file]") {
  CHECK(read("nodes: [{name: a}]\n")->max_relays() == 0);
  CHECK(read("relays: 1\nnodes: [{name: a}]\n")->max_relays() == 1);
}

TEST_CASE("fabric file: hosts, as NCCL's choice sees them", "[topology_models][fabric-file]") {
  const auto host = [](const std::string& keys) {
    return read(keys + "nodes: [{name: a}]\n")->host();
  };
  CHECK(host("").cpu == HostCpu::Intel);
  CHECK_FALSE(host("").nics_behind_host_bridge);
  CHECK(host("gpu_model: GH200\n").cpu == HostCpu::Arm);
  CHECK(host("gpu_model: GH200\ncpu: intel\n").cpu == HostCpu::Intel);
  CHECK(host("cpu: amd\ngpu_model: A100\n").cpu == HostCpu::Amd);
  CHECK(host("cpu: arm\n").cpu == HostCpu::Arm);
  CHECK(host("nics_behind_host_bridge: true\n").nics_behind_host_bridge);
  CHECK(refusal("cpu: amb\nnodes: [{name: a}]\n").starts_with("f.yaml:1:6: "));
  CHECK(to_string(HostCpu::Amd) == "amd");
  // Fabrics that differ in one of them are different ones.
  const auto text = [](const std::string& keys) {
    return read(keys + "nodes: [{name: a}]\n")->canonical_text();
  };
  CHECK(text("cpu: intel\n") == text(""));
  CHECK(text("cpu: amd\n") != text(""));
  CHECK(text("cpu: arm\n") != text("cpu: amd\n"));
  CHECK(text("nics_behind_host_bridge: true\n") != text(""));
}

TEST_CASE("fabric file: a key without a value is refused", "[topology_models][fabric-file]") {
  CHECK(refusal("cpu:\nnodes: [{name: a}]\n") ==
        "f.yaml:1:1: cpu has no value; expected one of intel, amd, arm");
  CHECK(refusal("nics_behind_host_bridge: ~\nnodes: [{name: a}]\n") ==
        "f.yaml:1:1: nics_behind_host_bridge has no value; expected true or false");
  CHECK(refusal("nodes: [{name: a, multiplicity: }]\n") ==
        "f.yaml:1:19: multiplicity has no value; expected whole number");
  CHECK(refusal("nodes: [{name: a}]\nlinks:\n") ==
        "f.yaml:2:1: links has no value; expected list of mappings");
}

TEST_CASE("fabric file: GPU models that nobody knows are refused, with the nearest name",
          "[topology_models][fabric-file]") {
  const auto of = [](const std::string& model) {
    return refusal("gpu_model: " + model + "\nnodes: [{name: a}]\n");
  };
  const std::string known =
      "expected one of V100, T4, A100, A800, A10G, A10, L4, L40S, 4090, H100, H200, H800, H20, "
      "GH200, B200, GB200, B300, GB300, MI50, MI250X, MI300X, MI325X, MI350X, MI355X";
  CHECK(of("a100").starts_with("f.yaml:1:12: unknown GPU model 'a100'; " + known +
                               " (did you mean 'A100'?); "));
  CHECK(of("MI300").find("(did you mean 'MI300X'?)") != std::string::npos);
  CHECK(of("Gaudi").find("add its compute_capability") != std::string::npos);
  const auto turing = read("gpu_model: RTX 8000\ncompute_capability: 7.5\nnodes: [{name: a}]\n");
  CHECK(turing->gpu_model() == "T4");
  REQUIRE(turing->warnings().size() == 1);
  CHECK(turing->warnings().front().starts_with(
      "there is no model of the GPU 'RTX 8000'; T4, the nearest by compute capability, "));
  // The compute capability of some is known by their names.
  const auto a30 = read("gpu_model: A30\nnodes: [{name: a}]\n");
  CHECK(a30->gpu_model() == "A100");
  CHECK(a30->warnings().size() == 1);
  // A device's whole name.
  const auto whole = read("gpu_model: NVIDIA GeForce RTX 4090\nnodes: [{name: a}]\n");
  CHECK(whole->gpu_model() == "4090");
  CHECK(whole->warnings().empty());
  CHECK(read("gpu_model: A100\ncompute_capability: 9.0\nnodes: [{name: a}]\n")->warnings().empty());
  CHECK(read("gpu_model: B200\nnodes: [{name: a}]\n")->gpu_model() == "B200");
  CHECK(read("nodes: [{name: a}]\n")->gpu_model().empty());
  FabricBuilder builder("mine");
  CHECK_THROWS_AS(builder.set_gpu_model("A1000"), UserError);
}

TEST_CASE("fabric file: a few lines cannot ask for gigabytes", "[topology_models][fabric-file]") {
  const std::size_t before = test::allocated_bytes();
  std::string nodes = "nodes:\n";
  for (int k = 0; k < 20; ++k) {
    nodes += "  - {name: " + std::string(1, static_cast<char>('a' + k)) + "1..100000}\n";
  }
  CHECK(refusal(nodes) == "f.yaml:7:12: there are more than 500000 nodes");
  CHECK(refusal("nodes: [{name: g1..2000}]\n"
                "links: [{mesh: g1..2000, bandwidth: 1 GB/s, latency: 1us}]\n") ==
        "f.yaml:2:16: mesh has 2000 nodes; expected at most 1024");
  std::string links = "nodes: [{name: g1..1000}]\nlinks:\n";
  for (int k = 0; k < 3; ++k) links += "  - {mesh: g1..1000, bandwidth: 1 GB/s, latency: 1us}\n";
  CHECK(refusal(links) == "f.yaml:5:5: there are more than 2000000 links");
  CHECK(test::allocated_bytes() - before < std::size_t{1} << 30);
}

TEST_CASE("fabric file: the shipped example", "[topology_models][fabric-file]") {
  const FabricPtr fabric = load_fabric(test::source_path("experiments/fabrics/two-islands.yaml"));
  CHECK(fabric->name() == "two-islands");
  CHECK(fabric->gpu_model() == "V100");
  CHECK(fabric->ranks() == 8);
  CHECK(fabric->route(0, 3, 0).size() == 1);
  // The route crosses the bridge, but no other GPU.
  CHECK(fabric->route(0, 7, 0).size() == 3);
}

TEST_CASE("fabric file: one that is not there", "[topology_models][fabric-file]") {
  const std::string message = complaint([] { (void)load_fabric("/nowhere/at-all.yaml"); });
  CHECK(message.find("/nowhere/at-all.yaml") != std::string::npos);
}

}  // namespace cclgym
