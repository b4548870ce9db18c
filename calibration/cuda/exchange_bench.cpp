// The benchmarks flag_step, pipe_copy, pipe_reduce, ring_allreduce.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/core.h>
#include <optional>
#include <set>

#include "calibration/cuda/cuda_session.hpp"

namespace cclgym {

namespace {

using device::BlockTimes;
using device::Fifo;
using device::FifoProtocol;

FifoProtocol protocol_of(const WorkerRequest& request) {
  const std::string& name = request.text("protocol");
  if (name == "LL") return FifoProtocol::LL;
  if (name == "LL128") return FifoProtocol::LL128;
  if (name == "Simple") return FifoProtocol::Simple;
  throw std::runtime_error("column protocol: found '" + name + "'; expected LL, LL128 or Simple");
}

// The FIFOs of a ring of blocks. If flags are in host memory, so are the slots of LL and LL128,
// which hold data and flags together, but not the slots of Simple.
class Fifos {
 public:
  Fifos(const CudaSession& session, FifoProtocol protocol, unsigned int connections,
        std::size_t chunk_bytes, bool host_flags)
      : slot_bytes_(device::fifo_slot_bytes(protocol, chunk_bytes)) {
    const std::size_t slots_bytes = connections * device::kFifoSlots * slot_bytes_;
    const std::size_t counters_bytes = std::size_t{connections} * 2 * kLineBytes;
    const bool host_slots = host_flags && protocol != FifoProtocol::Simple;
    slots_ = host_slots ? session.host_memory(slots_bytes) : session.device_memory(slots_bytes);
    counters_ =
        host_flags ? session.host_memory(counters_bytes) : session.device_memory(counters_bytes);
    list_ = session.device_memory(connections * sizeof(Fifo));
    std::vector<Fifo> list(connections);
    for (std::size_t i = 0; i < connections; ++i) {
      list[i].slots = slots_.device<char>() + i * device::kFifoSlots * slot_bytes_;
      list[i].slot_bytes = slot_bytes_;
      char* counters = counters_.device<char>() + i * 2 * kLineBytes;
      list[i].tail = reinterpret_cast<unsigned long long*>(counters);
      list[i].head = reinterpret_cast<unsigned long long*>(counters + kLineBytes);
    }
    check(cudaMemcpyAsync(list_.device<void>(), list.data(), list.size() * sizeof(Fifo),
                          cudaMemcpyHostToDevice, session.stream()),
          "cudaMemcpyAsync");
    session.synchronize();
  }

  // Flags and counters start at 0 in every kernel.
  void clear(const CudaSession& session) const {
    for (const CudaMemory* memory : {&slots_, &counters_}) {
      if (memory->host<void>() != nullptr) {
        session.synchronize();
        std::memset(memory->host<void>(), 0, memory->bytes());
      } else {
        check(cudaMemsetAsync(memory->device<void>(), 0, memory->bytes(), session.stream()),
              "cudaMemsetAsync");
      }
    }
  }
  [[nodiscard]] const Fifo* list() const { return list_.device<Fifo>(); }

 private:
  static constexpr std::size_t kLineBytes = 128;
  std::size_t slot_bytes_;
  CudaMemory slots_;
  CudaMemory counters_;
  CudaMemory list_;
};

std::string sm_list(const std::vector<BlockTimes>& reports) {
  std::string text;
  for (const BlockTimes& block : reports) {
    if (text.size() > 200) return text + " …";
    text += fmt::format("{}{}", text.empty() ? "" : " ", block.sm);
  }
  return text;
}

void expect_own_sms(const std::vector<BlockTimes>& reports) {
  std::set<unsigned int> sms;
  for (const BlockTimes& block : reports) sms.insert(block.sm);
  if (sms.size() != reports.size()) {
    throw std::runtime_error("thread blocks shared an SM: " + sm_list(reports));
  }
}

// Shape of a cell that exchanges messages.
struct Shape {
  FifoProtocol protocol;
  bool host_flags;
  unsigned int threads;
  std::size_t bytes;
  std::size_t chunk_bytes;
};

Shape shape_of(const CudaSession& session, const WorkerRequest& request) {
  const std::string& flags = request.text("flags");
  if (flags != "gpu" && flags != "host") {
    throw std::runtime_error("column flags: found '" + flags + "'; expected gpu or host");
  }
  const Shape shape{.protocol = protocol_of(request),
                    .host_flags = flags == "host",
                    .threads = session.threads(request),
                    .bytes = request.number("bytes", 16),
                    .chunk_bytes = request.number("chunk_bytes", 16)};
  if (shape.bytes % 16 != 0 || shape.chunk_bytes % 16 != 0) {
    throw CellRefused("bytes and chunk_bytes must be multiples of 16");
  }
  return shape;
}

device::ExchangeLaunch launch_of(const CudaSession& session, const Shape& shape, const Fifos& fifos,
                                 unsigned int blocks) {
  device::ExchangeLaunch launch{.protocol = shape.protocol,
                                .blocks = blocks,
                                .threads = shape.threads,
                                .shared_bytes = 0,
                                .limit_ns = CudaSession::kLimitNs,
                                .fifos = fifos.list(),
                                .stopped = session.stopped(),
                                .arrived = session.arrived(),
                                .times = session.times(),
                                .stream = session.stream()};
  check(device::exchange_shared_bytes(shape.protocol, &launch.shared_bytes),
        "attributes of kernels");
  return launch;
}

WorkerAnswer flag_step(const CudaSession& session, const WorkerRequest& request) {
  const Shape shape = shape_of(session, request);
  if (shape.bytes > shape.chunk_bytes) {
    throw CellRefused("a message of flag_step fits one slot: bytes must be at most chunk_bytes");
  }
  const Fifos fifos(session, shape.protocol, 2, shape.chunk_bytes, shape.host_flags);
  const std::size_t count = shape.bytes / sizeof(float);
  const CudaMemory data = session.device_memory(shape.bytes);
  const CudaMemory addend = session.device_memory(shape.bytes);
  // One block per SM; in each sample the first one talks to a different partner.
  const device::ExchangeLaunch launch = launch_of(session, shape, fifos, session.sms());
  constexpr unsigned int kWarmRounds = 10;
  constexpr unsigned int kMostRounds = 2000;
  const auto run = [&](unsigned int partner, unsigned int rounds) {
    fifos.clear(session);
    session.clear_reports();
    check(device::launch_fill(data.device<float>(), count, 0, session.stream()), "kernel fill");
    check(device::launch_fill(addend.device<float>(), count, 1, session.stream()), "kernel fill");
    check(device::launch_flag_step(launch, partner, data.device<float>(), addend.device<float>(),
                                   shape.bytes, kWarmRounds, rounds),
          "kernel flag_step");
    const std::vector<BlockTimes> all = session.reports(session.sms());
    const std::vector<BlockTimes> pair{all[0], all[partner]};
    expect_own_sms(pair);
    std::vector<float> got(count);
    check(cudaMemcpyAsync(got.data(), data.device<void>(), shape.bytes, cudaMemcpyDeviceToHost,
                          session.stream()),
          "cudaMemcpyAsync");
    session.synchronize();
    for (std::size_t i = 0; i < count; ++i) {
      const float expected =
          device::pattern(i, 0) + static_cast<float>(kWarmRounds + rounds) * device::pattern(i, 1);
      if (got[i] == expected) continue;
      const std::string what = fmt::format("element {} is {} after {} rounds, not {}", i, got[i],
                                           kWarmRounds + rounds, expected);
      // Over PCIe, the 128 bytes of a warp may arrive in pieces.
      if (shape.host_flags && shape.protocol == FifoProtocol::LL128) {
        throw CellRefused("LL128 through host memory corrupts data here: " + what);
      }
      throw std::runtime_error(what);
    }
    if (pair[0].done == 0 || pair[1].done == 0) {
      throw std::runtime_error("a thread block did not finish");
    }
    const double all_s = static_cast<double>(pair[0].end_ns - pair[0].begin_ns) * 1e-9;
    return all_s / (2.0 * rounds);
  };
  if (session.sms() < 2) throw CellRefused("needs two SMs");
  const double first_s = run(1, 50);
  const unsigned int rounds = passes_for(2 * first_s, session.clock_step_s(), kMostRounds);
  constexpr unsigned int kStride = 37;  // partners of successive samples lie far apart
  WorkerAnswer answer;
  answer.samples_s = take_samples(request, [&](int k) {
    const unsigned int others = session.sms() - 1;
    return run(1 + static_cast<unsigned int>(k) * kStride % others, rounds);
  });
  answer.extra = {{"rounds", std::to_string(rounds)}};
  return answer;
}

WorkerAnswer messages(const CudaSession& session, const WorkerRequest& request) {
  const std::string& benchmark = request.text("benchmark");
  const Shape shape = shape_of(session, request);
  const bool ring = benchmark == "ring_allreduce";
  const unsigned int blocks = ring ? session.blocks(request) : (benchmark == "pipe_copy" ? 2u : 3u);
  if (blocks < 2 || blocks > session.sms()) {
    throw CellRefused(
        fmt::format("needs 2 to {} thread blocks on SMs of their own", session.sms()));
  }
  if (ring && shape.bytes % (16 * blocks) != 0) {
    throw CellRefused(fmt::format("{} B are not a multiple of 16 B per rank", shape.bytes));
  }
  const std::size_t count = shape.bytes / sizeof(float);
  const unsigned int outputs = ring ? blocks : 1;
  const Fifos fifos(session, shape.protocol, blocks, shape.chunk_bytes, shape.host_flags);
  const CudaMemory from = session.device_memory(blocks * shape.bytes);
  const CudaMemory to = session.device_memory(outputs * shape.bytes);
  for (unsigned int rank = 0; rank < blocks; ++rank) {
    check(device::launch_fill(from.device<float>() + rank * count, count, rank, session.stream()),
          "kernel fill");
  }
  const device::ExchangeLaunch launch = launch_of(session, shape, fifos, blocks);
  std::vector<BlockTimes> reports;
  const auto run = [&](unsigned int passes) {
    fifos.clear(session);
    session.clear_reports();
    // Bytes of 255 are NaN, so unwritten elements are found.
    check(cudaMemsetAsync(to.device<void>(), 255, to.bytes(), session.stream()), "cudaMemsetAsync");
    const auto start = ring ? device::launch_ring : device::launch_pipe;
    check(start(launch, from.device<float>(), to.device<float>(), shape.bytes, shape.chunk_bytes,
                passes),
          ring ? "kernel ring" : "kernel pipe");
    reports = session.reports(blocks);
    expect_own_sms(reports);
    const double all_s = span_s(reports);
    for (unsigned int output = 0; output < outputs; ++output) {
      const unsigned int ranks = ring ? blocks : blocks - 1;
      const unsigned long long wrong =
          session.wrong(to.device<float>() + output * count, count, 0, ranks);
      if (wrong != 0) {
        const std::string what =
            fmt::format("{} of {} elements of block {} are wrong", wrong, count, output);
        if (shape.host_flags && shape.protocol == FifoProtocol::LL128) {
          throw CellRefused("LL128 through host memory corrupts data here: " + what);
        }
        throw std::runtime_error(what);
      }
    }
    return all_s / passes;
  };
  const double first_s = run(1);
  const unsigned int passes = passes_for(first_s, session.clock_step_s(), 200);
  WorkerAnswer answer;
  answer.samples_s = take_samples(request, [&](int) { return run(passes); });
  answer.extra = {{"passes", std::to_string(passes)}, {"sms", sm_list(reports)}};
  return answer;
}

}  // namespace

WorkerAnswer measure_exchange(CudaSession& session, const WorkerRequest& request) {
  return request.text("benchmark") == "flag_step" ? flag_step(session, request)
                                                  : messages(session, request);
}

}  // namespace cclgym
