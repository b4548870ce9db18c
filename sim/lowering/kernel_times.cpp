#include "sim/lowering/kernel_times.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "sim/lowering/network_use.hpp"

namespace cclgym {

std::vector<KernelTime> kernel_times(const LoweredProgram& lowered, const Fabric& fabric,
                                     std::span<const double> end_s, double time_s) {
  std::set<std::pair<int, int>> gated;
  for (const KernelGate& gate : lowered.outline->gates) gated.insert({gate.rank, gate.kernel});
  std::vector<KernelTime> kernels(static_cast<std::size_t>(lowered.kernels));
  for (std::size_t i = 0; i < lowered.rank_last.size(); ++i) {
    const NodeOrigin& origin = lowered.origins[static_cast<std::size_t>(lowered.rank_last[i])];
    if (origin.thread_block >= 0) continue;
    // A rank that waits for another's turn is part of the kernel that has begun elsewhere.
    if (gated.contains({origin.rank, origin.step})) continue;
    double& start_s = kernels[static_cast<std::size_t>(origin.step)].start_s;
    start_s = std::max(start_s, end_s[i]);
  }
  const NetworkUse use = network_use(*lowered.outline, fabric);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    kernels[k].across_nodes = use.crosses[k] != 0;
    const double end_of_kernel_s = k + 1 < kernels.size() ? kernels[k + 1].start_s : time_s;
    kernels[k].time_s = end_of_kernel_s - kernels[k].start_s;
  }
  return kernels;
}

}  // namespace cclgym
