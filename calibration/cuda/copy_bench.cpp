// The benchmarks copy_block(s), reduce_block(s), engine_*, zero_copy_store.
#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "calibration/cuda/cuda_session.hpp"
#include "core/statistics.hpp"

namespace cclgym {

namespace {

using device::BlockTimes;

// Takes the samples of a copy; each sample repeats the copy as often as the clock's resolution
// requires.
WorkerAnswer repeated(const CudaSession& session, const WorkerRequest& request, std::size_t bytes,
                      const std::function<double(unsigned int)>& run) {
  constexpr unsigned int kMostPasses = 1000;
  const unsigned int passes = passes_for(run(1), session.clock_step_s(), kMostPasses);
  WorkerAnswer answer;
  answer.samples_s = take_samples(request, [&](int) { return run(passes) / passes; });
  answer.extra = {{"passes", std::to_string(passes)},
                  {"GBps_median", fmt::format("{:.4g}", static_cast<double>(bytes) /
                                                            upper_median(answer.samples_s) / 1e9)}};
  return answer;
}

std::size_t bytes_of(const WorkerRequest& request) {
  const std::size_t bytes = request.number("bytes", 16);
  if (bytes % 16 != 0) throw CellRefused("bytes must be a multiple of 16");
  return bytes;
}

WorkerAnswer by_blocks(const CudaSession& session, const WorkerRequest& request, bool add,
                       bool to_host) {
  const std::size_t bytes = bytes_of(request);
  const std::size_t count = bytes / sizeof(float);
  const unsigned int blocks = session.blocks(request);
  const CudaMemory from = session.device_memory(bytes);
  const CudaMemory added = add ? session.device_memory(bytes) : CudaMemory();
  const CudaMemory to = to_host ? session.host_memory(bytes) : session.device_memory(bytes);
  check(device::launch_fill(from.device<float>(), count, 0, session.stream()), "kernel fill");
  if (add) {
    check(device::launch_fill(added.device<float>(), count, 1, session.stream()), "kernel fill");
  }
  const device::CopyLaunch launch{.blocks = blocks,
                                  .threads = session.threads(request),
                                  .limit_ns = CudaSession::kLimitNs,
                                  .stopped = session.stopped(),
                                  .arrived = session.arrived(),
                                  .times = session.times(),
                                  .stream = session.stream()};
  std::set<unsigned int> sms;
  const auto run = [&](unsigned int passes) {
    session.clear_reports();
    check(cudaMemsetAsync(to.device<void>(), 255, bytes, session.stream()), "cudaMemsetAsync");
    check(device::launch_copy(launch, from.device<float>(), added.device<float>(),
                              to.device<float>(), bytes, passes),
          "kernel copy");
    const std::vector<BlockTimes> reports = session.reports(blocks);
    for (const BlockTimes& block : reports) sms.insert(block.sm);
    const double all_s = span_s(reports);
    const unsigned long long wrong = session.wrong(to.device<float>(), count, 0, add ? 2 : 1);
    if (wrong != 0) {
      throw std::runtime_error(fmt::format("{} of {} elements are wrong", wrong, count));
    }
    return all_s;
  };
  WorkerAnswer answer = repeated(session, request, bytes, run);
  answer.extra["sms_used"] = std::to_string(sms.size());
  return answer;
}

WorkerAnswer by_engine(const CudaSession& session, const WorkerRequest& request,
                       cudaMemcpyKind kind) {
  const std::size_t bytes = bytes_of(request);
  const std::size_t count = bytes / sizeof(float);
  // The pattern goes `from` -> `to`. Memory that kernels cannot fill and check fast enough is
  // filled and checked through device memory.
  const CudaMemory from =
      kind == cudaMemcpyHostToDevice ? session.host_memory(bytes) : session.device_memory(bytes);
  const CudaMemory to =
      kind == cudaMemcpyDeviceToHost ? session.host_memory(bytes) : session.device_memory(bytes);
  check(device::launch_fill(from.device<float>(), count, 0, session.stream()), "kernel fill");
  check(cudaMemsetAsync(to.device<void>(), 255, bytes, session.stream()), "cudaMemsetAsync");
  session.synchronize();
  const auto address = [](const CudaMemory& memory) {
    return memory.host<void>() != nullptr ? memory.host<void>() : memory.device<void>();
  };
  const CudaEvent begin;
  const CudaEvent end;
  const auto run = [&](unsigned int passes) {
    check(cudaEventRecord(begin.get(), session.stream()), "cudaEventRecord");
    for (unsigned int pass = 0; pass < passes; ++pass) {
      check(cudaMemcpyAsync(address(to), address(from), bytes, kind, session.stream()),
            "cudaMemcpyAsync");
    }
    check(cudaEventRecord(end.get(), session.stream()), "cudaEventRecord");
    session.synchronize();
    return elapsed_s(begin, end);
  };
  WorkerAnswer answer = repeated(session, request, bytes, run);
  const unsigned long long wrong = session.wrong(to.device<float>(), count, 0, 1);
  if (wrong != 0) {
    throw std::runtime_error(fmt::format("{} of {} elements are wrong", wrong, count));
  }
  return answer;
}

}  // namespace

WorkerAnswer measure_copy(CudaSession& session, const WorkerRequest& request) {
  const std::string& benchmark = request.text("benchmark");
  if (benchmark == "engine_d2d") return by_engine(session, request, cudaMemcpyDeviceToDevice);
  if (benchmark == "engine_d2h") return by_engine(session, request, cudaMemcpyDeviceToHost);
  if (benchmark == "engine_h2d") return by_engine(session, request, cudaMemcpyHostToDevice);
  const bool add = benchmark.starts_with("reduce");
  return by_blocks(session, request, add, benchmark == "zero_copy_store");
}

}  // namespace cclgym
