// CUDA and NCCL support of this build (cmake/cuda.cmake).
#pragma once

#include <string>
#include <string_view>

namespace cclgym {

struct CudaBuild {
  bool built = false;  ///< true if the workers of the backends cuda and nccl are part of this build
  std::string toolkit;       ///< release of the CUDA toolkit, "13.0.88"; empty if not built
  std::string nccl_header;   ///< release of the nccl.h used for compilation, "2.28.9"
  std::string nccl_library;  ///< libnccl found by CMake, the default; may be empty
  std::string missing;       ///< parts that CMake did not find; empty if built
};

[[nodiscard]] const CudaBuild& cuda_build_info();

/// Text for `cclgym --version`: "CUDA 13.0.88, NCCL 2.28.9" or "without CUDA".
[[nodiscard]] std::string cuda_build_text();

/// Message for a backend of a build without CUDA: "calibrate cuda: this build is without CUDA;
/// missing: …; install … and build again".
[[nodiscard]] std::string cuda_missing_message(std::string_view backend);

}  // namespace cclgym
