// Tests of noise profiles: the shipped profile, the reader, and the documentation page.
#include "sim/noise/noise_profile.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/noise/noise_testing.hpp"
#include "sim/noise/noise_warning.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/doc_page.hpp"
#include "support/places.hpp"
#include "support/sanitized.hpp"
#include "support/thorough.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

const std::string kProfile = source_path("sim/noise/profiles/cloud-ib.yaml");
const std::string kPage = source_path("docs/noise.md");

NoiseProfile parse(const std::string& text) {
  return read_noise_profile(parse_yaml(text, "p.yaml"));
}

std::string message_of(const std::string& text) {
  try {
    (void)parse(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

// Checks that every scalar except name and description has a source.
void check_sources(const YamlValue& value, const std::string& path, int& values) {
  if (value.is_sequence()) {
    for (const YamlValue& item : value.items()) check_sources(item, path + "[]", values);
    return;
  }
  INFO(path);
  REQUIRE(value.is_mapping());
  if (value.find("value") != nullptr) {
    REQUIRE(value.find("source") != nullptr);
    CHECK(value.find("source")->as_text().size() > 10);
    ++values;
    return;
  }
  for (const YamlEntry& entry : value.entries()) {
    check_sources(entry.value, path + "." + entry.key, values);
  }
}

double quantile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const double place = p * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (place - static_cast<double>(low));
}

}  // namespace

TEST_CASE("cloud-ib is shipped, and every value of it has a source", "[sim][noise-profile]") {
  CHECK(noise_profile_names() == std::vector<std::string>{"none", "cloud-ib"});
  const NoiseProfile profile = noise_profile_for("cloud-ib");
  CHECK(profile.name == "cloud-ib");
  CHECK(profile.random());
  CHECK_FALSE(profile.none());
  CHECK(profile.canonical_text() == noise_profile_for(kProfile).canonical_text());
  CHECK(mean_capacity(profile.load[kNetwork]) == Approx(0.58 + 0.24 * 0.8 + 0.18 * 0.49));

  const YamlValue document = load_yaml_file(kProfile);
  int values = 0;
  for (const YamlEntry& entry : document.entries()) {
    if (entry.key == "name" || entry.key == "description") continue;
    check_sources(entry.value, entry.key, values);
  }
  CHECK(values >= 12);

  CHECK(noise_profile_for("none").none());
  CHECK(noise_profile_for("none").canonical_text() == NoiseProfile().canonical_text());
  CHECK_THROWS_AS(noise_profile_for("cloud-eth"), UserError);
}

namespace {

struct Spread {
  std::uint64_t bytes;
  double quantiles;  // (p95 - p5) / median
  double variation;  // standard deviation / mean
};

std::vector<Spread> spreads_of(const std::string& algorithm) {
  const std::uint64_t seeds = kSanitized ? 30 : 60;
  FabricSpec spec;
  spec.name = "ndv4";
  spec.servers = 4;
  Simulator simulator(make_fabric(spec), shipped_cost_model("a100"), "flow");
  simulator.set_noise(noise_profile_for("cloud-ib"));
  std::vector<Spread> spreads;
  for (std::uint64_t bytes = 32 << 10; bytes <= 1 << 30; bytes *= 2) {
    std::vector<double> times;
    double mean = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      times.push_back(
          simulator.simulate(call_of(CollectiveKind::AllToAll, bytes), config_of(algorithm), seed)
              .time_s);
      mean += times.back() / static_cast<double>(seeds);
    }
    double squares = 0;
    for (const double time_s : times) squares += std::pow(time_s - mean, 2);
    spreads.push_back({bytes,
                       (quantile(times, 0.95) - quantile(times, 0.05)) / quantile(times, 0.5),
                       std::sqrt(squares / static_cast<double>(seeds)) / mean});
  }
  return spreads;
}

}  // namespace

TEST_CASE("AllToAll under cloud-ib varies most between 2 MB and 64 MB, and less on either side",
          "[sim][noise-profile][thorough]") {
  // GC3 section 7.3 and MSCCLang section 7.3 report large fluctuations between 2 MB and 64 MB.
  for (const auto& [algorithm, most_at_ends] : {std::pair{"two-step", 0.5}, {"naive", 0.9}}) {
    if (algorithm == std::string("naive") && !thorough()) continue;
    const std::vector<Spread> spreads = spreads_of(algorithm);
    for (const auto member : {&Spread::quantiles, &Spread::variation}) {
      const Spread peak = *std::max_element(
          spreads.begin(), spreads.end(),
          [member](const Spread& a, const Spread& b) { return a.*member < b.*member; });
      CAPTURE(algorithm, peak.bytes, peak.*member, spreads.front().*member, spreads.back().*member);
      CHECK(peak.bytes >= 2'000'000);
      CHECK(peak.bytes <= 64'000'000);
      CHECK(spreads.back().*member < 0.5 * peak.*member);
      for (const Spread& spread : spreads) {
        CAPTURE(spread.bytes, spread.*member);
        if (spread.bytes <= 512 << 10) CHECK(spread.*member < 0.9 * peak.*member);
        if (spread.bytes >= 256 << 20) CHECK(spread.*member < 0.6 * peak.*member);
      }
      CHECK(spreads.front().*member < most_at_ends * peak.*member);
    }
  }
}

TEST_CASE("a custom profile", "[sim][noise-profile]") {
  const NoiseProfile profile = parse(R"(
name: mine
load:
  nvlink: {correlation_time: 5us, scope: link, states: [{capacity: 1, share: 0.9}, {capacity: 0.5, share: 0.1}]}
jitter:
  pcie: {median: 100ns, sigma: {value: 0.5, source: a guess}}
degraded_links:
  network: {probability: 0.01, capacity: 0.5}
slow_gpus: {ranks: [2, 4..5], rate: 0.9}
background: {jobs: 2, bytes: 4MiB, pause: 3ms}
start_skew: 2us
)");
  const LinkLoad& load = profile.load[static_cast<std::size_t>(LinkKind::NvLink)];
  CHECK(load.scope == LoadScope::Link);
  CHECK(load.correlation_s == 5e-6);
  REQUIRE(load.states.size() == 2);
  CHECK(load.states[1].capacity == 0.5);
  CHECK(load.states[1].share == 0.1);
  CHECK(profile.jitter[static_cast<std::size_t>(LinkKind::Pcie)].median_s == 100e-9);
  CHECK(profile.jitter[static_cast<std::size_t>(LinkKind::Pcie)].sigma == 0.5);
  CHECK(profile.degraded[kNetwork].probability == 0.01);
  CHECK(profile.slow_gpus.ranks == std::vector<int>{2, 4, 5});
  CHECK(profile.slow_gpus.rate == 0.9);
  CHECK(profile.background.jobs == 2);
  CHECK(profile.background.servers == 2);
  CHECK(profile.background.bytes == 4 << 20);
  CHECK(profile.background.pause_s == 3e-3);
  CHECK(profile.start_skew_s == 2e-6);
  // Every value is part of the text that is hashed.
  CHECK(profile.canonical_text() != NoiseProfile().canonical_text());
  NoiseProfile other = profile;
  other.background.pause_s = 4e-3;
  CHECK(other.canonical_text() != profile.canonical_text());
}

TEST_CASE("slow GPUs that the fabric does not have are refused at their place in the profile",
          "[sim][noise-profile]") {
  const auto f = make_fabric({.name = "ndv4"});
  const auto refusal = [&](const std::string& ranks) {
    const NoiseProfile profile =
        parse("name: mine\nslow_gpus: {rate: 0.5, ranks: " + ranks + "}\n");
    Simulator simulator(f, shipped_cost_model("a100"), "flow");
    try {
      simulator.set_noise(profile);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal("[0, 7]").empty());
  CHECK(refusal("99") ==
        "p.yaml:2:31: noise profile 'mine': slow_gpus.ranks has 99; expected ranks of fabric "
        "'ndv4', 0 to 7");
  CHECK(refusal("[1, 8]").find("slow_gpus.ranks has 8; ") != std::string::npos);
}

TEST_CASE("a slow NIC has a fraction of its links to the network, and no other link has",
          "[sim][noise]") {
  const auto fabric = make_fabric({.name = "frontier", .servers = 2});
  const auto capacities = [&](const std::string& yaml) {
    Simulator simulator(fabric, cost_model_for("auto", *fabric), "flow");
    simulator.set_noise(read_noise_profile(parse_yaml(yaml, "p.yaml")));
    const LoweredProgram lowered = simulator.lowered(
        {.collective = CollectiveKind::AllGather, .bytes = 1 << 20}, {.algorithm = "ring"});
    const auto all = lowered.graph->link_capacities_Bps();
    return std::vector<double>(all.begin(), all.end());
  };
  const std::vector<double> before = capacities("name: mine");
  const std::vector<double> after =
      capacities("name: mine\nslow_nics: {nics: [1, 3], nodes: 1, capacity: 0.25}\n");
  int slow = 0;
  for (std::size_t id = 0; id < fabric->links().size(); ++id) {
    const Link& link = fabric->links()[id];
    const auto named = [&](NodeId node) {
      const std::string& name = fabric->nodes()[static_cast<std::size_t>(node)].name;
      return name.ends_with("nic1") || name.ends_with("nic3");
    };
    const auto on_node = [&](NodeId node) {
      return fabric->nodes()[static_cast<std::size_t>(node)].server == 1 && named(node);
    };
    const bool changed =
        link.kind == LinkKind::Network && (on_node(link.source) || on_node(link.target));
    slow += changed ? 1 : 0;
    CHECK(after[id] == (changed ? 0.25 : 1) * before[id]);
  }
  CHECK(slow == 4);  // two NICs, both directions
  const auto refusal = [&](const std::string& slow_nics, const FabricSpec& spec) {
    try {
      require_ranks(read_noise_profile(parse_yaml("name: mine\nslow_nics: " + slow_nics, "p.yaml")),
                    *make_fabric(spec));
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal("{nics: 4, capacity: 0.5}", {.name = "frontier"}) ==
        "p.yaml:2:12: noise profile 'mine': slow_nics.nics has 4; expected NICs of a node of "
        "fabric 'frontier', 0 to 3");
  CHECK(refusal("{nics: 0, nodes: 2, capacity: 0.5}", {.name = "frontier", .servers = 2})
            .find("slow_nics.nodes has 2; expected nodes of fabric 'frontier', 0 to 1") !=
        std::string::npos);
  CHECK(refusal("{nics: 0, capacity: 0.5}", {.name = "dgx1"}).find("whose nodes have no NICs") !=
        std::string::npos);
}

TEST_CASE("noise without effect on a fabric is reported", "[sim][noise-profile]") {
  const auto warning = [](const std::string& profile, const FabricSpec& spec) {
    return noise_warning(parse("name: mine\n" + profile), *make_fabric(spec));
  };
  const FabricSpec one{.name = "ndv4"};
  const FabricSpec two{.name = "ndv4", .servers = 2};
  const std::string network = "degraded_links: {network: {probability: 0.1, capacity: 0.5}}\n";
  const std::string nvlink = "degraded_links: {nvlink: {probability: 0.1, capacity: 0.5}}\n";
  const std::string jobs = "background: {jobs: 1, bytes: 1MiB}\n";
  CHECK(
      warning(network, {.name = "dgx1"}) ==
      "noise profile 'mine' changes nothing on fabric 'dgx1', which has no links of kind network");
  CHECK(warning(jobs, one) ==
        "noise profile 'mine' changes nothing on fabric 'ndv4', which has only one node, where "
        "no other job fits");
  CHECK(warning(network + jobs, {.name = "dgx1"}).find("kind network, and only one node") !=
        std::string::npos);
  CHECK(warning(jobs, two).empty());
  CHECK(warning(network, two).empty());
  CHECK(warning(nvlink, {.name = "dgx1"}).empty());
  CHECK(warning(network + "start_skew: 1us\n", {.name = "dgx1"}).empty());
  CHECK(warning(network + "slow_gpus: {rate: 0.5, ranks: 0}\n", {.name = "dgx1"}).empty());
  CHECK(noise_warning({}, *make_fabric({.name = "dgx1"})).empty());
}

TEST_CASE("unrealistic times in profiles are refused", "[sim][noise-profile]") {
  CHECK(message_of("name: x\nstart_skew: 11s\n") ==
        "p.yaml:2:13: start_skew is '11s'; expected <= 10 s");
  CHECK(message_of("name: x\nbackground: {jobs: 1, bytes: 1MiB, pause: 100000s}\n") ==
        "p.yaml:2:43: pause is '100000s'; expected <= 86400 s");
}

TEST_CASE("bad profiles are refused with the location of the error", "[sim][noise-profile]") {
  CHECK(message_of("name: x\nlaod: {}\n") ==
        "p.yaml:2:1: unknown key of noise profile 'laod'; expected one of name, description, load, "
        "jitter, degraded_links, slow_gpus, slow_nics, background, start_skew (did you mean "
        "'load'?)");
  CHECK(message_of("description: x\n").find("name") != std::string::npos);
  const auto states = [](const std::string& text) {
    return message_of("name: x\nload:\n  network:\n    correlation_time: 1ms\n    states: " + text);
  };
  CHECK(states("[{capacity: 1, share: 0.5}, {capacity: 0.5, share: 0.4}]") ==
        "p.yaml:5:13: the shares of the states sum to 0.9; expected 1");
  CHECK(states("[{capacity: 0, share: 1}]").find("p.yaml:5:25: capacity") == 0);
  CHECK(states("[{capacity: 1}]").find("share") != std::string::npos);
  CHECK(message_of("name: x\nload:\n  network: {correlation_time: 0ms, states: [{capacity: 1, "
                   "share: 1}]}\n")
            .find("correlation_time must be > 0 s") != std::string::npos);
  CHECK(message_of("name: x\nload:\n  ether: {}\n").find("p.yaml:3:3: ") == 0);
  CHECK(message_of("name: x\njitter:\n  network: {median: 3}\n").find("p.yaml:3:21: ") == 0);
  CHECK(message_of("name: x\nslow_gpus: {rate: 1.5}\n").find("p.yaml:2:19: ") == 0);
  CHECK(message_of("name: x\nbackground: {jobs: 1}\n").find("bytes") != std::string::npos);
  CHECK(message_of("name: none\nstart_skew: 1us\n").find("p.yaml:1:7: ") == 0);
}

TEST_CASE("the profile in docs/noise.md is valid", "[sim][noise-profile]") {
  const std::string page = read_file(kPage);
  const std::size_t begin = page.find("name: my-noise");
  REQUIRE(begin != std::string::npos);
  const NoiseProfile profile = parse(page.substr(begin, page.find("```", begin) - begin));
  CHECK(profile.any_load());
  CHECK(profile.any_jitter());
  CHECK(profile.background.any());
  CHECK(profile.slow_gpus.any());
  CHECK(profile.degraded[kNetwork].any());
  CHECK(profile.start_skew_s == 2e-6);
}

TEST_CASE("docs/noise.md has the tables of the option records", "[sim][noise-profile]") {
  DocPage page("noise.md");
  page.put("noise", noise_options());
  page.put("load", noise_load_options());
  page.put("state", noise_state_options());
  page.put("jitter", noise_jitter_options());
  page.put("degraded", noise_degraded_options());
  page.put("slow_gpus", noise_slow_gpu_options());
  page.put("slow_nics", noise_slow_nic_options());
  page.put("background", noise_background_options());
  page.check();
}
