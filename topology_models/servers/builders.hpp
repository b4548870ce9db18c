// What the shipped fabrics have in common. Internal to this layer.
#pragma once

#include <memory>
#include <string>

#include "topology_models/fabric.hpp"
#include "topology_models/fabric_spec.hpp"

namespace cclgym {

/// Every option of FabricSpec with its value: given, or the fabric's default, or the neutral value
/// (1 server, 0) where the fabric does not have the option.
struct FabricParameters {
  int servers = 1;
  int gpus = 0;
  double bandwidth_Bps = 0;
  double latency_s = 0;
  bool latency_stated = false;  ///< the latency was given
  int gpus_per_server = 0;
  NicBinding nic_binding = NicBinding::PcieLocal;
  double oversubscription = 1;
  int servers_per_leaf = 1;
  int groups = 0;
  Routing routing = Routing::Minimal;
  bool nvls = false;
  bool sharp = false;
};

/// A shipped fabric: what it is, and how to build it from parameters that are in range.
struct FabricModel {
  FabricInfo info;
  std::shared_ptr<const Fabric> (*build)(const FabricParameters&);
};

// Records of the options; a model fills in its own default and bounds.
[[nodiscard]] OptionSpec servers_option(double max);
[[nodiscard]] OptionSpec gpus_option(double min, double max);
[[nodiscard]] OptionSpec bandwidth_option(std::string default_text);
[[nodiscard]] OptionSpec latency_option(std::string default_text);
[[nodiscard]] OptionSpec gpus_per_server_option(int gpus);
[[nodiscard]] OptionSpec nic_binding_option();
[[nodiscard]] OptionSpec oversubscription_option(std::string default_text);
[[nodiscard]] OptionSpec servers_per_leaf_option(int servers);
[[nodiscard]] OptionSpec groups_option(int groups);
[[nodiscard]] OptionSpec routing_option();
[[nodiscard]] OptionSpec nvls_option();
[[nodiscard]] OptionSpec sharp_option();

// Facts that several fabrics share.
[[nodiscard]] FabricFact nvlink_fact(int generation);  ///< 2, 3 or 4: its unit
[[nodiscard]] FabricFact infiniband_latency_fact();
[[nodiscard]] FabricFact pcie_fact(int generation);  ///< 3, 4 or 5, of 16 lanes

}  // namespace cclgym
