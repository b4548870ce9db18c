// cclgym-cuda-worker: times kernels and copies on one GPU, one request a line (worker_lines.hpp).
// CUDA_VISIBLE_DEVICES chooses the GPU.
#include <algorithm>
#include <cstdio>
#include <fmt/core.h>
#include <iostream>
#include <string>

#include "calibration/cuda/cuda_build.hpp"
#include "calibration/cuda/cuda_cells.hpp"
#include "calibration/cuda/cuda_session.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

constexpr const char* kWorker = "cuda";

WorkerAnswer measure(CudaSession& session, const WorkerRequest& request) {
  const std::string& benchmark = request.text("benchmark");
  const std::vector<CudaBenchmark>& known = cuda_benchmarks();
  if (std::none_of(known.begin(), known.end(),
                   [&](const CudaBenchmark& one) { return one.name == benchmark; })) {
    throw std::runtime_error("no benchmark " + quoted(benchmark));
  }
  if (benchmark == "flag_step" || benchmark.starts_with("pipe_") ||
      benchmark.starts_with("ring_")) {
    return measure_exchange(session, request);
  }
  if (benchmark.starts_with("launch_") || benchmark.starts_with("graph_") ||
      benchmark == "host_flag") {
    return measure_launch(session, request);
  }
  return measure_copy(session, request);
}

int run() {
  if (device_count() < 1) return 2;
  // The host spins when it waits for the device, which is what takes it the least time.
  check(cudaSetDeviceFlags(cudaDeviceScheduleSpin), "cudaSetDeviceFlags");
  check(cudaSetDevice(0), "cudaSetDevice");
  CudaSession session;
  Environment environment = device_facts(0);
  environment["globaltimer_step_ns"] = fmt::format("{:.0f}", session.clock_step_s() * 1e9);
  environment["built_with"] = cuda_build_text();
  environment["label"] = "single GPU";
  std::cout << environment_line(kWorker, environment) << std::endl;
  return serve(std::cin, std::cout,
               [&](const WorkerRequest& request) { return measure(session, request); });
}

}  // namespace

}  // namespace cclgym

int main(int argc, char** argv) {
  using namespace cclgym;
  const std::string argument = argc > 1 ? argv[1] : "";
  if (argc == 2 && argument == "--version") {
    std::cout << "cclgym-cuda-worker, " << cuda_build_text() << '\n';
    return 0;
  }
  if (argc == 2 && argument == "--list") return 0;
  if (argc > 1) {
    std::cerr << "cclgym-cuda-worker: unknown argument " << quoted(argument)
              << "; expected --version or none: requests come on standard input\n";
    return 2;
  }
  try {
    return run();
  } catch (const UserError& error) {
    std::cout << refused_line("cuda", error.what()) << std::endl;
    std::cerr << "cclgym-cuda-worker: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "cclgym-cuda-worker: " << error.what() << '\n';
    return 1;
  }
}
