// Which fabric is meant: its name and options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Which NICs the GPUs of a server use.
enum class NicBinding : std::uint8_t {
  PcieLocal,   ///< those nearest to them in the machine
  RoundRobin,  ///< GPU k of a server with n NICs uses NIC k mod n
  SingleNic,   ///< all GPUs send by the last NIC and receive by the first: a fault of Cray MPICH
};

[[nodiscard]] std::string_view to_string(NicBinding binding);

/// Which fabric, and how it differs from its defaults. An option that is not given takes the
/// default of its fabric; one that its fabric does not have is an error.
struct FabricSpec {
  std::string name{};            ///< a shipped fabric, or a path that ends in ".yaml" or ".yml"
  std::optional<int> servers{};  ///< every fabric takes 1
  std::optional<int> gpus{};
  std::optional<double> bandwidth_Bps{};  ///< of one link unit, one direction, B/s
  std::optional<double> latency_s{};      ///< of one traversal of a link, s
  std::optional<int> gpus_per_server{};   ///< GPUs of each server that are there
  std::optional<NicBinding> nic_binding{};
  std::optional<double> oversubscription{};  ///< of a fat tree's leaf switches, >= 1
  std::optional<int> servers_per_leaf{};     ///< of a fat tree
  std::optional<int> groups{};       ///< of a dragonfly, over which the servers are spread; 0: few
  std::optional<Routing> routing{};  ///< of a dragonfly
  std::optional<bool> nvls{};        ///< do NVSwitches copy and add?
  std::optional<bool> sharp{};       ///< do network switches?
};

/// A number or an arrangement that a shipped fabric is built from, and who published it.
struct FabricFact {
  std::string fact;
  std::string source;  ///< publication, or why this was chosen where nobody published it
};

/// A shipped fabric, for `list` and `describe`.
struct FabricInfo {
  std::string name;
  std::string description;          ///< one line
  std::vector<OptionSpec> options;  ///< those of FabricSpec that it has, with their defaults
  std::vector<FabricFact> facts{};
};

}  // namespace cclgym
