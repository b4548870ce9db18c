// The listings of docs/dsl.md; dsl_example_test.cpp compares the two.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/compiler/compile.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "collectives/program.hpp"
#include "collectives/verifier/interpreter.hpp"
#include "collectives/verifier/verify.hpp"

namespace cclgym::test {

/// Output 0 of each rank is input 0 of the next rank, output 1 is input 1 of the previous one.
inline Contract halo_contract(int ranks) {
  const std::vector<int> two(static_cast<std::size_t>(ranks), 2);
  return Contract::custom("halo", ranks, two, two, [ranks](int rank, int index) {
    const int from = index == 0 ? rank + 1 : rank - 1;
    return RequiredValue{{(from + ranks) % ranks, index}};
  });
}

inline Program halo(int ranks, int lanes) {
  ProgramBuilder p("halo", halo_contract(ranks));
  const auto parallel = p.parallelize(lanes);
  for (int rank = 0; rank < ranks; ++rank) {
    const int next = (rank + 1) % ranks;
    (void)p.chunk(next, Buffer::Input, 0).copy(rank, Buffer::Output, 0);
    (void)p.chunk(rank, Buffer::Input, 1).copy(next, Buffer::Output, 1);
  }
  return p.finish();
}

inline std::string halo_xml(int ranks, int lanes) {
  const ThreadBlockProgram program = compile(halo(ranks, lanes), {.instances = 2});
  const VerifyReport report = verify(program, {.slots = 2});
  if (!report.ok) throw std::runtime_error(report.to_string());
  const ExecuteReport executed = execute(program, {.interleavings = 10, .slots = 2});
  if (!executed.ok) throw std::runtime_error(executed.to_string());
  return to_msccl_xml(program, {.protocol = "LL128"});
}

}  // namespace cclgym::test
