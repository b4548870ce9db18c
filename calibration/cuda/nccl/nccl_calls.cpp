// NcclTeam: timed calls of collectives and verification of their results.
#include <algorithm>
#include <fmt/core.h>
#include <thread>

#include "calibration/cuda/kernels/copy_kernels.hpp"
#include "calibration/cuda/nccl/nccl_team_parts.hpp"
#include "calibration/cuda/worker_lines.hpp"

namespace cclgym {

namespace {

constexpr int kRoot = 0;

bool sliced(const std::string& collective) {
  return collective == "allgather" || collective == "reducescatter";
}

// Number of floats in the larger buffer and in the smaller one, which holds one rank's slice.
struct Counts {
  std::size_t whole = 0;
  std::size_t slice = 0;
};

Counts counts_of(const TeamCall& call, std::size_t ranks) {
  const std::size_t whole = call.bytes / sizeof(float);
  return {whole, sliced(call.collective) ? whole / ranks : whole};
}

// A rank's send and receive addresses, by NCCL's rules for calls in place.
struct Buffers {
  float* send = nullptr;
  float* receive = nullptr;
};

Buffers buffers_of(const TeamCall& call, float* send, float* receive, std::size_t rank,
                   std::size_t slice) {
  if (!call.in_place) return {send, receive};
  if (call.collective == "allgather") return {receive + rank * slice, receive};
  if (call.collective == "reducescatter") return {receive, receive + rank * slice};
  return {receive, receive};
}

}  // namespace

void NcclTeam::enqueue(std::size_t rank, ncclComm_t communicator, const TeamCall& call) const {
  const Rank& own = *ranks_[rank];
  const NcclLibrary& nccl = library(rank);
  const Counts counts = counts_of(call, static_cast<std::size_t>(options_.ranks));
  const auto [send, receive] =
      buffers_of(call, own.send.device<float>(), own.receive.device<float>(), first_rank_ + rank,
                 counts.slice);
  const cudaStream_t stream = own.stream->get();
  if (call.collective == "allreduce") {
    nccl.check(
        nccl.all_reduce(send, receive, counts.whole, ncclFloat, ncclSum, communicator, stream),
        "ncclAllReduce");
  } else if (call.collective == "allgather") {
    nccl.check(nccl.all_gather(send, receive, counts.slice, ncclFloat, communicator, stream),
               "ncclAllGather");
  } else if (call.collective == "reducescatter") {
    nccl.check(
        nccl.reduce_scatter(send, receive, counts.slice, ncclFloat, ncclSum, communicator, stream),
        "ncclReduceScatter");
  } else if (call.collective == "broadcast") {
    nccl.check(nccl.broadcast(send, receive, counts.whole, ncclFloat, kRoot, communicator, stream),
               "ncclBroadcast");
  } else {
    nccl.check(
        nccl.reduce(send, receive, counts.whole, ncclFloat, ncclSum, kRoot, communicator, stream),
        "ncclReduce");
  }
}

// Polls instead of waiting in the driver, which might hold up other ranks' launches.
void NcclTeam::wait(std::size_t rank, ncclComm_t communicator) const {
  for (unsigned int turn = 1;; ++turn) {
    const cudaError_t state = cudaEventQuery(ranks_[rank]->end->get());
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) check(state, "a collective");
    if (turn % 1024 == 0) {
      if (meeting_->failed()) throw std::runtime_error("another rank failed");
      ncclResult_t result = ncclSuccess;
      library(rank).check(library(rank).comm_get_async_error(communicator, &result),
                          "ncclCommGetAsyncError");
      library(rank).check(result, "a collective");
    }
    std::this_thread::yield();
  }
}

void NcclTeam::checked_call(std::size_t local, ncclComm_t communicator,
                            const TeamCall& call) const {
  const Rank& own = *ranks_[local];
  const std::size_t rank = first_rank_ + local;
  const cudaStream_t stream = own.stream->get();
  const auto ranks = static_cast<std::size_t>(options_.ranks);
  const Counts counts = counts_of(call, ranks);
  const auto [send, receive] =
      buffers_of(call, own.send.device<float>(), own.receive.device<float>(), rank, counts.slice);
  const std::string& collective = call.collective;
  // Bytes of 255 are NaN, so elements that were never written are found.
  check(cudaMemsetAsync(own.receive.device<void>(), 255, call.bytes, stream), "cudaMemsetAsync");
  const bool gives = collective != "broadcast" || rank == kRoot;
  if (gives) {
    const std::size_t count = collective == "allgather" ? counts.slice : counts.whole;
    check(device::launch_fill(send, count, static_cast<unsigned int>(rank), stream), "kernel fill");
  }
  own.stream->synchronize();
  meeting_->wait();
  enqueue(local, communicator, call);
  check(cudaEventRecord(own.end->get(), stream), "cudaEventRecord");
  meeting_->wait();
  wait(local, communicator);
  meeting_->wait();  // no kernel is running any more

  auto* wrong = own.wrong.device<unsigned long long>();
  check(cudaMemsetAsync(wrong, 0, sizeof *wrong, stream), "cudaMemsetAsync");
  const auto verify = [&](const float* data, std::size_t count, std::size_t first,
                          std::size_t first_rank, std::size_t summed) {
    check(device::launch_verify(data, count, first, static_cast<unsigned int>(first_rank),
                                static_cast<unsigned int>(summed), wrong, stream),
          "kernel verify");
  };
  if (collective == "allreduce" || (collective == "reduce" && rank == kRoot)) {
    verify(receive, counts.whole, 0, 0, ranks);
  } else if (collective == "reducescatter") {
    verify(receive, counts.slice, rank * counts.slice, 0, ranks);
  } else if (collective == "broadcast") {
    verify(receive, counts.whole, 0, kRoot, 1);
  } else if (collective == "allgather") {
    for (std::size_t from = 0; from < ranks; ++from) {
      verify(receive + from * counts.slice, counts.slice, 0, from, 1);
    }
  }
  unsigned long long found = 0;
  check(cudaMemcpyAsync(&found, wrong, sizeof found, cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
  own.stream->synchronize();
  if (found != 0) {
    throw std::runtime_error(fmt::format("{} of {} B on rank {}: {} elements are wrong", collective,
                                         call.bytes, rank, found));
  }
}

// A call of one byte, after which the ranks of all processes begin at almost the same time.
void NcclTeam::enqueue_start(std::size_t rank) const {
  void* const byte = ranks_[rank]->start.device<void>();
  library(rank).check(library(rank).all_reduce(byte, byte, kStartBytes, ncclInt8, ncclSum,
                                               starts_->ranks[rank], ranks_[rank]->stream->get()),
                      "ncclAllReduce");
}

TeamTimes NcclTeam::run(const TeamConfig& config, const TeamCall& call, int warmup, int repeats) {
  const auto ranks = static_cast<std::size_t>(options_.ranks);
  if (counts_of(call, ranks).slice == 0 ||
      counts_of(call, ranks).whole * sizeof(float) != call.bytes ||
      (sliced(call.collective) && call.bytes % (ranks * sizeof(float)) != 0)) {
    throw CellRefused(fmt::format("{} B are not a whole number of floats for each of {} ranks",
                                  call.bytes, ranks));
  }
  if (most_channels() > 0 && config.channels > most_channels()) {
    throw CellRefused(fmt::format("{} ranks of {} channels need {} SMs; the device has {}", ranks,
                                  config.channels,
                                  ranks * static_cast<std::size_t>(config.channels), sms_));
  }
  if (config.algorithm != "default" && options_.tuner.empty()) {
    throw CellRefused("needs the tuner plugin: --tuner=PATH of libnccl-tuner-cclgym.so");
  }
  if (config.algorithm == "policy" && options_.policy.empty()) {
    throw CellRefused("needs a policy: --policy=FILE");
  }
  need_buffers(call.bytes);
  if (!peers_.alone() && !starts_) starts_ = std::make_unique<Communicator>(new_communicator({}));
  const Communicator& communicator = this->communicator(config);
  const auto all = static_cast<std::size_t>(repeats);
  std::vector<std::vector<double>> times(ranks_.size(), std::vector<double>(all));
  const std::string what = fmt::format("{} of {} B by {}/{}/{}", call.collective, call.bytes,
                                       config.algorithm, config.protocol, config.channels);
  busy_(what);
  in_all_ranks([&](std::size_t rank) {
    const Rank& own = *ranks_[rank];
    const ncclComm_t own_communicator = communicator.ranks[rank];
    const auto timed = [&] {
      if (rank == 0) busy_(what);  // the time limit is per call
      meeting_->wait();
      if (starts_) enqueue_start(rank);
      check(cudaEventRecord(own.begin->get(), own.stream->get()), "cudaEventRecord");
      enqueue(rank, own_communicator, call);
      check(cudaEventRecord(own.end->get(), own.stream->get()), "cudaEventRecord");
      meeting_->wait();  // launch on all ranks before any rank waits
      wait(rank, own_communicator);
      return elapsed_s(*own.begin, *own.end);
    };
    // The first call of an algorithm makes connections; its result is checked at once.
    checked_call(rank, own_communicator, call);
    for (int k = 0; k < warmup; ++k) (void)timed();
    for (std::size_t k = 0; k < all; ++k) times[rank][k] = timed();
    checked_call(rank, own_communicator, call);
  });
  return merged_times(times, peers_);
}

}  // namespace cclgym
