#include "topology_models/servers/slingshot_cluster.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <fmt/format.h>
#include <vector>

#include "topology_models/fabric_option_error.hpp"

namespace cclgym {

namespace {

constexpr double kSlingshot_Bps = 25e9;  // a Rosetta port: 200 Gb/s per direction
// De Sensi et al., "An In-Depth Analysis of the Slingshot Interconnect" (SC20): 350 ns through a
// Rosetta switch. kNetworkLatency_s includes the first switch; cables are not counted.
constexpr double kSlingshotSwitchLatency_s = 0.35e-6;

Link trunk(NodeId source, NodeId target, int units) {
  return {.source = source,
          .target = target,
          .kind = LinkKind::Network,
          .latency_s = kSlingshotSwitchLatency_s,
          .unit_bandwidth_Bps = kSlingshot_Bps,
          .multiplicity = units,
          .latency_stated = true};
}

Dragonfly add_dragonfly(FabricBuilder& builder, const SlingshotDesign& network, int groups) {
  DragonflyShape shape{
      .groups = groups, .switches = network.switches, .links_a_pair = network.links_a_pair};
  for (int group = 0; group < groups; ++group) {
    const std::string prefix = groups > 1 ? fmt::format("group{}/", group) : "";
    for (int s = 0; s < network.switches; ++s) {
      const NodeId id = builder.add_node({.name = prefix + fmt::format("switch{}", s),
                                          .kind = NodeKind::NetworkSwitch,
                                          .server = -1});
      if (group == 0 && s == 0) shape.first_switch = id;
    }
  }
  // Adds links in the order in which Dragonfly numbers them, and notes the ids of the first links.
  const Dragonfly unplaced(shape);
  bool first = true;
  for (int group = 0; group < groups; ++group) {
    for (int a = 0; a < network.switches; ++a) {
      for (int b = 0; b < network.switches; ++b) {
        if (a == b) continue;
        const LinkId id = builder.add_link(
            trunk(unplaced.switch_at(group, a), unplaced.switch_at(group, b), network.local_links));
        if (first) shape.first_local = id;
        first = false;
      }
    }
  }
  first = true;
  for (int group = 0; group < groups; ++group) {
    for (int other = 0; other < groups; ++other) {
      for (int k = 0; k < network.links_a_pair && other != group; ++k) {
        const LinkId id = builder.add_link(
            trunk(unplaced.switch_at(group, unplaced.gateway(group, other, k)),
                  unplaced.switch_at(other, unplaced.gateway(other, group, k)), 1));
        if (first) shape.first_global = id;
        first = false;
      }
    }
  }
  builder.set_dragonfly(shape);
  return Dragonfly(shape);
}

}  // namespace

std::shared_ptr<const Fabric> build_slingshot_cluster(const std::string& name,
                                                      const ServerDesign& design,
                                                      const SlingshotDesign& network,
                                                      const FabricParameters& parameters) {
  assert(network.switches % design.nics == 0);
  const int servers = parameters.servers;
  const int least = (servers + network.servers_a_group - 1) / network.servers_a_group;
  if (parameters.groups > 0 && parameters.groups < least) {
    throw FabricOptionError(
        "groups",
        fmt::format("groups is {}; expected at least {} on fabric '{}', whose groups hold {} nodes "
                    "each, for nodes = {}",
                    parameters.groups, least, name, network.servers_a_group, servers));
  }
  const int used = parameters.groups > 0 ? std::min(parameters.groups, servers) : least;

  FabricBuilder builder(name);
  builder.set_network(NetworkKind::Slingshot);
  HostTraits host = design.host;
  host.crosses_nics = parameters.cross_nic;
  builder.set_host(host);
  builder.set_gpu_model(design.gpu_model);
  std::vector<std::vector<NodeId>> nics;
  for (int server = 0; server < servers; ++server) {
    const std::string prefix = servers > 1 ? fmt::format("server{}/", server) : "";
    nics.push_back(add_server(builder, design, parameters, server, prefix));
  }
  const Dragonfly dragonfly = add_dragonfly(builder, network, used == 1 ? 1 : network.groups);

  builder.set_routing(parameters.routing);

  const int blocks = network.switches / design.nics;
  const int servers_a_block = (network.servers_a_group + blocks - 1) / blocks;
  std::vector<int> servers_in(static_cast<std::size_t>(network.groups));
  for (int server = 0; server < servers; ++server) {
    const int group = parameters.groups > 0
                          ? static_cast<int>(std::int64_t{server} * used / servers)
                          : server / network.servers_a_group;
    const int block = servers_in[static_cast<std::size_t>(group)]++ / servers_a_block;
    for (int k = 0; k < design.nics; ++k) {
      link_to_network(builder, nics[static_cast<std::size_t>(server)][static_cast<std::size_t>(k)],
                      dragonfly.switch_at(group, block * design.nics + k), design.nic_Bps);
    }
  }
  return builder.build();
}

std::vector<FabricFact> with_slingshot_facts(std::vector<FabricFact> own,
                                             const std::string& block) {
  own.push_back(
      {"Slingshot: switches of 64 ports of 200 Gb/s; groups whose switches are all joined, "
       "links between all groups, minimal routes of at most three links",
       "De Sensi et al., SC20 (arXiv 2008.08886)"});
  own.push_back({"0.35 us through each further switch", "De Sensi et al., SC20: Rosetta"});
  own.push_back({"1.3 us from GPU memory to the first switch",
                 "TE-CCL's alpha of InfiniBand, because cclgym knows none of Slingshot"});
  own.push_back({"NIC k of a node on switch k of its " + block,
                 "assumed, because blades and switches of a Cray EX cross each other"});
  return own;
}

}  // namespace cclgym
