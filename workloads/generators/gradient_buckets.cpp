#include "workloads/generators/gradient_buckets.hpp"

#include <algorithm>
#include <numeric>

namespace cclgym {

BucketRule bucket_rule(const TransformerJob& job, std::uint64_t ranks) {
  BucketRule rule;
  const std::uint64_t bytes = job.bytes_per_gradient();
  switch (job.data_parallel) {
    case DataParallelism::Megatron:
      rule.limit = std::max<std::uint64_t>(40'000'000, 1'000'000 * ranks);
      if (job.zero > 0) rule.multiple_of = std::lcm(ranks, std::uint64_t{128});
      break;
    case DataParallelism::Ddp:
      rule.limit = (std::uint64_t{25} << 20) / bytes;
      break;
    case DataParallelism::DeepSpeed:
      rule.limit = 500'000'000;
      rule.before = true;
      if (job.zero > 0) rule.multiple_of = 2 * ranks;
      break;
    case DataParallelism::Fsdp:
      rule.multiple_of = ranks;
      break;
  }
  if (job.bucket_bytes > 0 && rule.limit > 0) {
    rule.limit = std::max<std::uint64_t>(1, job.bucket_bytes / bytes);
  }
  rule.first = rule.limit;
  if (job.data_parallel == DataParallelism::Ddp) {
    rule.first = std::min(rule.limit, (std::uint64_t{1} << 20) / bytes);
  }
  if (!job.overlap_gradients) rule.first = rule.limit = 0;
  return rule;
}

std::optional<std::uint64_t> BucketFiller::close(std::uint64_t next) {
  const std::uint64_t full = open_;
  open_ = next;
  if (full == 0) return std::nullopt;
  ++buckets_;
  return round_up(full, rule_.multiple_of);
}

std::optional<std::uint64_t> BucketFiller::add(std::uint64_t elements) {
  const std::uint64_t limit = buckets_ == 0 ? rule_.first : rule_.limit;
  if (limit > 0 && rule_.before && open_ + elements > limit) return close(elements);
  open_ += elements;
  if (limit > 0 && !rule_.before && open_ >= limit) return close(0);
  return std::nullopt;
}

std::optional<std::uint64_t> BucketFiller::flush() { return close(0); }

}  // namespace cclgym
