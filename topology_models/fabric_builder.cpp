#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "core/error.hpp"
#include "topology_models/fabric.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

namespace {

constexpr int kGreatestServer = 999'999;  // a typo must not allocate gigabytes

// True for the nodes that a walk from `start` reaches along `adjacent` (links_out or links_in).
std::vector<bool> reachable(const std::vector<std::vector<LinkId>>& adjacent,
                            const std::vector<Link>& links, NodeId start, bool forwards) {
  std::vector<bool> seen(adjacent.size());
  std::vector<NodeId> open{start};
  seen[static_cast<std::size_t>(start)] = true;
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    for (const LinkId id : adjacent[static_cast<std::size_t>(node)]) {
      const Link& link = links[static_cast<std::size_t>(id)];
      const NodeId next = forwards ? link.target : link.source;
      if (seen[static_cast<std::size_t>(next)]) continue;
      seen[static_cast<std::size_t>(next)] = true;
      open.push_back(next);
    }
  }
  return seen;
}

void check_names(const Fabric& fabric) {
  std::unordered_set<std::string> names;
  for (const Node& node : fabric.nodes()) {
    if (!names.insert(node.name).second) {
      throw UserError(
          fmt::format("fabric '{}': two nodes are called '{}'", fabric.name(), node.name));
    }
  }
}

// Checks that the numbers in Node::server have no gap, so that servers() is their count.
void check_servers(const Fabric& fabric) {
  std::vector<bool> present(static_cast<std::size_t>(fabric.servers()));
  for (const Node& node : fabric.nodes()) {
    if (node.server >= 0) present[static_cast<std::size_t>(node.server)] = true;
  }
  const auto gap = std::find(present.begin(), present.end(), false);
  if (gap != present.end()) {
    throw UserError(fmt::format("fabric '{}': no node is in server {}, but one is in server {}",
                                fabric.name(), gap - present.begin(), fabric.servers() - 1));
  }
}

}  // namespace

FabricBuilder::FabricBuilder(std::string name) : fabric_(std::make_shared<Fabric>()) {
  fabric_->name_ = std::move(name);
}

FabricBuilder::FabricBuilder(const Fabric& fabric) : fabric_(std::make_shared<Fabric>(fabric)) {}

void FabricBuilder::hide_link(LinkId link) {
  const Link& hidden = fabric_->links_.at(static_cast<std::size_t>(link));
  std::erase(fabric_->links_out_[static_cast<std::size_t>(hidden.source)], link);
  std::erase(fabric_->links_in_[static_cast<std::size_t>(hidden.target)], link);
}

void FabricBuilder::set_bindings(std::function<std::shared_ptr<const Fabric>(NicBinding)> make) {
  fabric_->make_bound_ = std::move(make);
}

void FabricBuilder::set_gpu_model(std::string model) {
  const GpuModel* const known = model.empty() ? nullptr : find_gpu_model(model);
  if (!model.empty() && known == nullptr) {
    throw UserError(
        fmt::format("fabric '{}': {}", fabric_->name_, unknown_gpu_model_message(model)));
  }
  if (known != nullptr && known->with_arm_cpu) fabric_->host_.cpu = HostCpu::Arm;
  fabric_->gpu_model_ = std::move(model);
}

NodeId FabricBuilder::add_node(Node node) {
  const auto fail = [&](const std::string& what) {
    throw UserError(fmt::format("fabric '{}', node '{}': {}", fabric_->name_, node.name, what));
  };
  const bool is_gpu = node.kind == NodeKind::Gpu;
  if (node.name.empty()) fail("a node needs a name");
  if (node.multiplicity < 1) {
    fail(fmt::format("multiplicity is {}, but must be at least 1", node.multiplicity));
  }
  if (node.server < (is_gpu ? 0 : -1) || node.server > kGreatestServer) {
    fail(fmt::format("server is {}, but must be from {} to {}", node.server,
                     is_gpu ? "0" : "-1 (in no server)", kGreatestServer));
  }
  if (is_gpu && node.multiplicity != 1) fail("a GPU has multiplicity 1: each is a rank of its own");
  const auto id = static_cast<NodeId>(fabric_->nodes_.size());
  if (is_gpu) fabric_->gpus_.push_back(id);
  fabric_->servers_ = std::max(fabric_->servers_, node.server + 1);
  fabric_->nodes_.push_back(std::move(node));
  fabric_->links_out_.emplace_back();
  fabric_->links_in_.emplace_back();
  return id;
}

LinkId FabricBuilder::add_link(Link link) {
  const auto known = [&](NodeId node) {
    return node >= 0 && static_cast<std::size_t>(node) < fabric_->nodes_.size();
  };
  const auto label = [&](NodeId node) {
    return known(node) ? fabric_->nodes_[static_cast<std::size_t>(node)].name
                       : fmt::format("#{}", node);
  };
  const auto fail = [&](const std::string& what) {
    throw UserError(fmt::format("fabric '{}', link {} -> {}: {}", fabric_->name_,
                                label(link.source), label(link.target), what));
  };
  if (!known(link.source)) fail(fmt::format("there is no node {}", label(link.source)));
  if (!known(link.target)) fail(fmt::format("there is no node {}", label(link.target)));
  if (link.source == link.target) fail("a link cannot join a node to itself");
  if (!(link.latency_s >= 0) || !std::isfinite(link.latency_s)) {
    fail(fmt::format("latency is {} s, but must be at least 0", link.latency_s));
  }
  if (!(link.unit_bandwidth_Bps > 0) || !std::isfinite(link.unit_bandwidth_Bps)) {
    fail(fmt::format("bandwidth is {} B/s, but must be above 0", link.unit_bandwidth_Bps));
  }
  if (link.multiplicity < 1) {
    fail(fmt::format("multiplicity is {}, but must be at least 1", link.multiplicity));
  }
  const auto id = static_cast<LinkId>(fabric_->links_.size());
  fabric_->links_out_[static_cast<std::size_t>(link.source)].push_back(id);
  fabric_->links_in_[static_cast<std::size_t>(link.target)].push_back(id);
  fabric_->links_.push_back(link);
  return id;
}

LinkId FabricBuilder::add_duplex_link(const Link& link) {
  const LinkId first = add_link(link);
  Link twin = link;
  std::swap(twin.source, twin.target);
  add_link(twin);
  return first;
}

void FabricBuilder::set_routing(Routing routing) { fabric_->routing_ = routing; }

void FabricBuilder::set_max_relays(int gpus) { fabric_->max_relays_ = gpus; }

void FabricBuilder::set_dragonfly(const DragonflyShape& shape) {
  const Dragonfly dragonfly(shape);
  const auto check = [&](LinkId id, NodeId source, NodeId target) {
    const Link& link = fabric_->links_.at(static_cast<std::size_t>(id));
    if (link.source != source || link.target != target) {
      throw std::logic_error(fmt::format("link {} of the dragonfly joins other switches", id));
    }
  };
  for (int group = 0; group < shape.groups; ++group) {
    for (int a = 0; a < shape.switches; ++a) {
      for (int b = 0; b < shape.switches; ++b) {
        if (a == b) continue;
        check(dragonfly.local_link(group, a, b), dragonfly.switch_at(group, a),
              dragonfly.switch_at(group, b));
      }
    }
    for (int other = 0; other < shape.groups; ++other) {
      for (int k = 0; k < shape.links_a_pair && other != group; ++k) {
        check(dragonfly.global_link(group, other, k),
              dragonfly.switch_at(group, dragonfly.gateway(group, other, k)),
              dragonfly.switch_at(other, dragonfly.gateway(other, group, k)));
      }
    }
  }
  fabric_->dragonfly_ = dragonfly;
}

std::shared_ptr<const Fabric> FabricBuilder::build() {
  const Fabric& fabric = *fabric_;
  check_names(fabric);
  if (fabric.gpus_.empty()) {
    throw UserError(fmt::format("fabric '{}' has no GPU, but needs at least one", fabric.name_));
  }
  check_servers(fabric);
  // Every pair is connected iff one GPU reaches all of them and all of them reach it.
  for (const bool forwards : {true, false}) {
    const std::vector<bool> seen = reachable(forwards ? fabric.links_out_ : fabric.links_in_,
                                             fabric.links_, fabric.gpu(0), forwards);
    for (const NodeId gpu : fabric.gpus_) {
      if (seen[static_cast<std::size_t>(gpu)]) continue;
      const std::string& first = fabric.nodes_[static_cast<std::size_t>(fabric.gpu(0))].name;
      const std::string& other = fabric.nodes_[static_cast<std::size_t>(gpu)].name;
      throw UserError(fmt::format("fabric '{}': no links lead from GPU '{}' to GPU '{}'",
                                  fabric.name_, forwards ? first : other,
                                  forwards ? other : first));
    }
  }
  return std::exchange(fabric_, std::make_shared<Fabric>());
}

}  // namespace cclgym
