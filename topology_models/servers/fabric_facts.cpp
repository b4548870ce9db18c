// Facts that several shipped fabrics share.
#include <string>

#include "topology_models/servers/builders.hpp"

namespace cclgym {

FabricFact nvlink_fact(int generation) {
  switch (generation) {
    case 2:
      return {"an NVLink2 unit carries 25 GB/s per direction", "NVIDIA V100 white paper"};
    case 3:
      return {"an NVLink3 unit carries 25 GB/s per direction", "NVIDIA A100 white paper"};
    case 5:
      return {"an NVLink5 unit carries 50 GB/s per direction",
              "NVIDIA Blackwell architecture brief"};
    default:
      return {"an NVLink4 unit carries 25 GB/s per direction", "NVIDIA H100 white paper"};
  }
}

FabricFact infiniband_latency_fact() {
  return {"1.3 us from GPU memory to the network switch, PCIe included", "TE-CCL (alpha of NDv2)"};
}

FabricFact pcie_fact(int generation) {
  const char* rate = generation == 3 ? "12" : generation == 4 ? "24" : "48";
  return {std::string(rate) + " GB/s per direction over 16 lanes of PCIe Gen" +
              std::to_string(generation),
          "NCCL (graph/topo.h: what is left after packet headers and flow control)"};
}

}  // namespace cclgym
