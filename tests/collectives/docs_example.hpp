// The example of docs/collectives.md, between the two marks; docs_example_test.cpp compares the
// page with it and runs it.
#pragma once

// --- example begins
#include <cstdio>

#include "collectives/compiler/compile.hpp"
#include "collectives/program.hpp"
#include "collectives/verifier/verify.hpp"

using namespace cclgym;

/// AllReduce on a ring of n ranks, in place, the buffer cut into n chunks.
inline Program ring_all_reduce(int n) {
  ProgramBuilder p("my-ring", Contract::make(CollectiveKind::AllReduce, n, n, /*in_place=*/true));
  for (int chunk = 0; chunk < n; ++chunk) {
    ChunkRef c = p.chunk(chunk, Buffer::Input, chunk);
    for (int step = 1; step < n; ++step) {  // once around: sum
      c = p.chunk((chunk + step) % n, Buffer::Input, chunk).reduce(c);
    }
    for (int step = n; step < 2 * n - 1; ++step) {  // again: distribute the sum
      c = c.copy((chunk + step) % n, Buffer::Input, chunk);
    }
  }
  return p.finish();
}

inline bool compile_and_verify() {
  const ThreadBlockProgram program = compile(ring_all_reduce(8));
  const VerifyReport report = verify(program);
  std::fputs(report.to_string().c_str(), stderr);  // empty: no problems
  return report.ok;
}
// --- example ends
