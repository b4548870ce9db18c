// Whether this build can measure with CUDA and NCCL (cmake/cuda.cmake).
#pragma once

#include <string>
#include <string_view>

namespace cclgym {

struct CudaBuild {
  bool built = false;       ///< are the workers of the backends cuda and nccl part of this build?
  std::string toolkit;      ///< release of the CUDA toolkit, "13.0.88"; empty if not built
  std::string nccl_header;  ///< release of the nccl.h that was compiled against, "2.28.9"
  std::string
      nccl_library;     ///< libnccl found by CMake, opened unless another is named; may be empty
  std::string missing;  ///< what CMake did not find; empty if built
};

[[nodiscard]] const CudaBuild& cuda_build_info();

/// "CUDA 13.0.88, NCCL 2.28.9" or "without CUDA": for `cclgym --version`.
[[nodiscard]] std::string cuda_build_text();

/// "calibrate cuda: this build is without CUDA; missing: …; install … and build again", for a
/// backend that was asked for in a build without CUDA.
[[nodiscard]] std::string cuda_missing_message(std::string_view backend);

}  // namespace cclgym
