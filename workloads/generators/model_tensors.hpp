// Models whose training and inference define the workloads: their parameters, tensor by tensor,
// computed from their architectures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

/// A model, described as far as its communication needs it.
struct ModelShape {
  std::string name;  ///< name, such as "resnet-50"
  /// Elements of each parameter tensor, in the order in which PyTorch registers them.
  std::vector<std::uint64_t> tensors;
  /// Parameters of each layer that is sharded and gathered as one unit (FSDP); the remaining
  /// parameters come first.
  std::vector<std::uint64_t> layers;
  std::uint64_t hidden = 0;         ///< width of an activation; 0: not a transformer
  double forward_flop_per_sample;   ///< a sample is an image or a token
  std::uint64_t samples_per_batch;  ///< samples on one GPU
  /// Samples of a batch on all GPUs together (strong scaling); 0: samples_per_batch on each.
  std::uint64_t samples_of_all = 0;
  std::uint64_t gradient_bytes = 4;  ///< size of a gradient's element in DDP

  /// Samples on one of `ranks` GPUs, at least one.
  [[nodiscard]] std::uint64_t samples_on_rank(int ranks) const;

  [[nodiscard]] std::uint64_t parameters() const;
};

/// Models: "resnet-50" (25,557,032 parameters), "bert-large" (335,141,888), "gpt2-1.5b"
/// (1,557,611,200), "gpt-7b" (6,658,404,352), "gpt-13b" (12,853,386,240).
[[nodiscard]] const std::vector<ModelShape>& model_shapes();
/// Throws std::logic_error if there is no such model.
[[nodiscard]] const ModelShape& model_shape(std::string_view name);

/// Sizes of the AllReduces of one backward pass in order, bytes, by the rule of PyTorch's
/// DistributedDataParallel (torch/csrc/distributed/c10d/reducer.cpp,
/// compute_bucket_assignment_by_size). Gradients become ready in the opposite order of the
/// parameters. Each goes into the open bucket, which is closed once it has at least its limit:
/// `first_bytes` for the first bucket, `bucket_bytes` for the others.
[[nodiscard]] std::vector<std::uint64_t> ddp_buckets(const std::vector<std::uint64_t>& tensors,
                                                     std::uint64_t element_bytes = 4,
                                                     std::uint64_t first_bytes = 1 << 20,
                                                     std::uint64_t bucket_bytes = 25 << 20);

}  // namespace cclgym
