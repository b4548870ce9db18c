#include "calibration/cuda/cuda_device.hpp"

#include <array>
#include <fmt/core.h>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

int attribute(int device, cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

// Release of the driver, from the kernel module: "580.65.06"; empty if unknown.
std::string driver_release() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word.find_first_not_of("0123456789.") == std::string::npos &&
        word.find('.') != std::string::npos) {
      return word;
    }
  }
  return {};
}

}  // namespace

CudaError::CudaError(cudaError_t error, const char* what)
    : std::runtime_error(
          fmt::format("{}: {} ({})", what, cudaGetErrorString(error), cudaGetErrorName(error))),
      error_(error) {}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // otherwise the next call would report this error again
  throw CudaError(error, what);
}

CudaMemory::CudaMemory(MemoryPlace place, std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  if (place == MemoryPlace::Device) {
    check(cudaMalloc(&device_, bytes), "cudaMalloc");
    return;
  }
  check(cudaHostAlloc(&host_, bytes, cudaHostAllocMapped), "cudaHostAlloc");
  const cudaError_t mapped = cudaHostGetDevicePointer(&device_, host_, 0);
  if (mapped != cudaSuccess) {
    cudaFreeHost(host_);
    check(mapped, "cudaHostGetDevicePointer");
  }
}

CudaMemory::~CudaMemory() {
  if (host_ != nullptr) {
    cudaFreeHost(host_);
  } else if (device_ != nullptr) {
    cudaFree(device_);
  }
}

CudaMemory::CudaMemory(CudaMemory&& other) noexcept { swap(other); }

CudaMemory& CudaMemory::operator=(CudaMemory&& other) noexcept {
  CudaMemory old(std::move(*this));
  swap(other);
  return *this;
}

void CudaMemory::swap(CudaMemory& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(host_, other.host_);
  std::swap(bytes_, other.bytes_);
}

CudaStream::CudaStream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}
CudaStream::~CudaStream() { cudaStreamDestroy(stream_); }
void CudaStream::synchronize() const {
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

CudaEvent::CudaEvent() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
CudaEvent::~CudaEvent() { cudaEventDestroy(event_); }

double elapsed_s(const CudaEvent& begin, const CudaEvent& end) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

int device_count() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  cudaGetLastError();
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    throw UserError(
        "no NVIDIA driver found (libcuda.so.1): measure on a machine with an NVIDIA GPU and its "
        "driver");
  }
  if (error == cudaErrorInsufficientDriver) {
    int runtime = 0;
    cudaRuntimeGetVersion(&runtime);
    throw UserError(fmt::format(
        "the NVIDIA driver is for CUDA {}, older than the CUDA {} of this build: update "
        "the driver, or build with an older toolkit",
        cuda_release(driver), cuda_release(runtime)));
  }
  throw UserError(fmt::format(
      "no GPU found: {}", cudaGetErrorString(error == cudaSuccess ? cudaErrorNoDevice : error)));
}

std::string cuda_release(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

std::map<std::string, std::string> device_facts(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  int driver = 0;
  int runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  std::array<char, 32> bus{};
  check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device),
        "cudaDeviceGetPCIBusId");
  const std::string release = driver_release();
  return {
      {"driver", release.empty() ? "CUDA " + cuda_release(driver) : release},
      {"device", properties.name},
      {"compute_capability", fmt::format("{}.{}", properties.major, properties.minor)},
      {"sms", std::to_string(properties.multiProcessorCount)},
      {"memory", format_bytes(properties.totalGlobalMem)},
      {"l2", format_bytes(static_cast<std::uint64_t>(properties.l2CacheSize))},
      {"sm_clock_khz", std::to_string(attribute(device, cudaDevAttrClockRate))},
      {"memory_clock_khz", std::to_string(attribute(device, cudaDevAttrMemoryClockRate))},
      {"cuda_driver", cuda_release(driver)},
      {"cuda_runtime", cuda_release(runtime)},
      {"pci_bus", bus.data()},
  };
}

}  // namespace cclgym
