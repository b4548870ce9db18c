#include "experiments/measured/fabric_differences.hpp"

#include <fmt/core.h>

#include "topology_models/gpu_models.hpp"

namespace cclgym {

std::vector<std::string> fabric_differences(const Measurement& row, const Fabric& fabric,
                                            std::optional<bool> crosses_nics) {
  std::vector<std::string> differences;
  if (!is_gpu(row.gpu, fabric.gpu_model())) {
    differences.push_back(fmt::format("the rows are of {}, but the fabric {} has {}", row.gpu,
                                      fabric.name(), fabric.gpu_model()));
  }
  if (row.nodes > 1 && row.network && *row.network != fabric.network()) {
    differences.push_back(
        fmt::format("the log names network {}, but {} is simulated on {}; name a fabric with that "
                    "network (cclgym list fabrics), or describe yours (key network)",
                    to_string(*row.network), fabric.name(), to_string(fabric.network())));
  }
  if (row.cross_nic && row.cross_nic != crosses_nics) {
    differences.push_back(fmt::format(
        "the run had NCCL_CROSS_NIC={}, which the simulation leaves out", *row.cross_nic ? 1 : 0));
  }
  return differences;
}

}  // namespace cclgym
