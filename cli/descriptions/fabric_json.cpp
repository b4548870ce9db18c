#include "cli/descriptions/fabric_json.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "topology_models/fabric_file.hpp"
#include "topology_models/rational.hpp"

namespace cclgym {

namespace {

template <class T, class Shown>
void add_metric(nlohmann::ordered_json& metrics, const char* name, const Computed<T>& metric,
                Shown shown) {
  if (metric.value) {
    metrics[name] = shown(*metric.value);
    return;
  }
  metrics[name] = nullptr;
  metrics["not_computed"][name] = metric.why_not;
}

}  // namespace

nlohmann::ordered_json fabric_json(const Fabric& fabric, const FabricMetrics& metrics,
                                   const std::vector<FabricFact>& facts) {
  nlohmann::ordered_json json{{"name", fabric.name()},
                              {"gpu_model", fabric.gpu_model()},
                              {"ranks", fabric.ranks()},
                              {"nodes", fabric.servers()},
                              {"cpu", to_string(fabric.host().cpu)},
                              {"nics_behind_host_bridge", fabric.host().nics_behind_host_bridge}};
  nlohmann::ordered_json& devices = json["devices"] = nlohmann::ordered_json::array();
  for (const Node& node : fabric.nodes()) {
    devices.push_back({{"name", node.name},
                       {"kind", to_string(node.kind)},
                       {"node", node.server},
                       {"chips", node.multiplicity},
                       {"computes", node.computes}});
  }
  nlohmann::ordered_json& links = json["links"] = nlohmann::ordered_json::array();
  for (const Link& link : fabric.links()) {
    const auto name_of = [&](NodeId id) {
      return fabric.nodes()[static_cast<std::size_t>(id)].name;
    };
    links.push_back({{"source", name_of(link.source)},
                     {"target", name_of(link.target)},
                     {"kind", to_string(link.kind)},
                     {"units", link.multiplicity},
                     {"unit_bandwidth_Bps", link.unit_bandwidth_Bps},
                     {"capacity_Bps", link.capacity_Bps()},
                     {"latency_s", link.latency_s}});
  }
  nlohmann::ordered_json& numbers = json["metrics"] = nlohmann::ordered_json::object();
  const auto same = [](const auto& value) { return value; };
  add_metric(numbers, "diameter", metrics.diameter, same);
  add_metric(numbers, "link_unit_Bps", metrics.link_unit_Bps, same);
  add_metric(numbers, "inverse_bisection", metrics.inverse_bisection,
             [](const Rational& value) { return text_of(value); });
  add_metric(numbers, "bisection_Bps", metrics.bisection_Bps, same);
  add_metric(numbers, "switch_hops", metrics.switch_hops, same);
  nlohmann::ordered_json& stated = json["facts"] = nlohmann::ordered_json::array();
  for (const FabricFact& fact : facts) {
    stated.push_back({{"fact", fact.fact}, {"source", fact.source}});
  }
  return json;
}

}  // namespace cclgym
