// Tests of gates: kernels that wait for kernels of other GPUs.
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include "collectives/compiler/compile.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "collectives/library/program_entry.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "collectives/program.hpp"
#include "collectives/verifier/deadlock.hpp"
#include "collectives/verifier/interpreter.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "support/catch.hpp"

namespace cclgym::test {

namespace {

using Kind = CollectiveKind;

AlgorithmRequest gated_request(Kind kind, int ranks, int node) {
  AlgorithmRequest request;
  request.collective = kind;
  request.ranks = ranks;
  request.ranks_per_server = node;
  return request;
}

std::shared_ptr<const ThreadBlockProgram> program_named(const std::string& name,
                                                        const AlgorithmRequest& request) {
  AlgorithmLibrary library;
  library.add_spelled(name);
  return build_algorithm(library.at(name), request);
}

// Two GPUs that exchange a chunk in each of two kernels.
ThreadBlockProgram exchange() {
  ProgramBuilder p("exchange", Contract::make(Kind::AllGather, 2, 2));
  for (const int index : {0, 1}) {
    p.next_kernel();
    for (const int rank : {0, 1}) {
      (void)p.chunk(rank, Buffer::Input, index).copy(rank, Buffer::Output, 2 * rank + index);
      (void)p.chunk(rank, Buffer::Input, index).copy(1 - rank, Buffer::Output, 2 * rank + index);
    }
  }
  return compile(p.finish());
}

}  // namespace

TEST_CASE("gates: one for each group after the first K of a node", "[collectives][gates]") {
  for (const int subcomms : {1, 2, 3, 4}) {
    const std::string name = fmt::format("hierarchical:4x2x2:ring:subcomms={}", subcomms);
    for (const Kind kind : {Kind::AllGather, Kind::ReduceScatter, Kind::AllReduce}) {
      CAPTURE(name, to_string(kind));
      const auto program = program_named(name, gated_request(kind, 16, 4));
      const int halves = kind == Kind::AllReduce ? 2 : 1;
      CHECK(std::ssize(program->gates) == halves * 2 * 4 * (4 - subcomms));
      for (const KernelGate& gate : program->gates) {
        CHECK(gate.rank - gate.after == subcomms);
        CHECK(gate.rank / 4 == gate.after / 4);
      }
    }
  }
}

TEST_CASE("gates: programs with them are right in every order tried", "[collectives][gates]") {
  Random random = Random::stream(21, {});
  const std::vector<std::string> algorithms{"ring", "recursive", "bruck", "broadcast-reduce",
                                            "all-pairs"};
  const std::vector<std::string> shuffles{"after", "before", "avoided", "overlapped"};
  const auto pick = [&](const auto& values) {
    return values[static_cast<std::size_t>(random.integer(0, std::ssize(values) - 1))];
  };
  int programs = 0;
  for (int attempt = 0; attempt < 200 && programs < 60; ++attempt) {
    const int node = static_cast<int>(random.integer(2, 4));
    const int nodes = static_cast<int>(random.integer(2, 4));
    const std::string name =
        fmt::format("hierarchical:{}x{}:{}+{}:{}:subcomms={}", node, nodes, pick(algorithms),
                    pick(algorithms), pick(shuffles), random.integer(1, node));
    const Kind kind = pick(std::vector{Kind::AllGather, Kind::ReduceScatter, Kind::AllReduce});
    AlgorithmLibrary library;
    library.add_spelled(name);
    AlgorithmRequest request = gated_request(kind, node * nodes, node);
    request.channels = static_cast<int>(random.integer(1, 2));
    request.compile.fuse = random.integer(0, 1) == 1;
    if (check_request(library.at(name), request)) continue;
    CAPTURE(name, to_string(kind), request.channels, request.compile.fuse);
    const auto program = build_algorithm(library.at(name), request);  // verified
    const ExecuteReport report = execute(*program, {.interleavings = 4, .seed = 3});
    INFO(report.to_string());
    REQUIRE(report.ok);
    ++programs;
  }
  CHECK(programs == 60);
}

TEST_CASE("gates: kernels that wait for each other are a deadlock", "[collectives][gates]") {
  ThreadBlockProgram program = exchange();
  REQUIRE(verify(program).ok);
  // Each GPU needs the other's messages in the same kernel.
  program.gates = {{1, 1, 0}};
  CHECK(find_deadlock(program, 2));
  CHECK_FALSE(verify(program).ok);
  CHECK_FALSE(execute(program).ok);
  program.gates = {{1, 0, 0}, {0, 0, 1}};
  CHECK(find_deadlock(program, 2));
  CHECK(verify(program).problems ==
        std::vector<std::string>{"deadlock: kernels wait for each other's ends (gates)"});
  CHECK(execute(program).problems ==
        std::vector<std::string>{"deadlock: kernels wait for each other's ends (gates)"});
  program.gates = {{1, 2, 0}};
  CHECK(
      verify(program).problems ==
      std::vector<std::string>{"gate of rank 1, kernel 2, after rank 0; expected two ranks from 0 "
                               "to 1 and a kernel from 0 to 1"});
  program.gates = {{1, 0, 1}};
  CHECK_FALSE(verify(program).ok);
}

TEST_CASE("gates: they are part of a program's hash, and have no MSCCL XML",
          "[collectives][gates]") {
  const AlgorithmRequest request = gated_request(Kind::AllGather, 4, 2);
  const auto gated = program_named("hierarchical:2x2:ring:subcomms=1", request);
  ThreadBlockProgram free = *gated;
  CHECK(program_hash(free) == program_hash(*gated));
  free.gates.clear();
  CHECK(program_hash(free) != program_hash(*gated));
  ThreadBlockProgram one =
      *program_named("hierarchical:4:ring", gated_request(Kind::AllGather, 4, 4));
  CHECK_NOTHROW(to_msccl_xml(one));
  one.gates = {{1, 0, 0}};
  CHECK_THROWS_AS(to_msccl_xml(one), UserError);
}

TEST_CASE("gates: the builder refuses ranks that do not exist", "[collectives][gates]") {
  ProgramBuilder p("wrong", Contract::make(Kind::AllGather, 2, 1));
  CHECK_THROWS_AS(p.gate(0, 2), UserError);
  CHECK_THROWS_AS(p.gate(-1, 1), UserError);
  CHECK_THROWS_AS(p.gate(1, 1), UserError);
}

}  // namespace cclgym::test
