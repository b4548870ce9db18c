#include "topology_models/fabric.hpp"

#include <cassert>
#include <fmt/format.h>
#include <iterator>

namespace cclgym {

std::string_view to_string(NodeKind kind) {
  switch (kind) {
    case NodeKind::Gpu:
      return "gpu";
    case NodeKind::NvSwitch:
      return "nvswitch";
    case NodeKind::PcieSwitch:
      return "pcie-switch";
    case NodeKind::Nic:
      return "nic";
    case NodeKind::NetworkSwitch:
      return "network-switch";
    case NodeKind::Host:
      return "host";
    case NodeKind::Generic:
      break;
  }
  return "generic";
}

std::string_view to_string(LinkKind kind) {
  switch (kind) {
    case LinkKind::NvLink:
      return "nvlink";
    case LinkKind::Pcie:
      return "pcie";
    case LinkKind::Network:
      return "network";
    case LinkKind::Generic:
      break;
  }
  return "generic";
}

std::string_view to_string(Routing routing) {
  switch (routing) {
    case Routing::Adaptive:
      return "adaptive";
    case Routing::Minimal:
      return "minimal";
    case Routing::Valiant:
      break;
  }
  return "valiant";
}

std::string_view to_string(NetworkKind network) {
  switch (network) {
    case NetworkKind::InfiniBand:
      return "infiniband";
    case NetworkKind::Slingshot:
      return "slingshot";
    case NetworkKind::Tcp:
      return "tcp";
    case NetworkKind::Efa:
      return "efa";
    case NetworkKind::Other:
      break;
  }
  return "other";
}

int Fabric::server_of(int rank) const {
  assert(rank >= 0 && rank < ranks());
  return nodes_[static_cast<std::size_t>(gpu(rank))].server;
}

std::optional<int> Fabric::ranks_per_server() const {
  if (ranks() % servers() != 0) return std::nullopt;
  const int each = ranks() / servers();
  for (int rank = 0; rank < ranks(); ++rank) {
    if (server_of(rank) != rank / each) return std::nullopt;
  }
  return each;
}

std::string Fabric::canonical_text() const {
  std::string text;
  const auto out = std::back_inserter(text);
  // Names may hold any character: the length before each makes the text unambiguous.
  const auto named = [](const std::string& name) {
    return fmt::format("{}:{}", name.size(), name);
  };
  fmt::format_to(out, "fabric {} gpu_model {}\n", named(name_), named(gpu_model_));
  if (host_.cpu == HostCpu::Amd) fmt::format_to(out, "cpu amd\n");
  if (host_.cpu == HostCpu::Arm) fmt::format_to(out, "cpu arm\n");
  if (host_.nics_behind_host_bridge) fmt::format_to(out, "nics behind host bridge\n");
  if (!host_.crosses_nics) fmt::format_to(out, "rings keep their nics\n");
  for (const auto& order : host_.ring_orders) {
    fmt::format_to(out, "ring order {}\n", fmt::join(order, " "));
  }
  for (const auto& order : host_.tree_orders) {
    fmt::format_to(out, "tree order {}\n", fmt::join(order, " "));
  }
  for (const Node& node : nodes_) {
    fmt::format_to(out, "node {} {} server {} x {}{}\n", named(node.name), to_string(node.kind),
                   node.server, node.multiplicity, node.computes ? " computes" : "");
  }
  for (const Link& link : links_) {
    fmt::format_to(out, "link {} {} {} {:a} s{} {:a} B/s x {}\n", link.source, link.target,
                   to_string(link.kind), link.latency_s, link.latency_stated ? " stated" : "",
                   link.unit_bandwidth_Bps, link.multiplicity);
  }
  if (max_relays_ > 0) fmt::format_to(out, "max relays {}\n", max_relays_);
  for (std::size_t rank = 0; rank < full_rank_.size(); ++rank) {
    fmt::format_to(out, "rank {} of {}\n", gpus_[rank], full_rank_[rank]);
  }
  if (dragonfly_) {  // routes depend on it
    const DragonflyShape& shape = dragonfly_->shape();
    fmt::format_to(out, "dragonfly {} x {} x {} from {} {} {} {}\n", shape.groups, shape.switches,
                   shape.links_a_pair, shape.first_switch, shape.first_local, shape.first_global,
                   to_string(routing_));
  }
  return text;
}

}  // namespace cclgym
