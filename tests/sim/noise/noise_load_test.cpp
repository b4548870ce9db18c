#include "sim/noise/noise_load.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "sim/noise/noise_testing.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

NoiseProfile network_load(LoadScope scope) {
  NoiseProfile profile;
  profile.name = "test";
  profile.load[kNetwork] = {
      .scope = scope, .correlation_s = 1e-3, .states = {{1, 0.5}, {0.6, 0.3}, {0.2, 0.2}}};
  return profile;
}

// Capacity changes up to a date.
std::vector<CapacityChange> changes_of(CapacityProcess& process, double end_s) {
  std::vector<CapacityChange> changes;
  process.restart();
  while (const auto change = process.next()) {
    if (change->time_s > end_s) break;
    changes.push_back(*change);
  }
  return changes;
}

bool same(const CapacityChange& a, const CapacityChange& b) {
  return a.time_s == b.time_s && a.link == b.link && a.capacity_Bps == b.capacity_Bps;
}

bool same(const std::vector<CapacityChange>& a, const std::vector<CapacityChange>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(),
                    [](const CapacityChange& x, const CapacityChange& y) { return same(x, y); });
}

std::vector<double> ones(const Fabric& fabric) {
  return std::vector<double>(fabric.links().size(), 1.0);
}

std::vector<bool> all(const Fabric& fabric) {
  return std::vector<bool>(fabric.links().size(), true);
}

}  // namespace

TEST_CASE("the load has the stated shares, dwell times and memory", "[sim][noise-load]") {
  const auto fabric = ndv4(2);
  const NoiseProfile profile = network_load(LoadScope::Link);
  const LinkLoad& load = profile.load[kNetwork];
  const double tau_s = load.correlation_s;
  CHECK(mean_capacity(load) == Approx(0.5 + 0.3 * 0.6 + 0.2 * 0.2));
  LoadProcess process(*fabric, profile, ones(*fabric), all(*fabric), {11, 0});

  // Follow every link for a long time and record the time in each state, visits, and averages over
  // windows.
  constexpr double kEnd_s = 20;
  constexpr double kWindow_s = 2e-3;
  struct Track {
    double capacity = 1;
    double since_s = 0;
    std::vector<double> windows;
  };
  std::map<std::int32_t, Track> tracks;
  std::map<double, double> time_s;
  std::map<double, int> visits;
  const auto advance = [&](Track& track, double now_s) {
    time_s[track.capacity] += now_s - track.since_s;
    for (double from_s = track.since_s; from_s < now_s;) {
      const auto window = static_cast<std::size_t>(from_s / kWindow_s + 1e-12);
      const double to_s = std::min(now_s, static_cast<double>(window + 1) * kWindow_s);
      if (to_s <= from_s) break;
      if (track.windows.size() <= window) track.windows.resize(window + 1, 0.0);
      track.windows[window] += track.capacity * (to_s - from_s) / kWindow_s;
      from_s = to_s;
    }
    track.since_s = now_s;
  };
  std::int32_t links = 0;
  for (const Link& link : fabric->links()) links += link.kind == LinkKind::Network ? 1 : 0;
  for (std::size_t id = 0; id < fabric->links().size(); ++id) {
    if (fabric->links()[id].kind == LinkKind::Network) tracks[static_cast<std::int32_t>(id)] = {};
  }
  for (const CapacityChange& change : changes_of(process, kEnd_s)) {
    REQUIRE(tracks.count(change.link) == 1);
    Track& track = tracks[change.link];
    if (change.time_s > 0) {
      REQUIRE(change.capacity_Bps != track.capacity);
      ++visits[track.capacity];
    }
    advance(track, change.time_s);
    track.capacity = change.capacity_Bps;
  }
  double sum = 0;
  double squares = 0;
  int windows = 0;
  for (auto& [link, track] : tracks) {
    advance(track, kEnd_s);
    track.windows.resize(static_cast<std::size_t>(kEnd_s / kWindow_s));
    for (const double value : track.windows) {
      sum += value;
      squares += value * value;
      ++windows;
    }
  }
  for (const LinkLoad::State& state : load.states) {
    CAPTURE(state.capacity);
    CHECK(time_s[state.capacity] == Approx(state.share * kEnd_s * links).epsilon(0.02));
    CHECK(time_s[state.capacity] / visits[state.capacity] ==
          Approx(tau_s / (1 - state.share)).epsilon(0.02));
  }
  // Variance of an average over a window, if the capacity has the autocorrelation exp(-t / tau).
  double variance = 0;
  for (const LinkLoad::State& state : load.states) {
    variance += state.share * std::pow(state.capacity - mean_capacity(load), 2);
  }
  const double ratio = tau_s / kWindow_s;
  const double expected = variance * 2 * ratio * (1 - ratio * (1 - std::exp(-1 / ratio)));
  const double mean = sum / windows;
  CHECK(mean == Approx(mean_capacity(load)).epsilon(0.01));
  CHECK(squares / windows - mean * mean == Approx(expected).epsilon(0.03));
}

TEST_CASE("load starts in its steady state", "[sim][noise-load]") {
  const auto fabric = ndv4(2);
  int free = 0;
  int total = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    LoadProcess process(*fabric, network_load(LoadScope::Link), ones(*fabric), all(*fabric),
                        {seed, 0});
    int loaded = 0;
    for (const CapacityChange& change : changes_of(process, 0)) {
      CHECK(change.time_s == 0);
      ++loaded;
    }
    const int links = 2 * 2 * 8;
    free += links - loaded;
    total += links;
  }
  CHECK(static_cast<double>(free) / total == Approx(0.5).epsilon(0.04));
}

TEST_CASE("load is the same after a restart, and for any set of used links", "[sim][noise-load]") {
  const auto fabric = ndv4(2);
  const NoiseProfile profile = network_load(LoadScope::Link);
  LoadProcess process(*fabric, profile, ones(*fabric), all(*fabric), {3, 1});
  const std::vector<CapacityChange> first = changes_of(process, 0.05);
  CHECK(first.size() > 500);
  CHECK(same(changes_of(process, 0.05), first));
  LoadProcess again(*fabric, profile, ones(*fabric), all(*fabric), {3, 1});
  CHECK(same(changes_of(again, 0.05), first));
  LoadProcess other(*fabric, profile, ones(*fabric), all(*fabric), {3, 2});
  CHECK_FALSE(same(changes_of(other, 0.05), first));

  const std::int32_t link = first[5].link;
  std::vector<bool> used(fabric->links().size(), false);
  used[static_cast<std::size_t>(link)] = true;
  LoadProcess alone(*fabric, profile, ones(*fabric), used, {3, 1});
  std::vector<CapacityChange> mine;
  std::copy_if(first.begin(), first.end(), std::back_inserter(mine),
               [link](const CapacityChange& change) { return change.link == link; });
  CHECK(same(changes_of(alone, 0.05), mine));
}

TEST_CASE("with scope server, all network links of a node change at once", "[sim][noise-load]") {
  const auto fabric = ndv4(3);
  LoadProcess process(*fabric, network_load(LoadScope::Server), ones(*fabric), all(*fabric),
                      {5, 0});
  std::map<double, std::vector<std::int32_t>> by_date;
  for (const CapacityChange& change : changes_of(process, 0.1)) {
    if (change.time_s > 0) by_date[change.time_s].push_back(change.link);
  }
  CHECK(by_date.size() > 50);
  for (const auto& [date, links] : by_date) {
    REQUIRE(links.size() == 16);  // 8 NICs, two directions
    for (const std::int32_t id : links) {
      const Link& link = fabric->links()[static_cast<std::size_t>(id)];
      const auto server = [&](NodeId node) {
        return fabric->nodes()[static_cast<std::size_t>(node)].server;
      };
      const Link& first = fabric->links()[static_cast<std::size_t>(links.front())];
      CHECK(std::max(server(link.source), server(link.target)) ==
            std::max(server(first.source), server(first.target)));
    }
  }
}

TEST_CASE("load with one state is only a fixed share of the capacity", "[sim][noise-load]") {
  const auto fabric = ndv4(2);
  NoiseProfile profile = network_load(LoadScope::Server);
  profile.load[kNetwork].states = {{0.25, 1}};
  CHECK_FALSE(profile.random());
  LoadProcess process(*fabric, profile, ones(*fabric), all(*fabric), {5, 0});
  process.restart();
  int changes = 0;
  while (const auto change = process.next()) {
    CHECK(change->time_s == 0);
    CHECK(change->capacity_Bps == 0.25);
    ++changes;
  }
  CHECK(changes == 32);
}
