#include "calibration/cuda/cuda_build.hpp"

#include <fmt/core.h>

namespace cclgym {

const CudaBuild& cuda_build_info() {
  static const CudaBuild info{.built = CCLGYM_HAS_CUDA != 0,
                              .toolkit = CCLGYM_CUDA_TOOLKIT,
                              .nccl_header = CCLGYM_NCCL_HEADER,
                              .nccl_library = CCLGYM_NCCL_PATH,
                              .missing = CCLGYM_CUDA_MISSING};
  return info;
}

std::string cuda_build_text() {
  const CudaBuild& info = cuda_build_info();
  if (!info.built) return "without CUDA";
  return fmt::format("CUDA {}, NCCL {}", info.toolkit, info.nccl_header);
}

std::string cuda_missing_message(std::string_view backend) {
  return fmt::format(
      "calibrate {}: this build is without CUDA; missing: {}. Install the CUDA toolkit (12 or "
      "newer) "
      "and NCCL's headers (libnccl-dev), then configure and build again (scripts/build)",
      backend, cuda_build_info().missing);
}

}  // namespace cclgym
