#include "synthesis/teccl/published_topologies.hpp"

#include <array>
#include <fmt/format.h>
#include <numeric>

#include "core/error.hpp"
#include "core/index.hpp"
#include "topology_models/servers/hybrid_cube_mesh.hpp"

namespace cclgym::synthesis {

std::vector<int> SwitchedInstance::gpu_ranks() const {
  std::vector<int> ranks(at(gpus));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

InstanceGroup largest_gpu_group(const SwitchedInstance& fabric) {
  const ColouredDigraph graph = coloured_digraph(fabric.instance);
  for (const PermutationGroup& group : semiregular_groups(graph, fabric.gpus)) {
    InstanceGroup elements;
    bool keeps_gpus = true;
    for (const Permutation& element : group.elements) {
      elements.push_back(instance_symmetry(fabric.instance, element));
      for (int gpu = 0; gpu < fabric.gpus; ++gpu) {
        if (elements.back().ranks[at(gpu)] >= fabric.gpus) keeps_gpus = false;
      }
    }
    if (keeps_gpus) return elements;
  }
  return {};
}

namespace {

// Links of 50 GB/s between the dies of a node of MI250X.
constexpr std::array<GpuPair, 28> kAmdMesh{
    {{0, 1, 4},   {0, 4, 2},   {0, 8, 1},   {1, 5, 1},   {1, 9, 1},   {1, 10, 1},  {2, 3, 4},
     {2, 6, 1},   {2, 9, 1},   {2, 10, 1},  {3, 7, 2},   {3, 11, 1},  {4, 5, 4},   {4, 6, 1},
     {5, 6, 1},   {5, 7, 1},   {6, 7, 4},   {8, 9, 4},   {8, 12, 2},  {9, 13, 1},  {10, 11, 4},
     {10, 14, 1}, {11, 15, 2}, {12, 13, 4}, {12, 14, 1}, {13, 14, 1}, {13, 15, 1}, {14, 15, 4}}};

// A connection of a rank to a switch, in one direction. Ports of GPUs that share a NIC share its
// limit.
struct Port {
  int rank;
  int limit;
};

class InstanceBuilder {
 public:
  InstanceBuilder(std::string name, int gpus, double unit_Bps) {
    result_.instance.name = std::move(name);
    result_.instance.ranks = gpus;
    result_.instance.unit_Bps = unit_Bps;
    result_.gpus = gpus;
  }

  int limit(std::string name, std::int64_t units) {
    result_.instance.limits.push_back({.name = std::move(name), .units = units});
    return static_cast<int>(result_.instance.limits.size()) - 1;
  }
  void link(int source, int target, std::int64_t units, double latency_s) {
    const int id = limit(fmt::format("{} -> {}", source, target), units);
    result_.instance.add_hop(
        {.source = source, .target = target, .limits = {id}, .latency_s = latency_s});
  }
  void duplex(int one, int other, std::int64_t units, double latency_s) {
    link(one, other, units, latency_s);
    link(other, one, units, latency_s);
  }
  // A switch with ports into it and out of it, each with a latency. A message does not turn back to
  // the chassis that it came from if `turns_back` is false.
  void join(const std::vector<Port>& in, const std::vector<Port>& out, double latency_s,
            SwitchModel model, int ranks_per_chassis, bool turns_back) {
    Instance& instance = result_.instance;
    if (model == SwitchModel::Copying) {
      const int hub = instance.ranks++;
      result_.switches.resize(at(instance.ranks), 0);
      result_.switches[at(hub)] = 1;
      for (const Port& port : in) {
        instance.add_hop(
            {.source = port.rank, .target = hub, .limits = {port.limit}, .latency_s = latency_s});
      }
      for (const Port& port : out) {
        instance.add_hop(
            {.source = hub, .target = port.rank, .limits = {port.limit}, .latency_s = latency_s});
      }
      return;
    }
    for (const Port& from : in) {
      for (const Port& to : out) {
        if (from.rank == to.rank) continue;
        if (!turns_back && from.rank / ranks_per_chassis == to.rank / ranks_per_chassis) continue;
        instance.add_hop(
            {.source = from.rank,
             .target = to.rank,
             .limits = {std::min(from.limit, to.limit), std::max(from.limit, to.limit)},
             .latency_s = 2 * latency_s});
      }
    }
  }
  // A port each way for a rank.
  void add_ports(int rank, std::int64_t units, std::vector<Port>& in, std::vector<Port>& out) {
    in.push_back({rank, limit(fmt::format("{} -> switch", rank), units)});
    out.push_back({rank, limit(fmt::format("switch -> {}", rank), units)});
  }

  SwitchedInstance take() { return std::move(result_); }

 private:
  SwitchedInstance result_{};
};

void check_chassis(int chassis) {
  if (chassis < 1) throw UserError(fmt::format("{} chassis; expected at least 1", chassis));
}

constexpr double kNetworkUnit = 12.5e9;

SwitchedInstance ring_chassis(const std::string& name, int chassis, int gpus, SwitchModel model) {
  check_chassis(chassis);
  constexpr double kGpuLatency = 0.6e-6;
  constexpr double kSwitchLatency = 0.75e-6;
  InstanceBuilder builder(fmt::format("{} x{}", name, chassis), gpus * chassis, kNetworkUnit);
  std::vector<Port> in;
  std::vector<Port> out;
  for (int first = 0; first < gpus * chassis; first += gpus) {
    for (int gpu = 0; gpu < (gpus == 2 ? 1 : gpus); ++gpu) {
      builder.duplex(first + gpu, first + (gpu + 1) % gpus, 4, kGpuLatency);
    }
  }
  for (int rank = 0; rank < gpus * chassis; ++rank) builder.add_ports(rank, 1, in, out);
  if (chassis > 1) builder.join(in, out, kSwitchLatency, model, gpus, true);
  return builder.take();
}

}  // namespace

Instance teccl_dgx1(double latency_s) {
  InstanceBuilder builder("dgx1", 8, 25e9);
  for (const GpuPair& pair : hybrid_cube_mesh()) {
    builder.duplex(pair.a, pair.b, pair.units, latency_s);
  }
  return builder.take().instance;
}

SwitchedInstance teccl_ndv2(int chassis, SwitchModel model) {
  check_chassis(chassis);
  constexpr int kGpus = 8;
  constexpr double kGpuLatency = 0.7e-6;
  constexpr double kNetworkLatency = 1.3e-6;
  InstanceBuilder builder(fmt::format("ndv2 x{}", chassis), kGpus * chassis, kNetworkUnit);
  for (int first = 0; first < kGpus * chassis; first += kGpus) {
    for (const GpuPair& pair : hybrid_cube_mesh()) {
      builder.duplex(first + pair.a, first + pair.b, 2 * pair.units, kGpuLatency);
    }
  }
  if (chassis == 2) {
    builder.link(0, kGpus + 1, 1, kNetworkLatency);
    builder.link(kGpus, 1, 1, kNetworkLatency);
  } else if (chassis > 2) {
    std::vector<Port> in;
    std::vector<Port> out;
    for (int first = 0; first < kGpus * chassis; first += kGpus) {
      in.push_back({first, builder.limit(fmt::format("{} -> switch", first), 1)});
      out.push_back({first + 1, builder.limit(fmt::format("switch -> {}", first + 1), 1)});
    }
    builder.join(in, out, kNetworkLatency, model, kGpus, false);
  }
  return builder.take();
}

SwitchedInstance teccl_dgx2(SwitchModel model) {
  constexpr int kGpus = 16;
  constexpr int kChassis = 2;
  constexpr double kSwitchLatency = 0.35e-6;
  constexpr double kNetworkLatency = 2.6e-6;
  InstanceBuilder builder("dgx2 x2", kGpus * kChassis, kNetworkUnit);
  for (int first = 0; first < kGpus * kChassis; first += kGpus) {
    std::vector<Port> in;
    std::vector<Port> out;
    for (int gpu = 0; gpu < kGpus; ++gpu) builder.add_ports(first + gpu, 10, in, out);
    builder.join(in, out, kSwitchLatency, model, kGpus, true);
  }
  for (int odd = 1; odd < kGpus; odd += 2) {
    builder.link(odd, kGpus + odd - 1, 1, kNetworkLatency);
    builder.link(kGpus + odd, odd - 1, 1, kNetworkLatency);
  }
  return builder.take();
}

SwitchedInstance teccl_amd(int chassis, double latency_s, double network_latency_s) {
  check_chassis(chassis);
  constexpr int kGpus = 16;
  InstanceBuilder builder(fmt::format("amd x{}", chassis), kGpus * chassis, 25e9);
  for (int first = 0; first < kGpus * chassis; first += kGpus) {
    for (const GpuPair& pair : kAmdMesh) {
      builder.duplex(first + pair.a, first + pair.b, 2 * pair.units, latency_s);
    }
  }
  if (chassis > 1) {
    std::vector<Port> in;
    std::vector<Port> out;
    for (int rank = 0; rank < kGpus * chassis; rank += 2) {
      builder.add_ports(rank, 1, in, out);
      in.push_back({rank + 1, in.back().limit});
      out.push_back({rank + 1, out.back().limit});
    }
    builder.join(in, out, network_latency_s, SwitchModel::HyperEdge, kGpus, false);
  }
  return builder.take();
}

SwitchedInstance teccl_internal1(int chassis, SwitchModel model) {
  return ring_chassis("internal1-like", chassis, 4, model);
}

SwitchedInstance teccl_internal2(int chassis, SwitchModel model) {
  return ring_chassis("internal2-like", chassis, 2, model);
}

}  // namespace cclgym::synthesis
