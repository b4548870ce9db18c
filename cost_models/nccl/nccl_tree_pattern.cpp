#include "cost_models/nccl/nccl_tree_pattern.hpp"

#include "topology_models/gpu_models.hpp"
#include "topology_models/metrics/nics.hpp"

namespace cclgym {

namespace {

constexpr int kAmpere = 80;
constexpr int kHopper = 90;

int compute_capability(const Fabric& fabric) {
  const GpuModel* gpu = find_gpu_model(fabric.gpu_model());
  return gpu == nullptr ? 0 : gpu->compute_capability;
}

}  // namespace

TreePattern tree_pattern(const Fabric& fabric, const NcclVersion& version) {
  const int each = fabric.ranks_per_server().value_or(0);
  if (each == 1) return TreePattern::Head;
  const int gpu = compute_capability(fabric);
  if (gpu == 0 || each == 0 || fabric.servers() < 2) return TreePattern::Balanced;
  if (version < NcclVersion{2, 10, 0}) {
    if (fabric.servers() == 2) return TreePattern::Head;
    return gpu < kAmpere ? TreePattern::Split : TreePattern::Balanced;
  }
  if (gpu < kHopper) return TreePattern::Balanced;
  const bool shared = nic_towards(fabric, 0, each, 0) == nic_towards(fabric, 1, each + 1, 0);
  return shared ? TreePattern::Balanced : TreePattern::Head;
}

std::vector<std::vector<int>> tree_orders(const Fabric& fabric) {
  const auto& orders = fabric.host().tree_orders;
  if (orders.empty() || fabric.servers() < 2) return {};
  // Without some of its GPUs, a node has other orders, which are not known.
  return fabric.ranks_per_server() == std::ssize(orders[0]) ? orders
                                                            : std::vector<std::vector<int>>{};
}

std::array<int, 2> child_places(TreePattern pattern) {
  switch (pattern) {
    case TreePattern::Head:
      return {0, 0};
    case TreePattern::Balanced:
      return {1, 0};
    case TreePattern::Split:
      return {1, 1};
  }
  return {1, 0};
}

TreePattern tree_pattern(const Fabric& fabric) {
  const bool old = compute_capability(fabric) < kAmpere;
  return tree_pattern(fabric, old ? NcclVersion{2, 8, 4} : NcclVersion{2, 18, 3});
}

}  // namespace cclgym
