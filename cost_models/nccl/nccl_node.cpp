#include "cost_models/nccl/nccl_node.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "topology_models/metrics/nics.hpp"

namespace cclgym {

namespace {

// Number of NVLinks in a link of the fabric. A bundle given as one link has the bundle's bandwidth;
// an NVLink has 25 GB/s in every generation up to 4, and 50 GB/s in the 5th.
int nvlinks_of(const Link& link, int compute_capability) {
  const double nvlink_Bps = compute_capability >= 100 ? 50e9 : 25e9;
  if (link.multiplicity > 1 || link.unit_bandwidth_Bps < 1.5 * nvlink_Bps) return link.multiplicity;
  return static_cast<int>(std::lround(link.unit_bandwidth_Bps / nvlink_Bps));
}

// NICs by which the GPUs of the first node send to the second, on any channel.
std::set<NodeId> near_nics(const Fabric& fabric, int gpus) {
  constexpr int kChannels = 8;  // more than a GPU has NICs
  std::set<NodeId> nics;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    for (int channel = 0; channel < kChannels; ++channel) {
      if (const auto nic = nic_towards(fabric, gpu, gpus + gpu, channel)) nics.insert(*nic);
    }
  }
  return nics;
}

// NCCL's figure for the link between two CPUs of a node (src/graph/topo.h; Intel's since Skylake).
double between_cpus_GBps(HostCpu cpu) {
  switch (cpu) {
    case HostCpu::Amd:
      return 16;
    case HostCpu::Arm:
      return 6;
    case HostCpu::Intel:
      break;
  }
  return 10;
}

}  // namespace

double nvlink_GBps(const NcclVersion& version, int compute_capability) {
  if (family(version) == NcclFamily::V2_8) return 21;
  if (compute_capability >= 100 && version >= NcclVersion{2, 25, 0}) {
    return version < NcclVersion{2, 27, 5} ? 40.0 : 40.1;
  }
  if (compute_capability >= 90) return version < NcclVersion{2, 21, 0} ? 20.0 : 20.6;
  return 20;
}

NcclNode nccl_node(const Fabric& fabric, int compute_capability) {
  NcclNode node;
  const auto nodes = fabric.nodes();
  const NodeId gpu = fabric.gpu(0);
  const int here = nodes[static_cast<std::size_t>(gpu)].server;
  std::vector<double> nic_out(nodes.size(), 0);
  std::vector<double> nic_in(nodes.size(), 0);
  int to_switches = 0;
  for (const Link& link : fabric.links()) {
    const Node& source = nodes[static_cast<std::size_t>(link.source)];
    const Node& target = nodes[static_cast<std::size_t>(link.target)];
    if (link.source == gpu && link.kind == LinkKind::NvLink) {
      const int nvlinks = nvlinks_of(link, compute_capability);
      if (target.kind == NodeKind::NvSwitch) {
        to_switches += nvlinks;
        node.nvls = target.computes;
      } else {
        node.nvlinks.push_back(nvlinks);
      }
    }
    if (link.source == gpu && link.kind == LinkKind::Pcie) {
      node.pcie_GBps = link.capacity_Bps() / 1e9;
    }
    if (source.kind == NodeKind::Nic && source.server == here && target.kind != NodeKind::Gpu &&
        link.kind == LinkKind::Network) {
      nic_out[static_cast<std::size_t>(link.source)] += link.capacity_Bps() / 1e9;
    }
    if (target.kind == NodeKind::Nic && target.server == here && link.kind == LinkKind::Pcie) {
      double& in = nic_in[static_cast<std::size_t>(link.target)];
      in = std::max(in, link.capacity_Bps() / 1e9);
      if (source.kind == NodeKind::PcieSwitch) node.nics_at_switches = true;
    }
  }
  // A communicator of fewer GPUs than the node has NICs crosses the network at the NICs near its
  // GPUs.
  const int gpus = fabric.ranks_per_server().value_or(0);
  const auto nics =
      std::count_if(nic_out.begin(), nic_out.end(), [](double out) { return out > 0; });
  if (fabric.servers() > 1 && gpus < nics) {
    const std::set<NodeId> near = near_nics(fabric, gpus);
    for (std::size_t id = 0; id < nodes.size(); ++id) {
      if (!near.contains(static_cast<NodeId>(id))) nic_out[id] = 0;
    }
  }
  node.nvswitch = to_switches > 0;
  if (node.nvswitch) node.nvlinks.push_back(to_switches);
  for (std::size_t id = 0; id < nodes.size(); ++id) {
    if (nic_out[id] <= 0) continue;
    node.nics_GBps.push_back(nic_in[id] > 0 ? std::min(nic_out[id], nic_in[id]) : nic_out[id]);
  }
  const bool own_nics = !node.nics_at_switches && static_cast<int>(node.nics_GBps.size()) == gpus;
  if (fabric.servers() > 1 && !fabric.host().crosses_nics && own_nics) {
    node.cpu_pairs = gpus * (gpus - 1);
    node.cpu_pair_GBps = between_cpus_GBps(fabric.host().cpu);
  }
  return node;
}

}  // namespace cclgym
