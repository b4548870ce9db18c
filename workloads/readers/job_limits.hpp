// Limits of jobs that are read from files, so that a short file cannot fill the memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cclgym {

/// Readers refuse jobs beyond these limits, with the place in the file.
struct JobLimits {
  std::int64_t ranks = std::int64_t{1} << 18;
  std::int64_t communicators = 256;       ///< kinds of process groups
  std::int64_t ops = 10'000'000;          ///< operations of all programs, after repetition
  std::int64_t ops_of_all = 100'000'000;  ///< operations of all ranks together
  std::int64_t dependencies = 40'000'000;
  std::size_t goal_bytes = std::size_t{512} << 20;  ///< size of a GOAL file
};

}  // namespace cclgym
