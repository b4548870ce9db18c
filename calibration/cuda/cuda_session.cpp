#include "calibration/cuda/cuda_session.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace cclgym {

namespace {

CudaMemory memory_or_refusal(MemoryPlace place, std::size_t bytes, const char* what) {
  try {
    return {place, bytes};
  } catch (const CudaError& error) {
    if (error.error() != cudaErrorMemoryAllocation) throw;
    throw CellRefused(fmt::format("no {} B of {} memory are free", bytes, what));
  }
}

}  // namespace

CudaSession::CudaSession()
    : words_(MemoryPlace::Device, 256),
      wrong_(MemoryPlace::Device, sizeof(unsigned long long)),
      times_(MemoryPlace::Device, kMostBlocks * sizeof(device::BlockTimes)) {
  int current = 0;
  int sms = 0;
  check(cudaGetDevice(&current), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, current),
        "cudaDeviceGetAttribute");
  sms_ = static_cast<unsigned int>(sms);
  unsigned long long step_ns = 0;
  auto* place = wrong_.device<unsigned long long>();
  check(device::launch_clock_step(place, stream()), "kernel clock_step");
  check(cudaMemcpyAsync(&step_ns, place, sizeof step_ns, cudaMemcpyDeviceToHost, stream()),
        "cudaMemcpyAsync");
  synchronize();
  if (step_ns == 0) throw std::runtime_error("the device's clock (globaltimer) stands still");
  clock_step_s_ = static_cast<double>(step_ns) * 1e-9;
}

void CudaSession::clear_reports() const {
  check(cudaMemsetAsync(words_.device<void>(), 0, words_.bytes(), stream()), "cudaMemsetAsync");
  check(cudaMemsetAsync(times_.device<void>(), 0, times_.bytes(), stream()), "cudaMemsetAsync");
}

std::vector<device::BlockTimes> CudaSession::reports(unsigned int blocks) const {
  std::vector<device::BlockTimes> result(blocks);
  unsigned int gave_up = 0;
  check(cudaMemcpyAsync(result.data(), times(), blocks * sizeof(device::BlockTimes),
                        cudaMemcpyDeviceToHost, stream()),
        "cudaMemcpyAsync of a kernel's reports");
  check(cudaMemcpyAsync(&gave_up, stopped(), sizeof gave_up, cudaMemcpyDeviceToHost, stream()),
        "cudaMemcpyAsync of a kernel's reports");
  synchronize();
  if (gave_up != 0) {
    throw std::runtime_error(
        fmt::format("a thread block gave up after waiting {} s for another one",
                    static_cast<double>(kLimitNs) * 1e-9));
  }
  return result;
}

unsigned long long CudaSession::wrong(const float* data, std::size_t count, unsigned int first_rank,
                                      unsigned int ranks) const {
  unsigned long long result = 0;
  auto* place = wrong_.device<unsigned long long>();
  check(cudaMemsetAsync(place, 0, sizeof result, stream()), "cudaMemsetAsync");
  check(device::launch_verify(data, count, 0, first_rank, ranks, place, stream()), "kernel verify");
  check(cudaMemcpyAsync(&result, place, sizeof result, cudaMemcpyDeviceToHost, stream()),
        "cudaMemcpyAsync");
  synchronize();
  return result;
}

CudaMemory CudaSession::device_memory(std::size_t bytes) const {
  return memory_or_refusal(MemoryPlace::Device, bytes, "device");
}

CudaMemory CudaSession::host_memory(std::size_t bytes) const {
  return memory_or_refusal(MemoryPlace::PinnedHost, bytes, "pinned host");
}

unsigned int CudaSession::threads(const WorkerRequest& request) const {
  const std::uint64_t threads = request.number("threads", 32);
  if (threads % 32 != 0 || threads > device::kMostThreads) {
    throw CellRefused(fmt::format("{} threads; a block has a multiple of 32 up to {}", threads,
                                  device::kMostThreads));
  }
  return static_cast<unsigned int>(threads);
}

unsigned int CudaSession::blocks(const WorkerRequest& request) const {
  const std::uint64_t blocks = request.number("blocks", 1);
  if (blocks > std::min(sms_, kMostBlocks)) {
    throw CellRefused(fmt::format("{} thread blocks, one for each SM; the device has {}", blocks,
                                  std::min(sms_, kMostBlocks)));
  }
  return static_cast<unsigned int>(blocks);
}

double span_s(const std::vector<device::BlockTimes>& reports) {
  unsigned long long begin = ~0ull;
  unsigned long long end = 0;
  for (const device::BlockTimes& block : reports) {
    if (block.done == 0) throw std::runtime_error("a thread block did not finish");
    begin = std::min(begin, block.begin_ns);
    end = std::max(end, block.end_ns);
  }
  return static_cast<double>(end - begin) * 1e-9;
}

unsigned int passes_for(double once_s, double clock_step_s, unsigned int most) {
  // The clock's error is at most 0.2 %, and a sample takes at least half a millisecond.
  const double wanted_s = std::max(500 * clock_step_s, 500e-6);
  const double passes = std::ceil(wanted_s / std::max(once_s, 1e-8));
  return static_cast<unsigned int>(std::clamp(passes, 1.0, static_cast<double>(most)));
}

std::vector<double> take_samples(const WorkerRequest& request,
                                 const std::function<double(int)>& sample) {
  std::vector<double> samples;
  for (int k = 0; k < request.warmup + request.repeats; ++k) {
    const double taken_s = sample(k);
    if (k >= request.warmup) samples.push_back(taken_s);
  }
  return samples;
}

}  // namespace cclgym
