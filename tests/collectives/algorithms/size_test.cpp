// Size of the compiler's results, compared with the public msccl-tools compiler (2023-04): steps of
// MSCCL XML (nops included) of all GPUs, and thread blocks of the busiest GPU.
#include <algorithm>

#include "collectives/algorithms/measured_programs.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "collectives/verifier/interpreter.hpp"
#include "collectives/verifier/verify.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;

namespace {

struct Measured {
  const char* program;  ///< name in msccl-tools
  const char* algorithm;
  CollectiveKind collective;
  int ranks;
  int ranks_per_server;
  int channels;  ///< requested channels
  int instances;
  int most_channels;
  std::int64_t most_blocks;  ///< max on one GPU
  std::int64_t most_steps;   ///< max of the sum over all GPUs
};

constexpr CollectiveKind kReduce = CollectiveKind::AllReduce;
constexpr CollectiveKind kGather = CollectiveKind::AllGather;
constexpr CollectiveKind kToAll = CollectiveKind::AllToAll;

const Measured kMeasured[] = {
    {"allreduce_ring_8_c1_i1", "spread-ring", kReduce, 8, 8, 1, 1, 1, 1, 120},
    {"allreduce_ring_8_c8_i4", "spread-ring", kReduce, 8, 8, 8, 4, 32, 32, 480},
    {"allreduce_ring_8_c4_i8", "spread-ring", kReduce, 8, 8, 4, 8, 32, 32, 960},
    {"allreduce_ring_simple_8_i1", "ring", kReduce, 8, 8, 1, 1, 1, 1, 120},
    {"allreduce_allpairs_8_i2", "all-pairs", kReduce, 8, 8, 1, 2, 2, 16, 2672},
    {"allreduce_allpairs_v2_8_i1", "all-pairs", kReduce, 8, 8, 1, 1, 1, 8, 298},
    {"allreduce_rdh_8_i1", "halving-doubling", kReduce, 8, 8, 1, 1, 1, 3, 104},
    {"allgather_ring_simple", "ring", kGather, 4, 4, 1, 1, 4, 5, 20},
    {"allgather_ring_8_c1_i1", "ring", kGather, 8, 8, 1, 1, 1, 1, 64},
    {"allgather_allpairs_8_i1", "all-pairs", kGather, 8, 8, 1, 1, 1, 7, 112},
    {"allgather_recdoubling_8_i1", "recursive-doubling", kGather, 8, 8, 1, 1, 1, 3, 56},
    {"alltoall_allpairs_8_i1", "naive", kToAll, 8, 8, 1, 1, 1, 14, 120},
    {"alltonext_forward_3_i1", "all-to-next", CollectiveKind::AllToNext, 24, 8, 1, 1, 2, 11, 118},
    {"hier_allreduce_8x2_i1_manual", "hierarchical", kReduce, 16, 8, 2, 1, 6, 6, 576},
    {"hier_allreduce_8x4_i1_manual", "hierarchical", kReduce, 32, 8, 4, 1, 10, 9, 2304},
    {"hier_allreduce_8x8_i1_manual", "hierarchical", kReduce, 64, 8, 8, 1, 18, 17, 9216},
    {"hier_allreduce_8x16_i1_manual", "hierarchical", kReduce, 128, 8, 16, 1, 34, 33, 36864},
    {"alltoall_two_step_2x8", "two-step", kToAll, 16, 8, 1, 1, 6, 16, 624},
    {"alltoall_two_step_4x8", "two-step", kToAll, 32, 8, 1, 1, 14, 20, 2784},
    {"alltoall_two_step_8x8", "two-step", kToAll, 64, 8, 1, 1, 18, 28, 11712},
    {"alltoall_two_step_16x8", "two-step", kToAll, 128, 8, 1, 1, 18, 44, 48000},
    {"alltoall_three_step_2x8", "three-step", kToAll, 16, 8, 1, 1, 2, 24, 528},
    {"alltoall_three_step_4x8", "three-step", kToAll, 32, 8, 1, 1, 2, 25, 2208},
    {"alltoall_three_step_16x8", "three-step", kToAll, 128, 8, 1, 1, 2, 32, 36480},
    {"allreduce_1step_8_i1", "one-step", kReduce, 8, 8, 1, 1, 1, 8, 1224},
    {"allreduce_multinode_allpairs_16_i1", "hierarchical-all-pairs", kReduce, 32, 16, 1, 1, 2, 18,
     16864},
    {"allreduce_ncv4_4_i1", "hierarchical-all-pairs", kReduce, 4, 2, 1, 1, 2, 3, 28},
    {"allreduce_ncv4_v2_4_i1", "chain", kReduce, 4, 4, 2, 1, 2, 4, 16},
};

AlgorithmRequest request_of(const Measured& measured) {
  AlgorithmRequest request;
  request.collective = measured.collective;
  request.ranks = measured.ranks;
  request.ranks_per_server = measured.ranks_per_server;
  request.channels = measured.channels;
  request.compile = {.instances = measured.instances};
  return request;
}

std::int64_t most_blocks(const ThreadBlockProgram& program) {
  std::int64_t most = 0;
  for (const GpuProgram& gpu : program.gpus) {
    most = std::max<std::int64_t>(most, std::ssize(gpu.thread_blocks));
  }
  return most;
}

}  // namespace

TEST_CASE("size: no more steps and thread blocks than msccl-tools", "[collectives][size]") {
  for (const Measured& measured : kMeasured) {
    const auto program = build_algorithm(measured.algorithm, request_of(measured));
    INFO(measured.program << ": " << program->channels << " channels, " << most_blocks(*program)
                          << " blocks, " << msccl_steps(*program) << " steps");
    CHECK(program->channels <= measured.most_channels);
    CHECK(most_blocks(*program) <= measured.most_blocks);
    CHECK(msccl_steps(*program) <= measured.most_steps);
  }
}

TEST_CASE("size: programs without an algorithm in the library", "[collectives][size]") {
  struct Custom {
    const char* program;  ///< name in msccl-tools
    Program ours;
    int most_channels;
    std::int64_t most_blocks;  ///< max on one GPU
    std::int64_t most_steps;   ///< max of the sum over all GPUs
  };
  const Custom customs[] = {
      {"pipeline_allpairs_8_i1", test::pipeline_all_pairs(8), 2, 9, 1072},
      {"pipeline_ring_8_c1_i1", test::pipeline_ring(8), 2, 2, 144},
      {"alltonext_backward_3_i1", test::all_to_previous(3, 8), 2, 11, 118},
      {"hier_allreduce_8x2_i1", test::hierarchical_by_chunks(2, 8), 24, 26, 544},
  };
  for (const Custom& custom : customs) {
    const ThreadBlockProgram program = compile(custom.ours);
    INFO(custom.program << ": " << program.channels << " channels, " << most_blocks(program)
                        << " blocks, " << msccl_steps(program) << " steps");
    const VerifyReport report = verify(program, {.slots = 2});
    INFO(report.to_string());
    REQUIRE(report.ok);
    REQUIRE(execute(program, {.interleavings = 8}).ok);
    CHECK(program.channels <= custom.most_channels);
    CHECK(most_blocks(program) <= custom.most_blocks);
    CHECK(msccl_steps(program) <= custom.most_steps);
  }
}

TEST_CASE("size: the work of compiling is near-linear", "[collectives][size]") {
  for (const char* name : {"hierarchical", "two-step"}) {
    const auto bytes_per_instruction = [&](int ranks) {
      AlgorithmRequest request;
      request.collective = name[0] == 'h' ? kReduce : kToAll;
      request.ranks = ranks;
      request.ranks_per_server = 8;
      request.channels = name[0] == 'h' ? ranks / 8 : 1;
      const std::size_t before = test::allocated_bytes();
      const ThreadBlockProgram program = compile(trace_algorithm(name, request));
      return static_cast<double>(test::allocated_bytes() - before) /
             static_cast<double>(program.instructions());
    };
    const double small = bytes_per_instruction(32);
    const double large = bytes_per_instruction(128);
    INFO(name << ": " << small << " and " << large << " bytes per instruction");
    CHECK(large <= 1.5 * small);
  }
}
