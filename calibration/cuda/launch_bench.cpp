// The benchmarks launch_*, graph_*, host_flag.
#include <atomic>
#include <chrono>
#include <fmt/core.h>
#include <optional>

#include "calibration/cuda/cuda_session.hpp"

namespace cclgym {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kLimit_s = 5;
constexpr unsigned int kInRow = 64;  ///< number of kernels in launch_queue and graph_queue

double since_s(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// A word in pinned host memory that a kernel writes or reads.
class HostWord {
 public:
  explicit HostWord(const CudaSession& session)
      : memory_(session.host_memory(sizeof(unsigned long long))) {
    store(0);
  }
  [[nodiscard]] unsigned long long* device() const { return memory_.device<unsigned long long>(); }
  void store(unsigned long long value) const {
    std::atomic_ref(*memory_.host<unsigned long long>()).store(value, std::memory_order_release);
  }
  // Spins until the word is at least `value`. Throws std::runtime_error after kLimit_s.
  void wait(unsigned long long value) const {
    std::atomic_ref word(*memory_.host<unsigned long long>());
    const Clock::time_point begin = Clock::now();
    for (unsigned int turn = 1; word.load(std::memory_order_acquire) < value; ++turn) {
      if (turn % 4096 == 0 && since_s(begin) > kLimit_s) {
        throw std::runtime_error(
            fmt::format("the host gave up after waiting {} s for a kernel's flag", kLimit_s));
      }
    }
  }

 private:
  CudaMemory memory_;
};

// A graph captured from a stream, ready to be launched.
class Graph {
 public:
  Graph(const CudaSession& session, const std::function<void()>& enqueue) {
    check(cudaStreamBeginCapture(session.stream(), cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      if (cudaStreamEndCapture(session.stream(), &graph) == cudaSuccess) cudaGraphDestroy(graph);
      throw;
    }
    check(cudaStreamEndCapture(session.stream(), &graph), "cudaStreamEndCapture");
    const cudaError_t made = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check(made, "cudaGraphInstantiate");
    check(cudaGraphUpload(executable_, session.stream()), "cudaGraphUpload");
    session.synchronize();
  }
  ~Graph() { cudaGraphExecDestroy(executable_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(const CudaSession& session) const {
    check(cudaGraphLaunch(executable_, session.stream()), "cudaGraphLaunch");
  }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

WorkerAnswer first(const CudaSession& session, const WorkerRequest& request, bool by_graph) {
  const unsigned int blocks = session.blocks(request);
  const unsigned int threads = session.threads(request);
  const HostWord seen(session);
  const CudaMemory count = session.device_memory(sizeof(unsigned long long));
  session.clear_reports();
  check(cudaMemsetAsync(count.device<void>(), 0, count.bytes(), session.stream()),
        "cudaMemsetAsync");
  session.synchronize();
  const auto start = [&] {
    check(device::launch_first_store(blocks, threads, session.arrived(),
                                     count.device<unsigned long long>(), seen.device(),
                                     session.stream()),
          "kernel first_store");
  };
  std::optional<Graph> graph;
  if (by_graph) graph.emplace(session, start);
  unsigned long long expected = 0;
  WorkerAnswer answer;
  answer.samples_s = take_samples(request, [&](int) {
    const Clock::time_point begin = Clock::now();
    if (by_graph) {
      graph->launch(session);
    } else {
      start();
    }
    seen.wait(++expected);
    const double taken_s = since_s(begin);
    session.synchronize();  // the device must be idle when the next sample starts
    return taken_s;
  });
  return answer;
}

WorkerAnswer queue(const CudaSession& session, const WorkerRequest& request, bool by_graph) {
  const unsigned int blocks = session.blocks(request);
  const unsigned int threads = session.threads(request);
  const auto row = [&] {
    for (unsigned int i = 0; i < kInRow; ++i) {
      check(device::launch_empty(blocks, threads, session.stream()), "kernel empty");
    }
  };
  std::optional<Graph> graph;
  if (by_graph) graph.emplace(session, row);
  const CudaEvent begin;
  const CudaEvent end;
  WorkerAnswer answer;
  answer.samples_s = take_samples(request, [&](int) {
    check(cudaEventRecord(begin.get(), session.stream()), "cudaEventRecord");
    if (by_graph) {
      graph->launch(session);
    } else {
      row();
    }
    check(cudaEventRecord(end.get(), session.stream()), "cudaEventRecord");
    session.synchronize();
    return elapsed_s(begin, end) / kInRow;
  });
  answer.extra = {{"kernels", std::to_string(kInRow)}};
  return answer;
}

WorkerAnswer synchronised(const CudaSession& session, const WorkerRequest& request) {
  const unsigned int blocks = session.blocks(request);
  const unsigned int threads = session.threads(request);
  WorkerAnswer answer;
  answer.samples_s = take_samples(request, [&](int) {
    const Clock::time_point begin = Clock::now();
    check(device::launch_empty(blocks, threads, session.stream()), "kernel empty");
    session.synchronize();
    return since_s(begin);
  });
  return answer;
}

// One kernel answers all rounds, so that the samples contain no launch.
WorkerAnswer host_flag(const CudaSession& session, const WorkerRequest& request) {
  constexpr int kRoundsASample = 100;
  const HostWord question(session);
  const HostWord answered(session);
  const auto rounds =
      static_cast<unsigned long long>(request.warmup + request.repeats) * kRoundsASample;
  session.clear_reports();
  session.synchronize();
  check(device::launch_answer(question.device(), answered.device(), rounds, session.stopped(),
                              CudaSession::kLimitNs, session.stream()),
        "kernel answer");
  unsigned long long round = 0;
  WorkerAnswer answer;
  try {
    answer.samples_s = take_samples(request, [&](int) {
      const Clock::time_point begin = Clock::now();
      for (int i = 0; i < kRoundsASample; ++i) {
        question.store(++round);
        answered.wait(round);
      }
      return since_s(begin) / kRoundsASample;
    });
  } catch (...) {
    question.store(rounds);  // lets the kernel end before its memory is freed
    cudaStreamSynchronize(session.stream());
    throw;
  }
  session.synchronize();
  answer.extra = {{"rounds", std::to_string(kRoundsASample)}};
  return answer;
}

}  // namespace

WorkerAnswer measure_launch(CudaSession& session, const WorkerRequest& request) {
  const std::string& benchmark = request.text("benchmark");
  if (benchmark == "launch_first") return first(session, request, false);
  if (benchmark == "graph_first") return first(session, request, true);
  if (benchmark == "launch_queue") return queue(session, request, false);
  if (benchmark == "graph_queue") return queue(session, request, true);
  if (benchmark == "host_flag") return host_flag(session, request);
  return synchronised(session, request);
}

}  // namespace cclgym
