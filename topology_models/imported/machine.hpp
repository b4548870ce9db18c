// A node as its own tools describe it, and its translation into a fabric file. Internal to this
// layer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology_models/fabric.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

/// A device of the node; its name in the fabric file is made of its kind and its number.
struct MachineDevice {
  NodeKind kind = NodeKind::Gpu;
  int order = 0;           ///< place among the devices of its kind: rank of a GPU, number of a NIC
  std::string known_as{};  ///< name that the machine has for it ("mlx5_0"); may be empty
  int chips = 1;
  bool computes = false;
  double network_Bps = 0;  ///< rate of a NIC to the network
};

/// A link in both directions.
struct MachineLink {
  std::size_t from = 0;  ///< index into Machine::devices
  std::size_t to = 0;
  LinkKind kind = LinkKind::Pcie;
  double unit_Bps = 0;
  int units = 1;
  std::optional<double> latency_s{};  ///< without a value: that of the cost model
};

struct Machine {
  std::string source;     ///< "NCCL's topology system.xml"
  std::string gpu_model;  ///< empty: unknown
  HostCpu cpu = HostCpu::Intel;
  bool nics_behind_host_bridge = false;
  int relays = 0;  ///< Fabric::max_relays()
  std::vector<MachineDevice> devices;
  std::vector<MachineLink> links;
  std::vector<std::string> warnings;  ///< sentences about what was assumed

  std::size_t add(MachineDevice device) {
    devices.push_back(std::move(device));
    return devices.size() - 1;
  }
};

/// Text of a fabric file called `name` with `nodes` nodes like this one. The NICs of all nodes are
/// on one switch. Throws FabricOptionError if there are several nodes without NICs.
[[nodiscard]] std::string fabric_text(const Machine& machine, const std::string& name, int nodes);

/// The model of the GPUs, which are all of one kind, or the nearest model. Sets Machine::gpu_model,
/// and adds a warning if it may be another one. `pci_device`: their PCI device number; 0: unknown.
const GpuModel& choose_gpu_model(Machine& machine, const GpuKind& gpus, int pci_device = 0);

/// Reads the XML text that NCCL or RCCL writes to NCCL_TOPO_DUMP_FILE. Throws UserError at the
/// place of the mistake.
[[nodiscard]] Machine read_nccl_topology(std::string_view text, const std::string& file);

/// True if the text has a row of GPU 0 as `nvidia-smi topo -m` prints it.
[[nodiscard]] bool is_smi_topology(std::string_view text);
/// Reads the output of `nvidia-smi topo -m`, and that of `nvidia-smi nvlink -s` or `-L` if it is in
/// the same text. Throws UserError at the place of the mistake.
[[nodiscard]] Machine read_smi_topology(std::string_view text, const std::string& file);

}  // namespace cclgym
