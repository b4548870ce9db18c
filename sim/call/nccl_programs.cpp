#include "sim/call/nccl_programs.hpp"

#include <cstddef>

namespace cclgym {

std::string_view program_of(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::Tree:
      return "tree";
    case NcclAlgorithm::Ring:
      return "ring";
    case NcclAlgorithm::Pat:
      return "pat";
    case NcclAlgorithm::Nvls:
      return "nvls";
    case NcclAlgorithm::NvlsTree:
      return "nvls-tree";
    case NcclAlgorithm::CollNetDirect:
      return "collnet-direct";
    case NcclAlgorithm::CollNetChain:
      return "collnet-chain";
  }
  return {};
}

std::optional<NcclAlgorithm> nccl_algorithm(std::string_view program) {
  for (std::size_t a = 0; a < kNcclAlgorithms && !program.empty(); ++a) {
    const auto algorithm = static_cast<NcclAlgorithm>(a);
    if (program_of(algorithm) == program) return algorithm;
  }
  return std::nullopt;
}

}  // namespace cclgym
