// cclgym-cuda-worker: times kernels and copies on one GPU, one request per line (worker_lines.hpp).
// With --fit=FILE it fits parameters to measurements instead and needs no GPU. CUDA_VISIBLE_DEVICES
// selects the GPU.
#include <algorithm>
#include <cstdio>
#include <fmt/core.h>
#include <iostream>
#include <string>

#include "calibration/cuda/cuda_build.hpp"
#include "calibration/cuda/cuda_cells.hpp"
#include "calibration/cuda/cuda_fit.hpp"
#include "calibration/cuda/cuda_session.hpp"
#include "core/error.hpp"
#include "core/files/standard_streams.hpp"
#include "core/units.hpp"
#include "cost_models/parameters/shipped_sets.hpp"

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
  // Spinning is the fastest way for the host to notice that the device is done.
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

// --fit=FILE: prints the parameters fitted to measurements of this backend.
int fit(const std::string& path, const std::string& start_name, const std::string& name) {
  const CudaMeasurements measured = read_cuda_measurements(path);
  const ParameterSet start = start_name.ends_with(".yaml") ? load_parameter_set(start_name)
                                                           : shipped_parameter_set(start_name);
  const CudaFit found = fit_cuda(measured, start.model);
  std::cerr << cuda_fit_text(found);
  std::cout << cuda_set_yaml(found, measured, start, name);
  return 0;
}

}  // namespace

}  // namespace cclgym

int main(int argc, char** argv) {
  using namespace cclgym;
  open_closed_standard_streams();
  const std::string argument = argc > 1 ? argv[1] : "";
  if (argc == 2 && argument == "--version") {
    std::cout << "cclgym-cuda-worker, " << cuda_build_text() << '\n';
    return 0;
  }
  if (argc == 2 && argument == "--list") return 0;
  const bool fits = argc == 4 && argument.starts_with("--fit=");
  if (argc > 1 && !fits) {
    std::cerr << "cclgym-cuda-worker: unknown argument " << quoted(argument)
              << "; expected --version, --fit=FILE START NAME, or none: requests come on standard "
                 "input\n";
    return 2;
  }
  try {
    if (fits) return fit(argument.substr(std::string("--fit=").size()), argv[2], argv[3]);
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
