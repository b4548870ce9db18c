// The CUDA runtime with errors as exceptions, and owners of its memory, streams and events.
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>
#include <map>
#include <stdexcept>
#include <string>

namespace cclgym {

class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t error, const char* what);
  [[nodiscard]] cudaError_t error() const { return error_; }

 private:
  cudaError_t error_;
};

/// Throws CudaError "WHAT: …" unless the call succeeded.
void check(cudaError_t error, const char* what);

enum class MemoryPlace { Device, PinnedHost };

/// Memory in one place. Pinned host memory is mapped: device() is its address for kernels.
class CudaMemory {
 public:
  CudaMemory() = default;
  /// Throws CudaError if there is not enough.
  CudaMemory(MemoryPlace place, std::size_t bytes);
  ~CudaMemory();
  CudaMemory(CudaMemory&& other) noexcept;
  CudaMemory& operator=(CudaMemory&& other) noexcept;

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  template <class T>
  [[nodiscard]] T* device() const {
    return static_cast<T*>(device_);
  }
  /// Null for device memory.
  template <class T>
  [[nodiscard]] T* host() const {
    return static_cast<T*>(host_);
  }

 private:
  void swap(CudaMemory& other) noexcept;

  void* device_ = nullptr;
  void* host_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A stream that does not wait for the default stream.
class CudaStream {
 public:
  CudaStream();
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void synchronize() const;

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaEvent {
 public:
  CudaEvent();
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Seconds between two events that have happened.
[[nodiscard]] double elapsed_s(const CudaEvent& begin, const CudaEvent& end);

/// Number of devices. Throws UserError with the missing part if there is no driver or no GPU.
[[nodiscard]] int device_count();

/// Facts about a device to record with measurements: device, compute_capability, sms, memory, l2,
/// driver, cuda_runtime, clock rates, PCI bus id.
[[nodiscard]] std::map<std::string, std::string> device_facts(int device);

/// Text of a release from CUDA's number for it: "13.0" for 13000.
[[nodiscard]] std::string cuda_release(int number);

}  // namespace cclgym
