// Cloud nodes with GPUs and one Ethernet port each, on which NCCL communicates over TCP sockets.
#include <fmt/format.h>
#include <memory>
#include <string>

#include "topology_models/machines/machines.hpp"
#include "topology_models/servers/server_design.hpp"

namespace cclgym {

namespace {

constexpr double kNvLink_Bps = 25e9;            // NVLink3
constexpr double kNvSwitchLatency_s = 0.35e-6;  // TE-CCL, alpha of DGX-2

// The option bandwidth is that of the port, and the option latency that of its link.
std::shared_ptr<const Fabric> build_cloud(const std::string& name, ServerDesign design,
                                          const FabricParameters& parameters) {
  FabricBuilder builder(name);
  builder.set_gpu_model(design.gpu_model);
  builder.set_network(NetworkKind::Tcp);
  const NodeId network =
      builder.add_node({.name = "network", .kind = NodeKind::NetworkSwitch, .server = -1});
  FabricParameters inside = parameters;
  inside.bandwidth_Bps = kNvLink_Bps;
  inside.latency_s = kNvSwitchLatency_s;
  inside.latency_stated = false;
  if (design.gpus == 1) inside.gpus_per_server = 1;  // without the option gpus_per_node
  design.nic_Bps = parameters.bandwidth_Bps;
  for (int server = 0; server < parameters.servers; ++server) {
    const std::string prefix = parameters.servers > 1 ? fmt::format("server{}/", server) : "";
    for (const NodeId nic : add_server(builder, design, inside, server, prefix)) {
      link_port(builder, nic, network, parameters);
    }
  }
  return builder.build();
}

std::shared_ptr<const Fabric> build_aws_g5(const FabricParameters& parameters) {
  return build_cloud(
      "aws-g5",
      {.gpu_model = "A10G", .gpus = 1, .nics = 1, .gpus_a_pcie_switch = 1, .pcie_Bps = 24e9},
      parameters);
}

std::shared_ptr<const Fabric> build_a100_tcp(const FabricParameters& parameters) {
  return build_cloud("a100-tcp",
                     {.gpu_model = "A100",
                      .gpus = 8,
                      .boards = 1,
                      .nvswitches_a_board = 6,
                      .nvlinks_a_gpu = 12,
                      .nics = 1,
                      .gpus_a_pcie_switch = 8,
                      .pcie_Bps = 24e9},
                     parameters);
}

OptionSpec port_bandwidth() {
  return fabric_option(
      "bandwidth",
      {.default_text = "10 Gb/s", .description = "bandwidth of a node's port, in one direction"});
}

OptionSpec port_latency() {
  return fabric_option("latency", {.default_text = "12.5us",
                                   .description = "latency between a node and the switch: half of "
                                                  "the latency between nodes"});
}

constexpr double kMostNodes = 1024;
const FabricFact kLatencyFact{"25 us from node to node", "a choice; measure yours"};

}  // namespace

FabricModel aws_g5_model() {
  return {{.name = "aws-g5",
           .description = "AWS g5.xlarge: nodes of one A10G, one port of 10 Gb/s, NCCL over TCP",
           .options = {fabric_option("nodes", {.max = kMostNodes, .default_text = "4"}),
                       port_bandwidth(), port_latency()},
           .facts = {{"one A10G, and up to 10 Gb/s of network", "AWS, Amazon EC2 G5 instances"},
                     pcie_fact(4),
                     kLatencyFact}},
          build_aws_g5};
}

FabricModel a100_tcp_model() {
  return {{.name = "a100-tcp",
           .description = "cloud nodes of 8 A100 on NVSwitch, one Ethernet port, NCCL over TCP",
           .options = {fabric_option("nodes", {.max = kMostNodes}),
                       fabric_option("gpus_per_node", {.max = 8, .default_text = "8"}),
                       port_bandwidth(), port_latency()},
           .facts = {nvlink_fact(3),
                     {"8 A100 (SXM4, 12 NVLinks each to 6 NVSwitches)", "as in NDv4"},
                     {"one port of 10 Gb/s for all GPUs of a node", "a choice; measure yours"},
                     pcie_fact(4),
                     kLatencyFact}},
          build_a100_tcp};
}

}  // namespace cclgym
