#include "topology_models/machines/clusters.hpp"

#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

#include "core/magnitudes.hpp"
#include "core/options/field.hpp"
#include "core/yaml/yaml.hpp"
#include "topology_models/servers/infiniband_cluster.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kClusters;
}  // namespace embedded

namespace {

// A machine of clusters.yaml.
struct Cluster {
  std::string name;
  std::string description;
  ServerDesign node;
  int mesh_units = 0;
  double link_Bps = 0;
  double link_latency_s = 0;
  bool nvls = false;
  bool typical = true;
  int trays = 1;
  int most_nodes = 0;
  int nodes_per_leaf = 0;
};

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const NetworkKind network : kNetworkKinds) names.emplace_back(to_string(network));
  return names;
}

template <class Member>
Field<Cluster> count(const char* name, const char* description, Member member,
                     const char* default_text = "") {
  return {{.name = name,
           .kind = OptionKind::Integer,
           .description = description,
           .min = 0,
           .max = 100'000,
           .required = *default_text == '\0',
           .default_text = default_text},
          member};
}

template <class Member>
Field<Cluster> rate(const char* name, const char* description, Member member,
                    const char* default_text = "") {
  return {{.name = name,
           .kind = OptionKind::Rate,
           .description = description,
           .max = kMostRate_Bps,
           .required = *default_text == '\0',
           .default_text = default_text},
          member};
}

const std::vector<Field<Cluster>>& cluster_fields() {
  static const std::vector<Field<Cluster>> fields{
      {{.name = "name", .description = "name of the fabric", .required = true}, &Cluster::name},
      {{.name = "description", .description = "one line", .required = true}, &Cluster::description},
      {{.name = "gpu_model", .description = "model of the GPUs", .required = true},
       [](auto& cluster) -> decltype(auto) { return (cluster.node.gpu_model); }},
      {{.name = "cpu",
        .kind = OptionKind::Choice,
        .description = "maker of the CPUs; Arm in a superchip",
        .default_text = "intel",
        .choices = {"intel", "amd", "arm"}},
       [](auto& cluster) -> decltype(auto) { return (cluster.node.host.cpu); }},
      {{.name = "network",
        .kind = OptionKind::Choice,
        .description = "network between the nodes (Fabric::network)",
        .default_text = "infiniband",
        .choices = network_names()},
       [](auto& cluster) -> decltype(auto) { return (cluster.node.network); }},
      {{.name = "typical",
        .kind = OptionKind::Flag,
        .description = "false: FabricInfo::typical",
        .default_text = "true"},
       &Cluster::typical},
      count("gpus", "GPUs of a node",
            [](auto& cluster) -> decltype(auto) { return (cluster.node.gpus); }),
      count(
          "nvswitches", "NVSwitches of a node; 0: none",
          [](auto& cluster) -> decltype(auto) { return (cluster.node.nvswitches_a_board); }, "0"),
      count(
          "nvlinks", "units from a GPU to the NVSwitches",
          [](auto& cluster) -> decltype(auto) { return (cluster.node.nvlinks_a_gpu); }, "0"),
      count("mesh_units", "units between every two GPUs; 0: no such links", &Cluster::mesh_units,
            "0"),
      rate("link_rate", "rate of such a unit in one direction", &Cluster::link_Bps, "25 GB/s"),
      {{.name = "link_latency",
        .kind = OptionKind::Time,
        .description = "latency of one traversal of a link of a GPU",
        .max = kMostLatency_s,
        .default_text = "0.35us"},
       &Cluster::link_latency_s},
      {{.name = "nvls",
        .kind = OptionKind::Flag,
        .description = "true: the NVSwitches copy and add",
        .default_text = "false"},
       &Cluster::nvls},
      count("nics", "NICs of a node",
            [](auto& cluster) -> decltype(auto) { return (cluster.node.nics); }),
      rate("nic_rate", "rate of a NIC in one direction",
           [](auto& cluster) -> decltype(auto) { return (cluster.node.nic_Bps); }),
      count(
          "gpus_per_pcie_switch", "GPUs that share a PCIe switch",
          [](auto& cluster) -> decltype(auto) { return (cluster.node.gpus_a_pcie_switch); }, "1"),
      rate("pcie_rate", "rate of a PCIe link in one direction",
           [](auto& cluster) -> decltype(auto) { return (cluster.node.pcie_Bps); }),
      rate(
          "socket_rate",
          "rate between the hosts of two PCIe switches each in one direction; 0: no hosts",
          [](auto& cluster) -> decltype(auto) { return (cluster.node.socket_Bps); }, "0 B/s"),
      count("trays", "hosts of a node, where trays share an NVLink domain", &Cluster::trays, "1"),
      count("max_nodes", "greatest number of nodes", &Cluster::most_nodes, "2048"),
      count("nodes_per_leaf", "nodes under one leaf of a fat tree", &Cluster::nodes_per_leaf,
            "32")};
  return fields;
}

const OptionSpec& facts_option() {
  static const OptionSpec option{.name = "facts",
                                 .kind = OptionKind::Mapping,
                                 .shape = OptionShape::List,
                                 .description = "facts and their sources",
                                 .required = true};
  return option;
}

std::vector<FabricFact> read_facts(const YamlValue& value) {
  static const std::vector<OptionSpec> specs{
      {.name = "fact", .description = "what is so", .required = true},
      {.name = "source", .description = "who published it", .required = true}};
  std::vector<FabricFact> facts;
  for (const YamlValue& item : read_items(value, facts_option())) {
    check_keys(item, specs, "fact");
    facts.push_back(
        {read_text(*item.find("fact"), specs[0]), read_text(*item.find("source"), specs[1])});
  }
  return facts;
}

std::vector<OptionSpec> options_of(const Cluster& cluster) {
  std::vector<OptionSpec> options = {
      fabric_option("nodes", {.max = static_cast<double>(cluster.most_nodes)}),
      fabric_option("gpus_per_node", {.max = static_cast<double>(cluster.node.gpus),
                                      .default_text = fmt::format("{}", cluster.node.gpus)})};
  if (cluster.node.boards > 0 || cluster.mesh_units > 0) {
    options.push_back(fabric_option(
        "bandwidth", {.default_text = fmt::format("{:g} GB/s", cluster.link_Bps / 1e9)}));
    options.push_back(fabric_option(
        "latency", {.default_text = fmt::format("{:g}us", cluster.link_latency_s * 1e6)}));
  }
  options.insert(
      options.end(),
      {fabric_option("nic_binding"), fabric_option("oversubscription", {.default_text = "1"}),
       fabric_option("nodes_per_leaf", {.default_text = fmt::format("{}", cluster.nodes_per_leaf)}),
       fabric_option("rails")});
  if (cluster.nvls) {
    options.push_back(fabric_option("nvls"));
    options.push_back(fabric_option("sharp"));
  }
  return options;
}

FabricModel model_of(const YamlValue& item) {
  Cluster cluster;
  std::vector<OptionSpec> specs{facts_option()};
  for (const Field<Cluster>& field : cluster_fields()) specs.push_back(field.spec());
  check_keys(item, specs, "cluster");
  for (const Field<Cluster>& field : cluster_fields()) {
    const YamlValue* const stated = item.find(field.key());
    field.set(cluster, stated != nullptr ? read_option(*stated, field.spec())
                                         : read_option(field.spec().default_text, field.spec()));
  }
  cluster.node.boards = cluster.node.nvswitches_a_board > 0 ? 1 : 0;
  if (cluster.mesh_units > 0) {
    cluster.node.pairs = all_pairs(cluster.node.gpus, cluster.mesh_units);
  }
  return {.info = {.name = cluster.name,
                   .description = cluster.description,
                   .options = options_of(cluster),
                   .facts = read_facts(*item.find("facts")),
                   .trays = cluster.trays,
                   .typical = cluster.typical},
          .build = [name = cluster.name, node = cluster.node](const FabricParameters& parameters) {
            return build_infiniband_cluster(name, node, parameters);
          }};
}

}  // namespace

std::vector<FabricModel> cluster_models() {
  std::vector<FabricModel> models;
  const YamlValue document = parse_yaml(embedded::kClusters, "clusters.yaml (built in)");
  for (const YamlValue& item : document.find("clusters")->items()) models.push_back(model_of(item));
  return models;
}

}  // namespace cclgym
