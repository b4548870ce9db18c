#include "topology_models/registry.hpp"

#include <algorithm>
#include <filesystem>

#include "fabrics.hpp"

namespace cclgym {

namespace {

FabricSpec read(const std::string& text) { return read_fabric_spec(parse_yaml(text, "e.yaml")); }

std::string refusal(const std::string& text) {
  return complaint([&] { (void)read(text); });
}

std::string build_refusal(const FabricSpec& spec) {
  return complaint([&] { (void)make_fabric(spec); });
}

}  // namespace

TEST_CASE("every shipped fabric can be built with its defaults, as its options state them") {
  std::vector<std::string> names;
  for (const FabricInfo& info : fabric_infos()) {
    names.push_back(info.name);
    CHECK_FALSE(info.description.empty());
    FabricSpec spec;
    spec.name = info.name;
    const FabricPtr fabric = make_fabric(spec);
    CHECK(fabric->name() == info.name);
    FabricSpec explicit_spec = spec;
    for (const OptionSpec& option : info.options) {
      if (option.name == "servers") explicit_spec.servers = 1;
      if (option.name == "gpus") explicit_spec.gpus = fabric->ranks();
      if (option.name == "bandwidth") {
        explicit_spec.bandwidth_Bps = read_rate_Bps(option.default_text, option);
      }
      if (option.name == "latency") {
        explicit_spec.latency_s = read_time_s(option.default_text, option);
      }
    }
    // That the latency was stated is a difference of its own.
    std::string text = make_fabric(explicit_spec)->canonical_text();
    const std::string mark = " stated";
    for (std::size_t at = 0; (at = text.find(mark)) != std::string::npos;) {
      text.erase(at, mark.size());
    }
    CHECK(text == fabric->canonical_text());
  }
  CHECK(names == std::vector<std::string>{"dgx1", "dgx2", "ndv4", "ring", "fully_connected"});
}

TEST_CASE("fabrics that cannot be built") {
  CHECK(build_refusal({.name = "fullyconnected"}) ==
        "unknown fabric 'fullyconnected'; expected one of dgx1, dgx2, ndv4, ring, fully_connected "
        "(did "
        "you mean 'fully_connected'?); or the path of a fabric file (*.yaml)");
  CHECK(build_refusal({.name = "dgx1", .servers = 2}) ==
        "fabric 'dgx1' comes as 1 server only; found servers = 2");
  CHECK(build_refusal({.name = "dgx1", .gpus = 4}) ==
        "fabric 'dgx1' has no option 'gpus'; it has bandwidth, latency");
  CHECK(build_refusal({.name = "ndv4", .servers = 0}).rfind("servers is '0'; expected", 0) == 0);
  CHECK(build_refusal({.name = "ring", .gpus = 1}).rfind("gpus is '1'; expected", 0) == 0);
  CHECK(build_refusal({.name = "ring", .bandwidth_Bps = 0}) ==
        "bandwidth is '0 B/s'; expected > 0 B/s");
  CHECK(build_refusal({.name = "x.yaml", .gpus = 4}) ==
        "fabric 'x.yaml' has no option 'gpus'; it has none");
  CHECK(fabric_of("dgx1", 1)->servers() == 1);
}

TEST_CASE("labels tell specs apart") {
  CHECK(fabric_label({.name = "dgx1"}) == "dgx1");
  CHECK(fabric_label({.name = "ndv4", .servers = 2, .bandwidth_Bps = 23.7e9, .latency_s = 5e-7}) ==
        "ndv4 servers=2 bandwidth=23.7 GB/s latency=0.5 us");
  CHECK(fabric_label({.name = "ring", .gpus = 16}) == "ring gpus=16");
}

TEST_CASE("specs from YAML") {
  CHECK(read("dgx1").name == "dgx1");
  const FabricSpec spec = read("{name: ring, gpus: 16, bandwidth: 50 GB/s, latency: 2us}");
  CHECK(spec.name == "ring");
  CHECK(spec.gpus == 16);
  CHECK(spec.bandwidth_Bps == 50e9);
  CHECK(spec.latency_s == 2e-6);
  CHECK_FALSE(spec.servers);
  CHECK(read("{name: ndv4, servers: 3}").servers == 3);
  // A file's path counts from the folder of the file that names it.
  const YamlValue value =
      parse_yaml("fabrics/two-islands.yaml", CCLGYM_SOURCE_DIR "/experiments/quickstart.yaml");
  CHECK(make_fabric(read_fabric_spec(value))->name() == "two-islands");
  CHECK(read("/abs/f.yaml").name == "/abs/f.yaml");
}

TEST_CASE("mistakes in specs have their place") {
  CHECK(refusal("ndv5") ==
        "e.yaml:1:1: unknown fabric 'ndv5'; expected one of dgx1, dgx2, ndv4, ring, "
        "fully_connected (did you mean 'ndv4'?); or the path of a fabric file (*.yaml)");
  says(refusal("{gpus: 3}"), "e.yaml:1:1", "'name'");
  says(refusal("{name: dgx1, gpus: 3}"), "e.yaml:1:14", "expected one of name, bandwidth, latency");
  says(refusal("{name: ring,\n gpu: 3}"), "e.yaml:2:2", "(did you mean 'gpus'?)");
  says(refusal("{name: ring, gpus: 1}"), "e.yaml:1:20", "gpus is '1'");
  says(refusal("{name: ring, bandwidth: 25}"), "e.yaml:1:25", "25 GB/s");
  says(refusal("[ring]"), "e.yaml:1:1", "list");
  says(refusal("{name: my.yaml, gpus: 3}"), "e.yaml:1:17", "expected one of name");
}

TEST_CASE("the options of specs are those of all fabrics") {
  std::vector<std::string> names;
  for (const OptionSpec& option : fabric_spec_options()) names.push_back(option.name);
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"bandwidth", "gpus", "latency", "name", "servers"});
}

}  // namespace cclgym
