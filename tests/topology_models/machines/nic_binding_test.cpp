// Tests of the NICs that carry the traffic between nodes under each binding.
#include <map>
#include <set>

#include "topology_models/fabrics.hpp"

namespace cclgym {

namespace {

constexpr int kServers = 3;

FabricPtr bound(const std::string& name, NicBinding binding) {
  FabricSpec spec;
  spec.name = name;
  spec.servers = kServers;
  spec.nic_binding = binding;
  return make_fabric(spec);
}

// Numbers, within their nodes, of the NICs through which a route sends and receives.
std::pair<int, int> nics_of(const Fabric& fabric, int source, int target, int channel) {
  std::vector<int> nics;
  for (const LinkId id : fabric.route(source, target, channel)) {
    const Link& link = fabric.links()[static_cast<std::size_t>(id)];
    const Node& node = fabric.nodes()[static_cast<std::size_t>(link.target)];
    if (node.kind == NodeKind::Nic) {
      nics.push_back(std::stoi(node.name.substr(node.name.find("nic") + 3)));
    }
  }
  REQUIRE(nics.size() == 2);
  return {nics[0], nics[1]};
}

std::vector<std::string> fabrics_with_bindings() {
  std::vector<std::string> names;
  for (const FabricInfo& info : fabric_infos()) {
    for (const OptionSpec& option : info.options) {
      if (option.name == "nic_binding") names.push_back(info.name);
    }
  }
  return names;
}

int count_nics(const Fabric& fabric) {
  int nics = 0;
  for (const Node& node : fabric.nodes()) {
    nics += node.kind == NodeKind::Nic && node.server == 0 ? 1 : 0;
  }
  return nics;
}

}  // namespace

TEST_CASE("all bindings but single_nic: all NICs are used, by as many GPUs each",
          "[topology_models][nic-binding]") {
  CHECK(fabrics_with_bindings().size() == 38);
  for (const std::string& name : fabrics_with_bindings()) {
    for (const NicBinding binding :
         {NicBinding::PcieLocal, NicBinding::RoundRobin, NicBinding::TopologyAware}) {
      INFO(name << " " << to_string(binding));
      const FabricPtr fabric = bound(name, binding);
      const int gpus = fabric->ranks_per_server().value();
      for (int channel = 0; channel < 3; ++channel) {
        std::map<int, int> sent;
        std::map<int, int> received;
        for (int k = 0; k < gpus; ++k) {
          const auto [out, in] = nics_of(*fabric, k, 2 * gpus + k, channel);
          ++sent[out];
          ++received[in];
        }
        REQUIRE(static_cast<int>(sent.size()) == count_nics(*fabric));
        for (const auto& [nic, count] : sent) REQUIRE(count == gpus / count_nics(*fabric));
        REQUIRE(received == sent);
      }
    }
  }
}

TEST_CASE("bindings of frontier", "[topology_models][nic-binding]") {
  const FabricPtr local = bound("frontier", NicBinding::PcieLocal);
  const FabricPtr round = bound("frontier", NicBinding::RoundRobin);
  const FabricPtr aware = bound("frontier", NicBinding::TopologyAware);
  const FabricPtr single = bound("frontier", NicBinding::SingleNic);
  for (int a = 0; a < 8; ++a) {
    for (int b = 8; b < 24; ++b) {
      for (int channel = 0; channel < 4; ++channel) {
        // Both dies of a package share its NIC.
        REQUIRE(nics_of(*local, a, b, channel) == std::pair(a / 2, b % 8 / 2));
        REQUIRE(nics_of(*aware, a, b, channel) == std::pair(a / 2, b % 8 / 2));
        REQUIRE(nics_of(*round, a, b, channel) == std::pair(a % 4, b % 4));
        REQUIRE(nics_of(*single, a, b, channel) == std::pair(3, 0));
      }
    }
  }
}

TEST_CASE("single_nic: one NIC sends, another receives, in every machine",
          "[topology_models][nic-binding]") {
  for (const std::string& name : fabrics_with_bindings()) {
    INFO(name);
    const FabricPtr fabric = bound(name, NicBinding::SingleNic);
    const int gpus = fabric->ranks_per_server().value();
    const int last = count_nics(*fabric) - 1;
    for (int a = 0; a < gpus; ++a) {
      for (int b = gpus; b < 2 * gpus; ++b) {
        REQUIRE(nics_of(*fabric, a, b, a) == std::pair(last, 0));
      }
    }
  }
}

TEST_CASE("the binding changes nothing inside a server", "[topology_models][nic-binding]") {
  for (const std::string& name : fabrics_with_bindings()) {
    INFO(name);
    const FabricPtr local = bound(name, NicBinding::PcieLocal);
    // Links with equal ids may differ, so compare the vertices on the routes.
    const auto names = [](const Fabric& fabric, int a, int b) {
      std::vector<std::string> result;
      for (const LinkId id : fabric.route(a, b, 0)) {
        const Link& link = fabric.links()[static_cast<std::size_t>(id)];
        result.push_back(fabric.nodes()[static_cast<std::size_t>(link.target)].name);
      }
      return result;
    };
    for (const NicBinding binding : {NicBinding::RoundRobin, NicBinding::SingleNic}) {
      const FabricPtr other = bound(name, binding);
      const int gpus = local->ranks_per_server().value();
      for (int a = 0; a < gpus; ++a) {
        for (int b = 0; b < gpus; ++b) {
          if (a != b) REQUIRE(names(*local, a, b) == names(*other, a, b));
        }
      }
    }
  }
}

TEST_CASE("a fabric bound anew has the routes of the fabric built so, and its own links",
          "[topology_models][nic-binding]") {
  const auto names = [](const Fabric& fabric, int a, int b, int channel) {
    std::vector<std::string> result;
    for (const LinkId id : fabric.route(a, b, channel)) {
      const Link& link = fabric.links()[static_cast<std::size_t>(id)];
      result.push_back(fabric.nodes()[static_cast<std::size_t>(link.target)].name);
      result.push_back(std::to_string(link.capacity_Bps()));
    }
    return result;
  };
  const auto routes = [&](const Fabric& fabric, int a, int b) {
    std::multiset<std::vector<std::string>> result;
    for (int channel = 0; channel < 4; ++channel) result.insert(names(fabric, a, b, channel));
    return result;
  };
  const std::vector<NicBinding> all{NicBinding::PcieLocal, NicBinding::RoundRobin,
                                    NicBinding::TopologyAware, NicBinding::SingleNic};
  for (const std::string& name : fabrics_with_bindings()) {
    for (const NicBinding from : {NicBinding::PcieLocal, NicBinding::SingleNic}) {
      const FabricPtr given = bound(name, from);
      REQUIRE(given->bindable());
      for (const NicBinding to : all) {
        INFO(name << " " << to_string(from) << " " << to_string(to));
        const FabricPtr other = given->bound(to);
        const FabricPtr built = bound(name, to);
        REQUIRE(other->name() == given->name());
        REQUIRE(other->links().size() >= given->links().size());
        for (std::size_t id = 0; id < given->links().size(); ++id) {
          REQUIRE(other->links()[id].source == given->links()[id].source);
          REQUIRE(other->links()[id].target == given->links()[id].target);
        }
        const int gpus = given->ranks_per_server().value();
        for (int a = 0; a < gpus; ++a) {
          for (int b = 0; b < 2 * gpus; ++b) {
            // Equally good routes may be taken in another order.
            REQUIRE(routes(*other, a, b) == routes(*built, a, b));
          }
        }
      }
    }
  }
}

TEST_CASE("a fabric without NICs cannot be bound", "[topology_models][nic-binding]") {
  const FabricPtr fabric = make_fabric({.name = "dgx1"});
  CHECK_FALSE(fabric->bindable());
  CHECK_THROWS_AS(fabric->bound(NicBinding::RoundRobin), UserError);
  // One node of a cluster has NICs, although it does not use them.
  const FabricPtr node = make_fabric({.name = "frontier"})->bound(NicBinding::SingleNic);
  CHECK(node->route(0, 7, 0) == make_fabric({.name = "frontier"})->route(0, 7, 0));
}

TEST_CASE("topology_aware: GPUs spread over the NICs that are equally near",
          "[topology_models][nic-binding]") {
  // Each GPU of these nodes has several NICs near it.
  for (const std::string& name : fabrics_with_bindings()) {
    INFO(name);
    const FabricPtr fabric = bound(name, NicBinding::TopologyAware);
    const int gpus = fabric->ranks_per_server().value();
    std::map<int, std::set<int>> nics;
    for (int a = 0; a < gpus; ++a) {
      for (int channel = 0; channel < 4; ++channel) {
        nics[a].insert(nics_of(*fabric, a, gpus + a, channel).first);
      }
    }
    if (count_nics(*fabric) <= gpus) continue;
    for (const auto& [gpu, own] : nics) CHECK(own.size() == 1);
  }
}

}  // namespace cclgym
