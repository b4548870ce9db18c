// The operations for which an operation of a rank's program waits.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/readers/traces/trace_reader.hpp"

namespace cclgym::test {

inline std::vector<std::int32_t> deps_of(const RankProgram& program, std::int32_t op) {
  return {program.deps.begin() + program.dep_begin[at(op)],
          program.deps.begin() + program.dep_begin[at(op) + 1]};
}

}  // namespace cclgym::test
