#include "topology_models/describe/describe.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "topology_models/describe/link_pairs.hpp"
#include "topology_models/fabric_file.hpp"
#include "topology_models/gpu_models.hpp"
#include "topology_models/text.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kMostListedLinks = 48;

constexpr std::array kNodeKinds = {NodeKind::Gpu,    NodeKind::NvSwitch, NodeKind::PcieSwitch,
                                   NodeKind::Host,   NodeKind::Nic,      NodeKind::NetworkSwitch,
                                   NodeKind::Generic};
constexpr std::array kLinkKinds = {LinkKind::NvLink, LinkKind::Pcie, LinkKind::Network,
                                   LinkKind::Generic};

using Row = std::vector<std::string>;

const Node& node_of(const Fabric& fabric, NodeId id) {
  return fabric.nodes()[static_cast<std::size_t>(id)];
}

// Lines with aligned columns, one per row, indented by two.
std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = " ";
    for (std::size_t k = 0; k < row.size(); ++k) line += fmt::format(" {:<{}} ", row[k], widths[k]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string plural(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string nodes_text(const Fabric& fabric) {
  std::vector<Row> rows;
  for (const NodeKind kind : kNodeKinds) {
    std::vector<const Node*> all;
    for (const Node& node : fabric.nodes()) {
      if (node.kind == kind) all.push_back(&node);
    }
    if (all.empty()) continue;
    std::string names = all.front()->name;
    if (all.size() > 1)
      names += fmt::format("{}{}", all.size() > 2 ? " .. " : ", ", all.back()->name);
    const auto least_and_most = std::minmax_element(
        all.begin(), all.end(),
        [](const Node* a, const Node* b) { return a->multiplicity < b->multiplicity; });
    const int most = (*least_and_most.second)->multiplicity;
    if (most > 1) {
      const int least = (*least_and_most.first)->multiplicity;
      names += least == most ? fmt::format(" ({} chips acting as one)", most)
                             : fmt::format(" ({} to {} chips acting as one)", least, most);
    }
    const auto computing =
        std::count_if(all.begin(), all.end(), [](const Node* node) { return node->computes; });
    if (computing > 0) {
      names += computing == std::ssize(all) ? ", copy and reduce"
                                            : fmt::format(", {} copy and reduce", computing);
    }
    rows.push_back({std::string(to_string(kind)), std::to_string(all.size()), names});
  }
  return table(rows);
}

std::string links_text(const Fabric& fabric) {
  const std::vector<LinkPair> pairs = link_pairs(fabric);
  const bool by_class = pairs.size() > kMostListedLinks;
  std::string text;
  for (const LinkKind kind : kLinkKinds) {
    // If there are many links, identical rows become one row with their number.
    std::vector<std::pair<Row, std::size_t>> rows;
    std::map<Row, std::size_t> row_of;
    std::size_t count = 0;
    for (const LinkPair& pair : pairs) {
      const Link& link = pair.link;
      if (link.kind != kind) continue;
      ++count;
      const auto end = [&](NodeId id) {
        const Node& node = node_of(fabric, id);
        return by_class ? std::string(to_string(node.kind)) : node.name;
      };
      Row row = {end(link.source),
                 pair.duplex ? "<->" : "->",
                 end(link.target),
                 std::to_string(link.multiplicity),
                 short_rate(link.unit_bandwidth_Bps),
                 short_rate(link.capacity_Bps()),
                 short_time(link.latency_s)};
      const auto [place, is_new] = row_of.try_emplace(row, rows.size());
      if (is_new || !by_class) {
        rows.emplace_back(std::move(row), 1);
      } else {
        ++rows[place->second].second;
      }
    }
    if (rows.empty()) continue;
    std::vector<Row> lines = {
        {"from", "", "to", "units", "of", "capacity per direction", "latency"}};
    if (by_class) lines[0].insert(lines[0].begin(), "links");
    for (auto& [row, number] : rows) {
      if (by_class) row.insert(row.begin(), std::to_string(number));
      lines.push_back(std::move(row));
    }
    text += fmt::format("\nLinks: {}, {} (<-> both ways)\n{}", to_string(kind),
                        plural(count, "link"), table(lines));
  }
  return text;
}

// "1 0 2 3, 3 2 0 1".
std::string orders_text(const std::vector<std::vector<int>>& orders) {
  std::vector<std::string> texts;
  for (const std::vector<int>& order : orders)
    texts.push_back(fmt::format("{}", fmt::join(order, " ")));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// The properties of the nodes' hosts; nothing for defaults of which NCCL's choice makes no use.
std::string host_text(const Fabric& fabric) {
  const HostTraits& host = fabric.host();
  const GpuModel* const gpu = find_gpu_model(fabric.gpu_model());
  const bool used = gpu != nullptr && gpu->vendor == GpuVendor::Nvidia;
  if (!used && host.cpu == HostTraits{}.cpu && !host.nics_behind_host_bridge) return "";
  std::vector<Row> rows = {{"cpu", std::string(to_string(host.cpu))}};
  if (host.nics_behind_host_bridge) rows.push_back({"nics_behind_host_bridge", "true"});
  if (!host.crosses_nics) rows.push_back({"cross_nic", "false"});
  if (!host.ring_orders.empty()) rows.push_back({"rings", orders_text(host.ring_orders)});
  if (!host.tree_orders.empty()) rows.push_back({"trees", orders_text(host.tree_orders)});
  return "\nHosts, as NCCL's choice sees them\n" + table(rows);
}

template <class T, class Format>
std::string computed_text(const Computed<T>& computed, Format format) {
  return computed.value ? format(*computed.value) : "not computed: " + computed.why_not;
}

std::string metrics_text(const FabricMetrics& metrics) {
  const auto steps = [](int number) { return plural(static_cast<std::size_t>(number), "step"); };
  const auto rounds = [](const Rational& value) {
    const std::string decimal = fmt::format("{:.6g}", boost::rational_cast<double>(value));
    return value.denominator() == 1
               ? decimal + " rounds per chunk"
               : fmt::format("{} = {} rounds per chunk", text_of(value), decimal);
  };
  std::vector<Row> rows = {
      {"diameter", computed_text(metrics.diameter, steps), "GPU to GPU; a_l of AllGather in SCCL"},
      {"link unit", computed_text(metrics.link_unit_Bps, short_rate),
       "carries one chunk per round"},
      {"inverse bisection", computed_text(metrics.inverse_bisection, rounds),
       "b_l of AllGather in SCCL"},
      {"bisection", computed_text(metrics.bisection_Bps, short_rate),
       "one direction, minimum over all halvings"}};
  if (metrics.switch_hops.value != 0) {
    const auto hops = [](int number) { return plural(static_cast<std::size_t>(number), "hop"); };
    rows.push_back({"network diameter", computed_text(metrics.switch_hops, hops),
                    "between network switches with NICs"});
  }
  return "\nMetrics\n" + table(rows);
}

}  // namespace

std::string describe_fabric(const Fabric& fabric) {
  return describe_fabric(fabric, fabric_metrics(fabric));
}

std::string describe_fabric(const Fabric& fabric, const FabricMetrics& metrics) {
  const auto count = [](int number) { return static_cast<std::size_t>(number); };
  return fmt::format(
      "{}: {}{} in {}, {}\n\nNodes\n{}{}{}{}", fabric.name(), plural(count(fabric.ranks()), "GPU"),
      fabric.gpu_model().empty() ? "" : fmt::format(" ({})", fabric.gpu_model()),
      plural(count(fabric.servers()), "server"), plural(fabric.links().size(), "directed link"),
      nodes_text(fabric), host_text(fabric), links_text(fabric), metrics_text(metrics));
}

std::string describe_facts(const std::vector<FabricFact>& facts) {
  if (facts.empty()) return "";
  std::string text = "\nSources\n";
  for (const FabricFact& fact : facts) {
    text += fmt::format("  {}\n      {}\n", fact.fact, fact.source);
  }
  return text;
}

}  // namespace cclgym
