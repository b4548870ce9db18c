// The drawing of a fabric.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "topology_models/describe/describe.hpp"
#include "topology_models/describe/link_pairs.hpp"
#include "topology_models/text.hpp"

namespace cclgym {

namespace {

struct Look {
  std::string_view shape;
  std::string_view fill;
};

Look look_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::Gpu:
      return {"box", "#d9ead3"};
    case NodeKind::NvSwitch:
      return {"hexagon", "#b6d7a8"};
    case NodeKind::PcieSwitch:
      return {"trapezium", "#fff2cc"};
    case NodeKind::Nic:
      return {"ellipse", "#cfe2f3"};
    case NodeKind::NetworkSwitch:
      return {"octagon", "#9fc5e8"};
    case NodeKind::Host:
      return {"box3d", "#ead1dc"};
    case NodeKind::Generic:
      break;
  }
  return {"ellipse", "#eeeeee"};
}

std::string_view colour_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::NvLink:
      return "#38761d";
    case LinkKind::Pcie:
      return "#b45f06";
    case LinkKind::Network:
      return "#0b5394";
    case LinkKind::Generic:
      break;
  }
  return "#444444";
}

std::string dot_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + '"';
}

std::string node_line(const Node& node) {
  const Look look = look_of(node.kind);
  const std::size_t slash = node.name.rfind('/');
  std::string label = node.server >= 0 && slash != std::string::npos
                          ? node.name.substr(slash + 1)  // the frame names the cluster node
                          : node.name;
  if (node.multiplicity > 1) label += fmt::format(" x {}", node.multiplicity);
  return fmt::format("{} [label={}, shape={}, fillcolor=\"{}\"];\n", dot_string(node.name),
                     dot_string(label), look.shape, look.fill);
}

std::string label_of(const Link& link) {
  const std::string unit = short_rate(link.unit_bandwidth_Bps);
  return link.multiplicity > 1 ? fmt::format("{} x {}", link.multiplicity, unit) : unit;
}

// In drawings of more nodes than this, layers go from left to right, half of the cluster nodes
// stand on either side of the network, and the title has the labels of the links.
constexpr int kMostServersInARow = 4;

std::string_view name_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::NvLink:
      return "NVLink";
    case LinkKind::Pcie:
      return "PCIe";
    case LinkKind::Network:
      return "network";
    case LinkKind::Generic:
      break;
  }
  return "links";
}

// Layers of a drawing with the network in the middle: the number of links between a device and the
// network, negative for the first half of the cluster nodes. Empty if the drawing has few cluster
// nodes, or if a device has no way to a network.
std::vector<int> layers_of(const Fabric& fabric, const std::vector<LinkPair>& pairs) {
  if (fabric.servers() <= kMostServersInARow) return {};
  constexpr int kNone = -1;
  std::vector<int> layers(fabric.nodes().size(), kNone);
  std::vector<NodeId> reached;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (fabric.nodes()[i].server >= 0) continue;
    layers[i] = 0;
    reached.push_back(static_cast<NodeId>(i));
  }
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const NodeId from = reached[next];
    for (const LinkPair& pair : pairs) {
      if (pair.link.source != from && pair.link.target != from) continue;
      const NodeId to = pair.link.source == from ? pair.link.target : pair.link.source;
      int& layer = layers[static_cast<std::size_t>(to)];
      if (layer != kNone) continue;
      layer = layers[static_cast<std::size_t>(from)] + 1;
      reached.push_back(to);
    }
  }
  if (reached.size() < layers.size()) return {};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (fabric.nodes()[i].server < fabric.servers() / 2) layers[i] = -layers[i];
  }
  return layers;
}

// The edges; wide links are drawn thicker. dot puts the tail of an edge above its head, so
// NVSwitches are tails: they appear above the GPUs, and links out of the cluster node below. Links
// between NVSwitches must not put one above the other.
class EdgeLines {
 public:
  explicit EdgeLines(const Fabric& fabric) : fabric_(fabric), pairs_(link_pairs(fabric)) {
    for (const LinkPair& pair : pairs_) {
      least_Bps_ = std::min(least_Bps_, pair.link.capacity_Bps());
      labels_.insert(label_of(pair.link));
    }
    layers_ = layers_of(fabric, pairs_);
  }

  [[nodiscard]] bool layered() const { return !layers_.empty(); }

  // The links of a layered drawing: "NVLink 12 x 25 GB/s, network 25 GB/s".
  [[nodiscard]] std::string legend() const {
    std::set<std::string> all;
    for (const LinkPair& pair : pairs_) {
      all.insert(fmt::format("{} {}", name_of(pair.link.kind), label_of(pair.link)));
    }
    return fmt::format("{}", fmt::join(all, ", "));
  }

  // In a dense graph of equal links the labels would hide the drawing, so all links share one
  // label.
  [[nodiscard]] std::string common_label() const {
    const bool dense = pairs_.size() > 2 * fabric_.nodes().size();
    return dense && labels_.size() == 1 ? *labels_.begin() : "";
  }

  [[nodiscard]] std::string text() const {
    const bool labelled = common_label().empty() && !layered();
    std::string lines;
    for (const LinkPair& pair : pairs_) {
      const Link& link = pair.link;
      const bool from_switch = node(link.source).kind == NodeKind::NvSwitch;
      const bool to_switch = node(link.target).kind == NodeKind::NvSwitch;
      const int rise = layered() ? layer(link.target) - layer(link.source) : 0;
      const bool upside_down = layered() ? rise < 0 : to_switch && !from_switch;
      const Node& tail = node(upside_down ? link.target : link.source);
      const Node& head = node(upside_down ? link.source : link.target);
      lines += fmt::format("  {} -> {} [color=\"{}\", fontcolor=\"{}\", penwidth={:.2g}",
                           dot_string(tail.name), dot_string(head.name), colour_of(link.kind),
                           colour_of(link.kind),
                           std::min(1 + 0.6 * std::log2(link.capacity_Bps() / least_Bps_), 4.0));
      if (labelled) lines += fmt::format(", label=\" {}\"", label_of(link));
      // Links enter and leave at the sides of the devices, so that they do not cross the names.
      if (layered() && rise != 0) lines += ", tailport=e, headport=w";
      if (layered() ? rise == 0 : from_switch && to_switch) lines += ", constraint=false";
      lines += pair.duplex ? ", dir=none];\n" : upside_down ? ", dir=back];\n" : "];\n";
    }
    return lines;
  }

 private:
  [[nodiscard]] const Node& node(NodeId id) const {
    return fabric_.nodes()[static_cast<std::size_t>(id)];
  }

  [[nodiscard]] int layer(NodeId id) const { return layers_[static_cast<std::size_t>(id)]; }

  const Fabric& fabric_;
  std::vector<LinkPair> pairs_;
  std::vector<int> layers_;
  double least_Bps_ = std::numeric_limits<double>::infinity();
  std::set<std::string> labels_;
};

// The devices, with a frame around the devices of each cluster node.
std::string nodes_text(const Fabric& fabric, bool framed) {
  std::vector<std::string> servers(static_cast<std::size_t>(fabric.servers()));
  std::string text;
  for (const Node& node : fabric.nodes()) {
    std::string& place = node.server < 0 ? text : servers[static_cast<std::size_t>(node.server)];
    place += "  " + node_line(node);
  }
  for (std::size_t server = 0; server < servers.size(); ++server) {
    text += framed ? fmt::format(
                         "  subgraph cluster_{} {{\n  label=\"server {}\"; "
                         "color=\"#999999\"; style=rounded; fontsize=12;\n{}  }}\n",
                         server, server, servers[server])
                   : servers[server];
  }
  return text;
}

}  // namespace

std::string to_dot(const Fabric& fabric) {
  bool only_gpus = true;
  for (const Node& node : fabric.nodes()) only_gpus = only_gpus && node.kind == NodeKind::Gpu;
  // Frames need dot's layers; GPUs without switches look better in a circle.
  const bool circle = only_gpus && fabric.servers() == 1;

  const EdgeLines edges(fabric);
  std::string title = fabric.name();
  if (const std::string label = edges.common_label(); !label.empty()) {
    title += fmt::format(" (each link {})", label);
  }
  if (edges.layered()) title += fmt::format(" ({})", edges.legend());
  std::string text = fmt::format("digraph {} {{\n", dot_string(fabric.name()));
  text += fmt::format("  label={}; labelloc=t; fontname=\"Helvetica\"; fontsize=18;\n",
                      dot_string(title));
  text += circle            ? "  layout=circo; mindist=2;\n"
          : edges.layered() ? "  rankdir=LR; ranksep=1.6; nodesep=0.08; splines=true;\n"
                            : "  rankdir=TB; ranksep=0.9; nodesep=0.35;\n";
  text += "  node [style=filled, fontname=\"Helvetica\", fontsize=11];\n";
  text += "  edge [fontname=\"Helvetica\", fontsize=9];\n";
  return text + nodes_text(fabric, !circle) + edges.text() + "}\n";
}

}  // namespace cclgym
