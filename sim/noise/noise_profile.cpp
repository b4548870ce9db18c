#include "sim/noise/noise_profile.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

#include "core/units.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view noise_cloud_ib;
}  // namespace embedded

namespace {

template <class Items, class Test>
bool any_of(const Items& items, Test test) {
  return std::any_of(items.begin(), items.end(), test);
}

}  // namespace

bool LinkLoad::varies() const {
  return any_of(states,
                [this](const State& state) { return state.capacity != states.front().capacity; });
}

bool NoiseProfile::any_jitter() const {
  return any_of(jitter, [](const MessageJitter& one) { return one.any(); });
}

bool NoiseProfile::any_load() const {
  return any_of(load, [](const LinkLoad& one) { return one.any(); });
}

bool NoiseProfile::none() const {
  return !any_load() && !any_jitter() && !background.any() && !slow_gpus.any() &&
         !slow_nics.any() && !start_skew_s &&
         !any_of(degraded, [](const DegradedLinks& one) { return one.any(); });
}

bool NoiseProfile::random() const {
  return any_of(load, [](const LinkLoad& one) { return one.varies(); }) || any_jitter() ||
         background.any() || start_skew_s.value_or(0) > 0;
}

std::string NoiseProfile::canonical_text() const {
  std::string text = "noise\n";
  const auto add = [&text](const std::string& key, double value) {
    text += fmt::format("{} {}\n", key, format_double(value));
  };
  for (std::size_t kind = 0; kind < load.size(); ++kind) {
    if (load[kind].any()) {
      add(fmt::format("load_scope{}", kind), static_cast<double>(load[kind].scope));
      add(fmt::format("load_correlation{}", kind), load[kind].correlation_s);
      for (const LinkLoad::State& state : load[kind].states) {
        add(fmt::format("load_capacity{}", kind), state.capacity);
        add(fmt::format("load_share{}", kind), state.share);
      }
    }
    if (jitter[kind].any()) {
      add(fmt::format("jitter_median{}", kind), jitter[kind].median_s);
      add(fmt::format("jitter_sigma{}", kind), jitter[kind].sigma);
      add(fmt::format("jitter_tail_probability{}", kind), jitter[kind].tail_probability);
      add(fmt::format("jitter_tail_least{}", kind), jitter[kind].tail_least_s);
      add(fmt::format("jitter_tail_shape{}", kind), jitter[kind].tail_shape);
    }
    if (degraded[kind].any()) {
      add(fmt::format("degraded_probability{}", kind), degraded[kind].probability);
      add(fmt::format("degraded_capacity{}", kind), degraded[kind].capacity);
    }
  }
  if (slow_gpus.any()) {
    add("slow_gpus_probability", slow_gpus.probability);
    add("slow_gpus_rate", slow_gpus.rate);
    if (slow_gpus.all < 1) add("slow_gpus_all", slow_gpus.all);
    for (const int rank : slow_gpus.ranks) add("slow_gpus_rank", rank);
  }
  if (slow_nics.any()) {
    add("slow_nics_capacity", slow_nics.capacity);
    for (const int nic : slow_nics.nics) add("slow_nics_nic", nic);
    for (const int node : slow_nics.nodes) add("slow_nics_node", node);
  }
  if (background.any()) {
    add("background_jobs", background.jobs);
    add("background_servers", background.servers);
    add("background_bytes", static_cast<double>(background.bytes));
    add("background_pause", background.pause_s);
  }
  if (start_skew_s) add("start_skew", *start_skew_s);
  return text;
}

void require_ranks(const NoiseProfile& profile, const Fabric& fabric) {
  for (const int rank : profile.slow_gpus.ranks) {
    if (rank < fabric.ranks()) continue;
    throw UserError(
        profile.slow_gpus.where,
        fmt::format("noise profile {}: slow_gpus.ranks has {}; expected ranks of fabric "
                    "'{}', 0 to {}",
                    quoted(profile.name), rank, fabric.name(), fabric.ranks() - 1));
  }
  const SlowNics& slow = profile.slow_nics;
  if (!slow.any()) return;
  std::vector<int> nics(static_cast<std::size_t>(fabric.servers()), 0);
  for (const Node& node : fabric.nodes()) {
    if (node.kind == NodeKind::Nic) ++nics[static_cast<std::size_t>(node.server)];
  }
  for (const int node : slow.nodes) {
    if (node < fabric.servers()) continue;
    throw UserError(slow.where,
                    fmt::format("noise profile {}: slow_nics.nodes has {}; expected nodes of "
                                "fabric '{}', 0 to {}",
                                quoted(profile.name), node, fabric.name(), fabric.servers() - 1));
  }
  const int least = *std::min_element(nics.begin(), nics.end());
  for (const int nic : slow.nics) {
    if (nic < least) continue;
    throw UserError(slow.where,
                    least == 0 ? fmt::format("noise profile {}: slow_nics on fabric '{}', whose "
                                             "nodes have no NICs",
                                             quoted(profile.name), fabric.name())
                               : fmt::format("noise profile {}: slow_nics.nics has {}; expected "
                                             "NICs of a node of fabric '{}', 0 to {}",
                                             quoted(profile.name), nic, fabric.name(), least - 1));
  }
}

const std::vector<std::string>& noise_profile_names() {
  static const std::vector<std::string> names{"none", "cloud-ib"};
  return names;
}

NoiseProfile noise_profile_for(std::string_view name, const SourceLocation& where) {
  if (name.ends_with(".yaml") || name.ends_with(".yml")) {
    return read_noise_profile(load_yaml_file(std::string(name)));
  }
  if (name == "none") return {};
  if (name == "cloud-ib") {
    return read_noise_profile(parse_yaml(embedded::noise_cloud_ib, "cloud-ib.yaml (built in)"));
  }
  throw UserError(where, unknown_name_message("noise profile", name, noise_profile_names()));
}

}  // namespace cclgym
