// Fabrics and small helpers that several tests of this layer use.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "support/catch.hpp"
#include "topology_models/fabric.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

using FabricPtr = std::shared_ptr<const Fabric>;

inline FabricPtr fabric_of(const std::string& name, int servers = 1, int gpus = 0) {
  FabricSpec spec;
  spec.name = name;
  spec.servers = servers;
  if (gpus > 0) spec.gpus = gpus;
  return make_fabric(spec);
}

inline const Node& node_at(const Fabric& fabric, NodeId id) {
  return fabric.nodes()[static_cast<std::size_t>(id)];
}

/// The message of the UserError that a call throws; fails the test if there is none.
template <class Call>
std::string complaint(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  FAIL("no UserError");
  return {};
}

/// True if the message starts with the place and contains the words. Used for messages from core.
inline bool says(const std::string& message, const std::string& place, const std::string& words) {
  INFO(message);
  const bool yes = message.rfind(place + ": ", 0) == 0 && message.find(words) != std::string::npos;
  CHECK(yes);
  return yes;
}

/// A connected random fabric: GPUs first, then switches, in random order of kinds. Links have 1..4
/// units of 5 GB/s, some of them in one direction only. A duplex ring through all vertices keeps
/// the fabric connected.
inline FabricPtr random_fabric(std::mt19937_64& random, int gpus, int switches) {
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(bound));
  };
  FabricBuilder builder("random");
  std::vector<NodeId> nodes;
  while (gpus + switches > 0) {
    const bool gpu = below(gpus + switches) < gpus;
    --(gpu ? gpus : switches);
    nodes.push_back(builder.add_node({.name = "node" + std::to_string(nodes.size()),
                                      .kind = gpu ? NodeKind::Gpu : NodeKind::Generic}));
  }
  const auto add = [&](NodeId from, NodeId to, bool duplex) {
    const Link link{.source = from,
                    .target = to,
                    .latency_s = 1e-6,
                    .unit_bandwidth_Bps = 5e9,
                    .multiplicity = 1 + below(4)};
    duplex ? builder.add_duplex_link(link) : builder.add_link(link);
  };
  const int count = static_cast<int>(nodes.size());
  for (int k = 0; k < count && count > 1; ++k) {
    add(nodes[static_cast<std::size_t>(k)], nodes[static_cast<std::size_t>((k + 1) % count)], true);
  }
  for (int k = below(2 * count + 1); k > 0; --k) {
    const int from = below(count);
    const int to = below(count);
    if (from != to) add(from, to, below(3) > 0);
  }
  return builder.build();
}

}  // namespace cclgym
