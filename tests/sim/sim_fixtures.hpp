// Fixtures for the simulation tests.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/engine/engine_testing.hpp"
#include "sim/noise/noise_profile.hpp"
#include "sim/simulator.hpp"
#include "support/shipped_algorithms.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {

inline std::shared_ptr<const Fabric> fabric(const std::string& name,
                                            std::optional<int> gpus = std::nullopt) {
  FabricSpec spec;
  spec.name = name;
  spec.gpus = gpus;
  return make_fabric(spec);
}

/// Time average of the remaining capacity of a load, as a share; 1 without states.
inline double mean_capacity(const LinkLoad& load) {
  double mean = load.states.empty() ? 1 : 0;
  for (const LinkLoad::State& state : load.states) mean += state.share * state.capacity;
  return mean;
}

inline Call call_of(CollectiveKind collective, std::uint64_t bytes) {
  Call call;
  call.collective = collective;
  call.bytes = bytes;
  return call;
}

inline Config config_of(const std::string& algorithm, int channels = 1,
                        Protocol protocol = Protocol::Simple) {
  Config config;
  config.algorithm = algorithm;
  config.channels = channels;
  config.protocol = protocol;
  return config;
}

/// A combination of collective and algorithm that fits a number of ranks, on any fabric.
struct Combination {
  CollectiveKind collective;
  std::string algorithm;
};
inline std::vector<Combination> combinations(int ranks) {
  std::vector<Combination> result;
  for (const AlgorithmEntry& algorithm : shipped_algorithms()) {
    if (check_ranks(algorithm.name, ranks) || algorithm.switches != SwitchUse::None) continue;
    for (const CollectiveKind collective : algorithm.collectives) {
      result.push_back({collective, algorithm.name});
    }
  }
  return result;
}

}  // namespace cclgym::test
