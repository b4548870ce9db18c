#include "sim/noise/noise_load.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

// Stream key of the object to which a chain belongs: a directed link, a node, or a pair of switches
// (both directions).
std::uint64_t thing_of(const Fabric& fabric, const LinkLoad& load, std::int32_t id) {
  constexpr std::uint64_t kServer = std::uint64_t{1} << 62U;
  constexpr std::uint64_t kPair = std::uint64_t{1} << 63U;
  if (load.scope == LoadScope::Link) return static_cast<std::uint64_t>(id);
  const Link& link = fabric.links()[static_cast<std::size_t>(id)];
  const auto server_of = [&](NodeId node) {
    return fabric.nodes()[static_cast<std::size_t>(node)].server;
  };
  const int server = std::max(server_of(link.source), server_of(link.target));
  if (server >= 0) return kServer | static_cast<std::uint64_t>(server);
  const auto [low, high] = std::minmax(link.source, link.target);
  return kPair | static_cast<std::uint64_t>(low) << 31U | static_cast<std::uint64_t>(high);
}

}  // namespace

LoadProcess::LoadProcess(const Fabric& fabric, const NoiseProfile& profile,
                         std::span<const double> capacities_Bps, const std::vector<bool>& used,
                         const NoiseSeed& seed)
    : profile_(profile),
      seed_(seed),
      capacities_Bps_(capacities_Bps.begin(), capacities_Bps.end()) {
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> known;
  for (std::size_t link = 0; link < fabric.links().size(); ++link) {
    const auto kind = static_cast<std::size_t>(fabric.links()[link].kind);
    if (!used[link] || !profile_.load[kind].any()) continue;
    const auto id = static_cast<std::int32_t>(link);
    const std::uint64_t thing = thing_of(fabric, profile_.load[kind], id);
    const auto [chain, fresh] = known.try_emplace({kind, thing}, chains_.size());
    if (fresh) chains_.push_back({.kind = kind, .thing = thing, .links = {}});
    chains_[chain->second].links.push_back(id);
  }
}

void LoadProcess::restart() {
  due_.clear();
  changes_ = {};
  draws_ = 0;
  for (std::size_t chain = 0; chain < chains_.size(); ++chain) begin(chain);
}

void LoadProcess::begin(std::size_t index) {
  Chain& chain = chains_[index];
  chain.random = call_stream(seed_, NoiseDraw::LinkLoad, chain.thing, chain.kind);
  const std::vector<LinkLoad::State>& states = load_of(chain).states;
  double left = chain.random.uniform();
  chain.state = 0;
  while (chain.state + 1 < states.size() && left >= states[chain.state].share) {
    left -= states[chain.state].share;
    ++chain.state;
  }
  if (states[chain.state].capacity != 1) announce(chain, 0);
  if (load_of(chain).varies()) schedule(index, 0);
}

void LoadProcess::schedule(std::size_t index, double now_s) {
  Chain& chain = chains_[index];
  const LinkLoad& load = load_of(chain);
  // A state that has all time but a rounding error of it lasts for ever.
  const double others = 1 - load.states[chain.state].share;
  if (others <= 0) return;
  const double mean_s = load.correlation_s / others;
  changes_.push({now_s + chain.random.exponential(mean_s), index});
}

// Moves to another state, drawn with the shares of the other states as weights.
void LoadProcess::leave(Chain& chain) {
  const std::vector<LinkLoad::State>& states = load_of(chain).states;
  double left = chain.random.uniform() * (1 - states[chain.state].share);
  std::size_t last = chain.state;
  for (std::size_t state = 0; state < states.size(); ++state) {
    if (state == chain.state) continue;
    last = state;
    if (left < states[state].share) break;
    left -= states[state].share;
  }
  chain.state = last;
}

void LoadProcess::announce(const Chain& chain, double now_s) {
  const double share = load_of(chain).states[chain.state].capacity;
  for (const std::int32_t link : chain.links) {
    due_.push_back({now_s, link, capacities_Bps_[static_cast<std::size_t>(link)] * share});
  }
}

std::optional<CapacityChange> LoadProcess::next() {
  while (due_.empty()) {
    if (changes_.empty()) return std::nullopt;
    const auto [now_s, index] = changes_.top();
    changes_.pop();
    if (++draws_ > kMostDraws) {
      throw SimulationStalled(fmt::format(
          "the simulation under noise '{}' was given up: its load changed {} times within {} s of "
          "the call; a correlation_time of {} s is too short for it",
          profile_.name, kMostDraws, format_double(now_s),
          format_double(load_of(chains_[index]).correlation_s)));
    }
    Chain& chain = chains_[index];
    const double before = load_of(chain).states[chain.state].capacity;
    leave(chain);
    if (load_of(chain).states[chain.state].capacity != before) announce(chain, now_s);
    schedule(index, now_s);
  }
  const CapacityChange change = due_.front();
  due_.pop_front();
  return change;
}

}  // namespace cclgym
