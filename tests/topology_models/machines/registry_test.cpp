#include "topology_models/machines/registry.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>

#include "support/places.hpp"
#include "support/temporary_folder.hpp"
#include "topology_models/fabrics.hpp"

namespace cclgym {

namespace {

FabricSpec spec_of(const std::string& text) { return read_fabric_spec(parse_yaml(text, "e.yaml")); }

std::string spec_refusal(const std::string& text) {
  return complaint([&] { (void)spec_of(text); });
}

std::string all_names() {
  std::string all;
  for (const FabricInfo& info : fabric_infos()) all += (all.empty() ? "" : ", ") + info.name;
  return all;
}

std::string build_refusal(const FabricSpec& spec) {
  return complaint([&] { (void)make_fabric(spec); });
}

}  // namespace

TEST_CASE("every shipped fabric can be built with its defaults, as its options state them",
          "[topology_models][registry]") {
  std::vector<std::string> names;
  for (const FabricInfo& info : fabric_infos()) {
    names.push_back(info.name);
    INFO(info.name);
    CHECK_FALSE(info.description.empty());
    CHECK(find_fabric_info(info.name) == &info);
    const bool generic =
        info.name == "ring" || info.name == "torus" || info.name == "fully_connected";
    CHECK(info.facts.empty() == generic);
    for (const FabricFact& fact : info.facts) {
      CHECK_FALSE(fact.fact.empty());
      CHECK_FALSE(fact.source.empty());
    }
    FabricSpec spec;
    spec.name = info.name;
    const FabricPtr fabric = make_fabric(spec);
    CHECK(fabric->name() == info.name);
    FabricSpec explicit_spec = spec;
    for (const OptionSpec& option : info.options) {
      const std::string& text = option.default_text;
      if (option.name == "nodes") explicit_spec.servers = std::stoi(text);
      if (option.name == "gpus") explicit_spec.gpus = fabric->ranks();
      if (option.name == "bandwidth") explicit_spec.bandwidth_Bps = read_rate_Bps(text, option);
      if (option.name == "latency") explicit_spec.latency_s = read_time_s(text, option);
      if (option.name == "gpus_per_node") {
        explicit_spec.gpus_per_server = fabric->ranks() / fabric->servers();
      }
      if (option.name == "nic_binding") explicit_spec.nic_binding = NicBinding::PcieLocal;
      if (option.name == "oversubscription") explicit_spec.oversubscription = std::stod(text);
      if (option.name == "nodes_per_leaf") explicit_spec.servers_per_leaf = std::stoi(text);
      if (option.name == "rails") explicit_spec.rails = false;
      if (option.name == "shape") explicit_spec.shape = text;
      if (option.name == "groups") explicit_spec.groups = 0;
      if (option.name == "routing") explicit_spec.routing = Routing::Adaptive;
      if (option.name == "nvls") explicit_spec.nvls = true;
      if (option.name == "sharp") explicit_spec.sharp = false;
      if (option.name == "nvb") explicit_spec.nvb = true;
    }
    // The mark of a stated latency is a difference of its own, so it is removed.
    const auto unmarked = [](std::string text) {
      const std::string mark = " stated";
      for (std::size_t at = 0; (at = text.find(mark)) != std::string::npos;) {
        text.erase(at, mark.size());
      }
      return text;
    };
    const bool same = unmarked(make_fabric(explicit_spec)->canonical_text()) ==
                      unmarked(fabric->canonical_text());
    CHECK(same);
  }
  CHECK(names ==
        std::vector<std::string>{"dgx1",         "dgx2",        "ndv2",        "ndv4",
                                 "hgx-h100",     "h200",        "h20",         "b200",
                                 "gb200-nvl72",  "mi300x",      "mi325x",      "mi355x",
                                 "mi350x",       "b300",        "gb300-nvl72", "h800",
                                 "dgx-a100",     "a800",        "aws-p4d",     "aws-p5",
                                 "aws-p5en",     "aws-p6-b200", "gcp-a3-high", "gcp-a3-mega",
                                 "gcp-a3-ultra", "ndv5",        "oci-a100",    "oci-h100",
                                 "l40s-pcie",    "l4-pcie",     "a10-pcie",    "t4-pcie",
                                 "rtx4090-pcie", "abci-v",      "abci-a",      "z52",
                                 "amd-mi250x",   "frontier",    "perlmutter",  "polaris",
                                 "alps",         "ring",        "torus",       "fully_connected",
                                 "ethernet",     "aws-g5",      "a100-tcp"});
  CHECK(find_fabric_info("my.yaml") == nullptr);
}

TEST_CASE("labels of a fabric file name failed parts once", "[topology_models][registry]") {
  FabricSpec spec{.name = test::source_path("experiments/fabrics/two-islands.yaml")};
  CHECK(fabric_label(spec, *make_fabric(spec)) == "two-islands");
  spec.without = "gpu0:gpu1";
  CHECK(fabric_label(spec, *make_fabric(spec)) == "two-islands without=gpu0:gpu1");
  spec.servers = 2;
  CHECK(build_refusal(spec) ==
        "fabric '" + spec.name + "' has 1 node in its file; found nodes = 2");
}

TEST_CASE("`nodes` is the first nodes of a fabric file", "[topology_models][registry]") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "four.yaml";
  test::write_file(path,
                   "gpu_model: A100\nservers:\n  - name: node0..3\n"
                   "    nodes: [{name: gpu0..1}, {name: nic0, kind: nic}]\n"
                   "    links:\n      - {mesh: gpu0..1, kind: nvlink, bandwidth: 100 GB/s}\n"
                   "      - {from: gpu0..1, to: nic0, kind: pcie, bandwidth: 24 GB/s}\n"
                   "nodes: [{name: leaf, kind: network-switch}]\n"
                   "links: [{from: node0..3/nic0, to: leaf, kind: network, bandwidth: 25 GB/s}]\n");
  FabricSpec spec{.name = path};
  const auto whole = make_fabric(spec);
  CHECK(whole->ranks() == 8);
  for (int nodes = 1; nodes <= 4; ++nodes) {
    spec.servers = nodes;
    const auto part = make_fabric(spec);
    CHECK(part->servers() == nodes);
    CHECK(part->ranks() == 2 * nodes);
    CHECK(part->name() == whole->name());
    CHECK(part->gpu_model() == "A100");
    // Each node has 3 links in both directions within, and one to the switch.
    CHECK(part->links().size() == static_cast<std::size_t>(8 * nodes));
    CHECK(fabric_label(spec, *part) == fmt::format("four nodes={}", nodes));
  }
  CHECK(make_fabric(spec)->canonical_text() == whole->canonical_text());
  spec.servers = 5;
  CHECK(build_refusal(spec) == "fabric '" + path + "' has 4 nodes in its file; found nodes = 5");
}

TEST_CASE("fabrics that cannot be built", "[topology_models][registry]") {
  CHECK(build_refusal({.name = "fullyconnected"}) ==
        "unknown fabric 'fullyconnected'; expected one of " + all_names() +
            " (did you mean 'fully_connected'?); or the path of a file, with a dot or a slash in "
            "it (./topo)");
  CHECK(build_refusal({.name = "dgx1", .servers = 2}) ==
        "fabric 'dgx1' has 1 node only; found nodes = 2");
  CHECK(build_refusal({.name = "dgx1", .gpus = 4}) ==
        "fabric 'dgx1' has no option 'gpus'; it has bandwidth, latency, nvb, without");
  CHECK(build_refusal({.name = "ndv4", .servers = 0}).rfind("nodes is '0'; expected", 0) == 0);
  CHECK(build_refusal({.name = "ring", .gpus = 1}).rfind("gpus is '1'; expected", 0) == 0);
  CHECK(build_refusal({.name = "ring", .bandwidth_Bps = 0}) ==
        "bandwidth is '0 B/s'; expected >= 1.0 KB/s, <= 1000.0 TB/s");
  CHECK(build_refusal({.name = "x.yaml", .gpus = 4}) ==
        "fabric 'x.yaml' has no option 'gpus'; it has nodes, without");
  CHECK(fabric_of("dgx1", 1)->servers() == 1);
  CHECK(build_refusal({.name = "dgx1", .nic_binding = NicBinding::SingleNic}) ==
        "fabric 'dgx1' has no option 'nic_binding'; it has bandwidth, latency, nvb, without");
  CHECK(build_refusal({.name = "alps", .gpus_per_server = 5})
            .rfind("gpus_per_node is '5'; expected", 0) == 0);
  CHECK(build_refusal({.name = "ndv4", .oversubscription = 0.5})
            .rfind("oversubscription is '0.5'; expected", 0) == 0);
  CHECK(build_refusal({.name = "frontier", .servers = 300, .groups = 2}) ==
        "groups is 2; expected at least 3 on fabric 'frontier', whose groups hold 128 nodes each, "
        "for nodes = 300");
}

TEST_CASE("labels tell specs apart", "[topology_models][registry]") {
  CHECK(fabric_label({.name = "dgx1"}) == "dgx1");
  CHECK(fabric_label({.name = "ndv4", .servers = 2, .bandwidth_Bps = 23.7e9, .latency_s = 5e-7}) ==
        "ndv4 nodes=2 bandwidth=23.7 GB/s latency=0.5 us");
  CHECK(fabric_label({.name = "ring", .gpus = 16}) == "ring gpus=16");
  CHECK(fabric_label({.name = "frontier",
                      .servers = 16,
                      .gpus_per_server = 4,
                      .nic_binding = NicBinding::SingleNic,
                      .groups = 2,
                      .routing = Routing::Minimal}) ==
        "frontier nodes=16 gpus_per_node=4 nic_binding=single_nic groups=2 routing=minimal");
  CHECK(fabric_label({.name = "ndv4", .oversubscription = 2.5, .servers_per_leaf = 4}) ==
        "ndv4 oversubscription=2.5 nodes_per_leaf=4");
  CHECK(fabric_label({.name = "h200", .nvls = false, .sharp = true}) ==
        "h200 nvls=false sharp=true");
}

TEST_CASE("specs from YAML", "[topology_models][registry]") {
  CHECK(spec_of("dgx1").name == "dgx1");
  const FabricSpec spec = spec_of("{name: ring, gpus: 16, bandwidth: 50 GB/s, latency: 2us}");
  CHECK(spec.name == "ring");
  CHECK(spec.gpus == 16);
  CHECK(spec.bandwidth_Bps == 50e9);
  CHECK(spec.latency_s == 2e-6);
  CHECK_FALSE(spec.servers);
  CHECK(spec_of("{name: ndv4, servers: 3}").servers == 3);
  const FabricSpec bound = spec_of(
      "{name: frontier, servers: 16, nic_binding: single_nic, gpus_per_server: 2, groups: 4, "
      "routing: valiant}");
  CHECK(bound.nic_binding == NicBinding::SingleNic);
  CHECK(bound.gpus_per_server == 2);
  CHECK(bound.groups == 4);
  CHECK(bound.routing == Routing::Valiant);
  const FabricSpec switches = spec_of("{name: hgx-h100, servers: 2, nvls: false, sharp: true}");
  CHECK(switches.nvls == false);
  CHECK(switches.sharp == true);
  const auto with_switches = make_fabric(switches);
  for (const Node& node : with_switches->nodes()) {
    CHECK(node.computes == (node.kind == NodeKind::NetworkSwitch));
  }
  const FabricSpec tree = spec_of("{name: abci-v, oversubscription: 1.5, servers_per_leaf: 2}");
  CHECK(tree.oversubscription == 1.5);
  CHECK(tree.servers_per_leaf == 2);
  // The path is relative to the folder of the file that names it.
  const YamlValue value =
      parse_yaml("fabrics/two-islands.yaml", test::source_path("experiments/quickstart.yaml"));
  CHECK(make_fabric(read_fabric_spec(value))->name() == "two-islands");
  CHECK(spec_of("/abs/f.yaml").name == "/abs/f.yaml");
}

TEST_CASE("older names of options still work, and labels keep them",
          "[topology_models][registry]") {
  const FabricSpec now = spec_of("{name: ndv4, nodes: 3, gpus_per_node: 2, nodes_per_leaf: 2}");
  const FabricSpec before =
      spec_of("{name: ndv4, servers: 3, gpus_per_server: 2, servers_per_leaf: 2}");
  CHECK(now.servers == 3);
  CHECK(now.gpus_per_server == 2);
  CHECK(now.servers_per_leaf == 2);
  CHECK(fabric_label(now) == "ndv4 nodes=3 gpus_per_node=2 nodes_per_leaf=2");
  const std::string plain = comparable_fabric_label(fabric_label(now));
  CHECK(comparable_fabric_label("ndv4 servers=3 gpus_per_server=2 servers_per_leaf=2") == plain);
  CHECK(comparable_fabric_label("ndv4 nodes=2 gpus_per_node=2 nodes_per_leaf=2") != plain);
  CHECK(comparable_fabric_label("nodes") == "nodes");
  const std::vector<std::string> known{"a", "ndv4 servers=3", "ndv4 nodes=3"};
  CHECK(find_fabric_label(known, "ndv4 nodes=3") == &known[2]);
  CHECK(find_fabric_label(known, "ndv4  servers=3") == &known[1]);
  CHECK(find_fabric_label(known, "ndv4") == nullptr);
  CHECK(fabric_label(before) == fabric_label(now));
  CHECK(spec_refusal("{name: ndv4, servers: 3, nodes: 3}") ==
        "e.yaml:1:26: fabric ndv4 has both 'servers' and 'nodes', which are two names of one key; "
        "expected 'nodes' alone");
  says(spec_refusal("{name: ndv4, servers: 0}"), "e.yaml:1:23", "nodes is '0'");
}

TEST_CASE("mistakes in specs have their place", "[topology_models][registry]") {
  CHECK(spec_refusal("frontir") == "e.yaml:1:1: unknown fabric 'frontir'; expected one of " +
                                       all_names() +
                                       " (did you mean 'frontier'?); or the path of a file, with "
                                       "a dot or a slash in it (./topo)");
  says(spec_refusal("{gpus: 3}"), "e.yaml:1:1", "'name'");
  says(spec_refusal("{name: dgx1, gpus: 3}"), "e.yaml:1:14",
       "expected one of name, bandwidth, latency");
  says(spec_refusal("{name: alps, nic_binding: singel_nic}"), "e.yaml:1:27", "'single_nic'");
  says(spec_refusal("{name: alps, routing: ugal}"), "e.yaml:1:23",
       "one of adaptive, minimal, valiant");
  says(spec_refusal("{name: alps, groups: 25}"), "e.yaml:1:22", "groups is '25'");
  says(spec_refusal("{name: alps, oversubscription: 2}"), "e.yaml:1:14",
       "unknown key of fabric alps 'oversubscription'");
  says(spec_refusal("{name: ring,\n gpu: 3}"), "e.yaml:2:2", "(did you mean 'gpus'?)");
  says(spec_refusal("{name: ring, gpus: 1}"), "e.yaml:1:20", "gpus is '1'");
  says(spec_refusal("{name: ring, bandwidth: 25}"), "e.yaml:1:25", "25 GB/s");
  says(spec_refusal("[ring]"), "e.yaml:1:1", "list");
  says(spec_refusal("{name: my.yaml, gpus: 3}"), "e.yaml:1:17", "expected one of name");
}

TEST_CASE("the options of specs are those of all fabrics", "[topology_models][registry]") {
  std::vector<std::string> names;
  for (const OptionSpec& option : fabric_spec_options()) names.push_back(option.name);
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"bandwidth", "cross_nic", "gpus", "gpus_per_node",
                                          "groups", "latency", "name", "nic_binding", "nodes",
                                          "nodes_per_leaf", "nvb", "nvls", "oversubscription",
                                          "rails", "routing", "shape", "sharp", "without"});
}

}  // namespace cclgym
