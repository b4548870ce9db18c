// Requirements of some tests that not every computer or build meets, and how to meet them: reasons
// for SKIP_UNLESS of catch.hpp.
#pragma once

namespace cclgym::test {

inline constexpr const char* kNeedsTorch =
    "needs LibTorch, which this build is without (scripts/setup agents)";
inline constexpr const char* kNeedsOnnx =
    "needs ONNX, which this build is without (scripts/setup onnx)";
inline constexpr const char* kNeedsOnnxRuntime =
    "needs onnxruntime for Python, which is not installed (scripts/setup onnx)";
inline constexpr const char* kNeedsTwoEngines = "needs SimGrid, which this build is without";
inline constexpr const char* kNeedsMpi =
    "needs OpenMPI, which this build is without (scripts/setup mpi)";
inline constexpr const char* kNeedsCuda = "needs CUDA and NCCL, which this build is without";
inline constexpr const char* kNeedsNccl =
    "needs NCCL: no libnccl.so.2 was found, set NCCL to its path";
inline constexpr const char* kNeedsNamespaces =
    "needs network namespaces: root, or the capabilities NET_ADMIN and SYS_ADMIN";
inline constexpr const char* kNeedsDevFull = "needs the device /dev/full";
inline constexpr const char* kNeedsNoRoot = "needs another user than root, who may read every file";

}  // namespace cclgym::test
