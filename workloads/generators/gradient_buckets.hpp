// Buckets of gradients that data parallelism reduces, by the rules of the frameworks.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/generators/transformer_job.hpp"

namespace cclgym {

/// Limits of buckets, in elements.
struct BucketRule {
  std::uint64_t first = 0;  ///< limit of the first bucket
  std::uint64_t limit = 0;  ///< limit of the others; 0: everything goes into one bucket
  /// True: a gradient that would exceed the limit opens the next bucket. False: it goes into the
  /// open bucket, which is then full.
  bool before = false;
  std::uint64_t multiple_of = 1;  ///< buckets are padded to a multiple of this
};

/// Rule of a job's framework for gradients that `ranks` ranks reduce:
/// * Megatron-LM (megatron/core/distributed/distributed_data_parallel.py and
///   param_and_grad_buffer.py): max(40e6, 1e6 ranks) elements, or one bucket without overlap; with
///   its distributed optimizer (ZeRO-1) padded to a multiple of lcm(ranks, 128).
/// * PyTorch DDP (torch/csrc/distributed/c10d/reducer.cpp): 1 MiB, then 25 MiB.
/// * DeepSpeed (deepspeed/runtime/zero/stage_1_and_2.py): reduce_bucket_size 5e8 elements, padded
///   to a multiple of 2 ranks.
/// * FSDP (torch/distributed/fsdp/_flat_param.py): a layer is one flat parameter, padded to a
///   multiple of the ranks; the caller closes buckets.
[[nodiscard]] BucketRule bucket_rule(const TransformerJob& job, std::uint64_t ranks);

/// Fills buckets with gradients in the order in which they become ready.
class BucketFiller {
 public:
  explicit BucketFiller(const BucketRule& rule) : rule_(rule) {}
  /// Adds a gradient; returns the elements of a bucket that is complete after this, if any.
  std::optional<std::uint64_t> add(std::uint64_t elements);
  /// Closes the open bucket; nullopt if it is empty.
  std::optional<std::uint64_t> flush();
  /// The next bucket is the first again (of the next backward pass).
  void restart() { buckets_ = 0; }

 private:
  std::optional<std::uint64_t> close(std::uint64_t next);

  BucketRule rule_;
  std::uint64_t open_ = 0;
  std::uint64_t buckets_ = 0;
};

/// Smallest multiple of `unit` that is at least `value`.
[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace cclgym
