#include "calibration/cuda/kernels/exchange_kernels.cuh"
#include "calibration/cuda/kernels/exchange_kernels.hpp"

namespace cclgym::device {

namespace {

template <class Task>
using Kernel = void (*)(Common, Task);

Kernel<FlagStep> flag_step_kernel(FifoProtocol protocol) {
  if (protocol == FifoProtocol::LL) return flag_step<FifoProtocol::LL>;
  return protocol == FifoProtocol::LL128 ? flag_step<FifoProtocol::LL128>
                                         : flag_step<FifoProtocol::Simple>;
}
Kernel<Messages> pipe_kernel(FifoProtocol protocol) {
  if (protocol == FifoProtocol::LL) return pipe<FifoProtocol::LL>;
  return protocol == FifoProtocol::LL128 ? pipe<FifoProtocol::LL128> : pipe<FifoProtocol::Simple>;
}
Kernel<Messages> ring_kernel(FifoProtocol protocol) {
  if (protocol == FifoProtocol::LL) return ring<FifoProtocol::LL>;
  return protocol == FifoProtocol::LL128 ? ring<FifoProtocol::LL128> : ring<FifoProtocol::Simple>;
}

// A cooperative launch fails unless all blocks can run at once; otherwise they would wait forever.
template <class Task>
cudaError_t launch_together(Kernel<Task> kernel, const ExchangeLaunch& launch, Task task) {
  Common common{launch.fifos, launch.stopped, launch.arrived, launch.times, launch.limit_ns};
  const void* function = reinterpret_cast<const void*>(kernel);
  const cudaError_t allowed = cudaFuncSetAttribute(
      function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(launch.shared_bytes));
  if (allowed != cudaSuccess) return allowed;
  void* arguments[] = {&common, &task};
  return cudaLaunchCooperativeKernel(function, dim3(launch.blocks), dim3(launch.threads), arguments,
                                     launch.shared_bytes, launch.stream);
}

}  // namespace

std::size_t fifo_slot_bytes(FifoProtocol protocol, std::size_t chunk_bytes) {
  constexpr std::size_t kLine = 128;
  const auto lines = [](std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; };
  if (protocol == FifoProtocol::LL) return lines(2 * chunk_bytes);
  if (protocol == FifoProtocol::Simple) return lines(chunk_bytes);
  return (chunk_bytes + kLl128SliceBytes - 1) / kLl128SliceBytes * kLl128WireBytes;
}

cudaError_t exchange_shared_bytes(FifoProtocol protocol, std::size_t* bytes) {
  int device = 0;
  int most = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess) return error;
  *bytes = static_cast<std::size_t>(most);
  const void* kernels[] = {reinterpret_cast<const void*>(flag_step_kernel(protocol)),
                           reinterpret_cast<const void*>(pipe_kernel(protocol)),
                           reinterpret_cast<const void*>(ring_kernel(protocol))};
  for (const void* kernel : kernels) {
    cudaFuncAttributes attributes{};
    error = cudaFuncGetAttributes(&attributes, kernel);
    if (error != cudaSuccess) return error;
    // Some bytes stay free for the alignment of the dynamic part: more than half of an SM's memory
    // is enough.
    constexpr std::size_t kSpareBytes = 1024;
    const std::size_t room =
        static_cast<std::size_t>(most) - attributes.sharedSizeBytes - kSpareBytes;
    if (room < *bytes) *bytes = room;
  }
  return cudaSuccess;
}

cudaError_t launch_flag_step(const ExchangeLaunch& launch, unsigned int partner, float* data,
                             const float* addend, std::size_t bytes, unsigned int warm,
                             unsigned int rounds) {
  return launch_together(flag_step_kernel(launch.protocol), launch,
                         FlagStep{partner, data, addend, bytes, warm, rounds});
}

cudaError_t launch_pipe(const ExchangeLaunch& launch, const float* inputs, float* output,
                        std::size_t bytes, std::size_t chunk_bytes, unsigned int passes) {
  return launch_together(pipe_kernel(launch.protocol), launch,
                         Messages{inputs, output, bytes, chunk_bytes, passes});
}

cudaError_t launch_ring(const ExchangeLaunch& launch, const float* inputs, float* outputs,
                        std::size_t bytes, std::size_t chunk_bytes, unsigned int passes) {
  return launch_together(ring_kernel(launch.protocol), launch,
                         Messages{inputs, outputs, bytes, chunk_bytes, passes});
}

}  // namespace cclgym::device
