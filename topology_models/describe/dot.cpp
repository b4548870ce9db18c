// The drawing of a fabric.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <numbers>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology_models/describe/describe.hpp"
#include "topology_models/describe/dot_layout.hpp"
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

// The frame of a cluster node names it.
std::string short_name(const Node& node) {
  const std::size_t slash = node.name.rfind('/');
  return node.server >= 0 && slash != std::string::npos ? node.name.substr(slash + 1) : node.name;
}

std::string node_line(const Node& node, const std::string& label, const std::string& more = "") {
  const Look look = look_of(node.kind);
  return fmt::format("{} [label={}, shape={}, fillcolor=\"{}\"{}];\n", dot_string(node.name),
                     dot_string(label), look.shape, look.fill, more);
}

std::string node_line(const Node& node) {
  std::string label = short_name(node);
  if (node.multiplicity > 1) label += fmt::format(" x {}", node.multiplicity);
  return node_line(node, label);
}

std::string label_of(const Link& link) {
  const std::string unit = short_rate(link.unit_bandwidth_Bps);
  return link.multiplicity > 1 ? fmt::format("{} x {}", link.multiplicity, unit) : unit;
}

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

// The edges; wide links are drawn thicker. dot puts the tail of an edge above its head, so
// NVSwitches are tails: they appear above the GPUs, and links out of the cluster node below. Links
// between NVSwitches must not put one above the other.
class EdgeLines {
 public:
  EdgeLines(const Fabric& fabric, bool only_gpus) : fabric_(fabric), pairs_(link_pairs(fabric)) {
    if (!only_gpus) folds_ = DeviceFolds(fabric, pairs_);
    for (const LinkPair& pair : pairs_) {
      least_Bps_ = std::min(least_Bps_, pair.link.capacity_Bps());
      labels_.insert(label_of(pair.link));
    }
    layers_ = layers_of(fabric, pairs_);
    if (only_gpus) columns_ = grid_columns(fabric, pairs_);
  }

  [[nodiscard]] const DeviceFolds& folds() const { return folds_; }
  /// Length of the rows if the drawing is a grid, otherwise 0.
  [[nodiscard]] std::size_t columns() const { return columns_; }

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
    return (dense || columns_ > 0) && labels_.size() == 1 ? *labels_.begin() : "";
  }

  [[nodiscard]] std::string text() const {
    const bool labelled = common_label().empty() && !layered();
    std::string lines;
    std::set<std::pair<NodeId, NodeId>> drawn;
    for (LinkPair pair : pairs_) {
      Link& link = pair.link;
      const bool folded =
          folds_.shown(link.source) != link.source || folds_.shown(link.target) != link.target;
      link.source = folds_.shown(link.source);
      link.target = folds_.shown(link.target);
      // The links of a fold's devices are alike, so that one line shows those to the same box.
      const bool again = !drawn.insert({link.source, link.target}).second;
      if (folded && (again || link.source == link.target)) continue;
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
      if (columns_ > 0 && !neighbours(link)) lines += ", style=dashed";
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

  // True for devices side by side in a grid. The other links of a grid lead around others.
  [[nodiscard]] bool neighbours(const Link& link) const {
    const auto apart = static_cast<std::size_t>(std::abs(link.source - link.target));
    return apart == columns_ || apart == 1;
  }

  [[nodiscard]] int layer(NodeId id) const { return layers_[static_cast<std::size_t>(id)]; }

  const Fabric& fabric_;
  std::vector<LinkPair> pairs_;
  DeviceFolds folds_;
  std::vector<int> layers_;
  std::size_t columns_ = 0;
  double least_Bps_ = std::numeric_limits<double>::infinity();
  std::set<std::string> labels_;
};

// The devices, with a frame around the devices of each cluster node.
std::string nodes_text(const Fabric& fabric, const DeviceFolds& folds, bool framed) {
  std::vector<std::string> servers(static_cast<std::size_t>(fabric.servers()));
  std::string text;
  for (std::size_t i = 0; i < fabric.nodes().size(); ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& node = fabric.nodes()[i];
    std::string& place = node.server < 0 ? text : servers[static_cast<std::size_t>(node.server)];
    if (const DeviceFold* fold = folds.fold_at(id)) {
      const Node& last = fabric.nodes()[static_cast<std::size_t>(fold->last)];
      place += "  " + node_line(node,
                                fmt::format("{} to {}: {} alike", short_name(node),
                                            short_name(last), fold->count),
                                ", style=\"filled,dashed\"");
    } else if (folds.shown(id) == id) {
      place += "  " + node_line(node);
    }
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

// The GPUs in rows; neato keeps positions that end in '!'.
std::string grid_text(const Fabric& fabric, std::size_t columns) {
  constexpr double kAcross = 1.2;  // inches between columns
  constexpr double kDown = 0.9;    // inches between rows
  std::string text;
  for (std::size_t i = 0; i < fabric.nodes().size(); ++i) {
    const Node& node = fabric.nodes()[i];
    const auto column = static_cast<double>(i % columns);
    const auto row = static_cast<double>(i / columns);
    text += "  " + node_line(node, short_name(node),
                             fmt::format(", pos=\"{:.1f},{:.1f}!\"", kAcross * column,
                                         row == 0 ? 0.0 : -kDown * row));
  }
  return text;
}

// True for a cluster node whose other devices are PCIe switches and hosts, all beside its GPUs.
bool hosts_around(const Fabric& fabric) {
  constexpr int kMostGpus = 16;
  bool hosts = false;
  for (const Node& node : fabric.nodes()) {
    hosts = hosts || node.kind == NodeKind::Host;
    if (node.kind != NodeKind::Gpu && node.kind != NodeKind::PcieSwitch &&
        node.kind != NodeKind::Host) {
      return false;
    }
  }
  return hosts && fabric.servers() == 1 && fabric.ranks() <= kMostGpus;
}

// The GPUs in a circle, and each other device outside, in the direction of the devices that are
// linked to it: links between GPUs stay inside the circle.
std::string circle_text(const Fabric& fabric) {
  constexpr double kRadius = 2.8;  // inches
  constexpr double kApart = 1.3;   // inches between a device and those outside it
  struct Place {
    double x;
    double y;
    double radius;  // 0: not placed yet
  };
  std::vector<Place> places(fabric.nodes().size(), Place{});
  const auto rounded = [](double inches) { return std::round(inches * 100) / 100 + 0.0; };  // no -0
  const auto place = [&](NodeId id, double angle, double radius) {
    places[static_cast<std::size_t>(id)] = {rounded(radius * std::cos(angle)),
                                            rounded(radius * std::sin(angle)), radius};
  };
  const double turn = 2 * std::numbers::pi / fabric.ranks();
  for (int rank = 0; rank < fabric.ranks(); ++rank) place(fabric.gpu(rank), turn * rank, kRadius);
  std::string text;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].radius == 0) {
      Place sum{};
      for (const Link& link : fabric.links()) {
        if (link.target != static_cast<NodeId>(i)) continue;
        const Place& linked = places[static_cast<std::size_t>(link.source)];
        sum = {sum.x + linked.x, sum.y + linked.y, std::max(sum.radius, linked.radius)};
      }
      place(static_cast<NodeId>(i), std::atan2(sum.y, sum.x), sum.radius + kApart);
    }
    text += "  " + node_line(fabric.nodes()[i], short_name(fabric.nodes()[i]),
                             fmt::format(", pos=\"{:.2f},{:.2f}!\"", places[i].x, places[i].y));
  }
  return text;
}

}  // namespace

std::string to_dot(const Fabric& fabric) {
  bool only_gpus = true;
  for (const Node& node : fabric.nodes()) only_gpus = only_gpus && node.kind == NodeKind::Gpu;
  only_gpus = only_gpus && fabric.servers() == 1;
  const EdgeLines edges(fabric, only_gpus);
  const bool grid = edges.columns() > 0;
  // Frames need dot's layers; GPUs without switches look better in a circle.
  const bool circle = only_gpus && !grid;
  const bool around = hosts_around(fabric);

  std::string title = fabric.name();
  if (const std::string label = edges.common_label(); !label.empty()) {
    title += fmt::format(" (each link {})", label);
  }
  if (edges.layered()) title += fmt::format(" ({})", edges.legend());
  std::string text = fmt::format("digraph {} {{\n", dot_string(fabric.name()));
  text += fmt::format("  label={}; labelloc=t; fontname=\"Helvetica\"; fontsize=18;\n",
                      dot_string(title));
  text += grid || around    ? "  layout=neato; splines=true;\n"
          : circle          ? "  layout=circo; mindist=2;\n"
          : edges.layered() ? "  rankdir=LR; ranksep=1.6; nodesep=0.08; splines=true;\n"
                            : "  rankdir=TB; ranksep=0.9; nodesep=0.35;\n";
  text += "  node [style=filled, fontname=\"Helvetica\", fontsize=11];\n";
  text += "  edge [fontname=\"Helvetica\", fontsize=9];\n";
  text += grid     ? grid_text(fabric, edges.columns())
          : around ? circle_text(fabric)
                   : nodes_text(fabric, edges.folds(), !circle);
  return text + edges.text() + "}\n";
}

}  // namespace cclgym
