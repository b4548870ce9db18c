// One training step of a model that every rank holds completely (PyTorch DDP): CNNs, BERT.
#pragma once

#include <cstdint>

#include "workloads/generators/model_tensors.hpp"
#include "workloads/graph/job_graph.hpp"

namespace cclgym {

struct DataParallelJob {
  ModelShape model;
  std::int64_t ranks = 1;
  std::uint64_t samples = 0;  ///< images or tokens of each rank; 0: those of the model
  std::uint64_t bucket_bytes = 25 << 20;
};

/// The graph of one step, with communicator and stream "dp". The buckets of ddp_buckets are reduced
/// during the backward pass. FLOP are spread over the buckets by their number of parameters;
/// memory traffic is that of parameters, gradients and Adam (activations are not counted). Throws
/// UserError if the number of ranks or samples or the bucket is out of range.
[[nodiscard]] JobGraph make_data_parallel_job(const DataParallelJob& job);

}  // namespace cclgym
