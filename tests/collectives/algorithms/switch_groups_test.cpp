// Tests of copies and sums by switches: groups of messages in the DSL, the IR and the verifier.
#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "collectives/compiler/compile.hpp"
#include "collectives/verifier/deadlock.hpp"
#include "collectives/verifier/interpreter.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;

namespace {

/// AllReduce of three chunks on three ranks: rank r sums chunk r and distributes it.
Program three() {
  ProgramBuilder p("three", Contract::make(CollectiveKind::AllReduce, 3, 3, true));
  for (int owner = 0; owner < 3; ++owner) {
    const std::array others{(owner + 1) % 3, (owner + 2) % 3};
    const std::array theirs{p.chunk(others[0], Buffer::Input, owner),
                            p.chunk(others[1], Buffer::Input, owner)};
    const ChunkRef sum =
        p.chunk(owner, Buffer::Input, owner).reduce_in_switch(theirs, {.channel = 0});
    sum.multicast(others, Buffer::Input, owner, {.channel = 1});
  }
  return p.finish();
}

template <typename Write>
std::string refusal(Write write) {
  ProgramBuilder p("bad", Contract::make(CollectiveKind::AllReduce, 3, 1, true));
  try {
    write(p, p.chunk(0, Buffer::Input, 0));
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

// The grouped send with this number, counted from 0.
Instruction& grouped_send(ThreadBlockProgram& program, int number) {
  for (GpuProgram& gpu : program.gpus) {
    for (ThreadBlock& block : gpu.thread_blocks) {
      for (Instruction& step : block.steps) {
        if (step.group != kNoGroup && sends(step.opcode) && number-- == 0) return step;
      }
    }
  }
  throw std::logic_error("not so many");
}

}  // namespace

TEST_CASE("groups: all checks accept programs with switches", "[collectives][switch-groups]") {
  const ThreadBlockProgram program = compile(three());
  CHECK(program.uses_switches());
  CHECK(verify(three()).ok);
  CHECK(verify(program, {.slots = 1}).ok);
  CHECK(execute(program).ok);
  CHECK_FALSE(find_deadlock(program, 1).has_value());
  // Six groups of two messages, and no fusion.
  int messages = 0;
  for (const GpuProgram& gpu : program.gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      for (const Instruction& step : block.steps) {
        CHECK(step.group != kNoGroup);
        CHECK_FALSE((sends(step.opcode) && receives(step.opcode)));
        messages += sends(step.opcode) ? 1 : 0;
      }
    }
  }
  CHECK(messages == 12);
  const ThreadBlockProgram twice = compile(three(), {.instances = 2});
  CHECK(verify(twice).ok);
  CHECK(execute(twice).ok);
}

TEST_CASE("groups: the DSL refuses transfers that are not between one rank and others",
          "[collectives][switch-groups]") {
  using Ranks = std::array<int, 2>;
  CHECK(refusal([](ProgramBuilder&, const ChunkRef& c) {
          c.multicast(Ranks{1, 1}, Buffer::Input, 0);
        }).find("rank 1 appears twice") != std::string::npos);
  CHECK(refusal([](ProgramBuilder&, const ChunkRef& c) {
          c.multicast(Ranks{1, 0}, Buffer::Input, 0);
        }).find("rank 0 appears twice") != std::string::npos);
  CHECK(refusal([](ProgramBuilder&, const ChunkRef& c) {
          (void)c.reduce_in_switch({});
        }).find("without other ranks") != std::string::npos);
  CHECK(refusal([](ProgramBuilder&, const ChunkRef& c) {
          c.multicast(Ranks{1, 3}, Buffer::Input, 0);
        }).find("no rank 3") != std::string::npos);
  CHECK(refusal([](ProgramBuilder& p, const ChunkRef& c) {
          const std::array theirs{p.chunk(1, Buffer::Input, 0), p.chunk(2, Buffer::Input, 0)};
          (void)p.chunk(1, Buffer::Input, 0).reduce(c);
          (void)c.reduce_in_switch(theirs);
        }).find("stale reference") != std::string::npos);
}

TEST_CASE("groups: the verifier refuses groups that no switch can carry out",
          "[collectives][switch-groups]") {
  const ThreadBlockProgram right = compile(three());
  {
    ThreadBlockProgram program = right;  // a group of messages from two ranks to two ranks
    grouped_send(program, 0).group = grouped_send(program, 11).group;
    CHECK(verify(program).to_string().find("is neither one rank's messages to several others") !=
          std::string::npos);
  }
  {
    ThreadBlockProgram program = right;  // a multicast with a message that waits for another
    const auto& blocks = right.gpus[0].thread_blocks;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].steps.front().opcode != Opcode::Send || blocks[b].channel != 1) continue;
      for (std::size_t other = 0; other < blocks.size(); ++other) {
        if (other == b || blocks[other].channel != 1) continue;
        if (blocks[other].steps.front().opcode != Opcode::Send) continue;
        program.gpus[0].thread_blocks[b].steps.front().dependencies = {
            {static_cast<std::int32_t>(other), 0}};
        CHECK(verify(program).to_string().find("waits for the other messages of a transfer") !=
              std::string::npos);
        CHECK(find_deadlock(program, 8).has_value());
        return;
      }
    }
    FAIL("no multicast on rank 0");
  }
}

TEST_CASE("groups: switches send a sum back to all that sent to it",
          "[collectives][switch-groups]") {
  ProgramBuilder p("sharp", Contract::make(CollectiveKind::AllReduce, 3, 1, true));
  const std::array others{p.chunk(0, Buffer::Input, 0), p.chunk(2, Buffer::Input, 0)};
  const ChunkRef sum = p.chunk(1, Buffer::Input, 0).all_reduce_in_switch(others, {.channel = 0});
  CHECK(sum.rank() == 1);
  const ThreadBlockProgram right = compile(p.finish());
  CHECK(verify(right, {.slots = 1}).ok);
  CHECK(execute(right).ok);
  for (const GpuProgram& gpu : right.gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      for (const Instruction& step : block.steps) {
        CHECK(step.answers == (step.group == 1 ? 0 : kNoGroup));
      }
    }
  }
  const auto refused = [&](int number, std::int32_t answers) {
    ThreadBlockProgram program = right;
    grouped_send(program, number).answers = answers;
    return verify(program).to_string();
  };
  // Sends 1 and 2 are those of rank 1, the answer: one of them answers no group, or both answer a
  // group that does not exist or themselves.
  CHECK(refused(1, kNoGroup).find("is neither one rank's messages") != std::string::npos);
  for (const std::int32_t wrong : {1, 7}) {
    ThreadBlockProgram program = right;
    grouped_send(program, 1).answers = grouped_send(program, 2).answers = wrong;
    CHECK(verify(program).to_string().find("does not send the sum of the group that it answers") !=
          std::string::npos);
  }
  // Each of two instances has its own groups.
  ProgramBuilder two("sharp", Contract::make(CollectiveKind::AllReduce, 2, 1, true));
  const std::array other{two.chunk(1, Buffer::Input, 0)};
  (void)two.chunk(0, Buffer::Input, 0).all_reduce_in_switch(other, {.channel = 0});
  const ThreadBlockProgram twice = compile(two.finish(), {.instances = 2});
  CHECK(verify(twice).ok);
  std::set<std::pair<std::int32_t, std::int32_t>> answers;
  for (const ThreadBlock& block : twice.gpus[0].thread_blocks) {
    for (const Instruction& step : block.steps) {
      if (sends(step.opcode)) answers.emplace(step.group, step.answers);
    }
  }
  CHECK(answers == std::set<std::pair<std::int32_t, std::int32_t>>{{2, 0}, {3, 1}});
}

TEST_CASE("groups: heads of CollNet's chains follow the rings", "[collectives][switch-groups]") {
  AlgorithmRequest request;
  request.ranks = 6;
  request.ranks_per_server = 3;
  request.channels = 2;
  request.rings = {{1, 0, 2, 4, 3, 5}, {2, 1, 0, 5, 4, 3}};
  const auto program = build_algorithm("collnet-chain", request);
  std::set<std::pair<int, int>> heads;  // ranks that send into a group, with their channel
  for (int rank = 0; rank < 6; ++rank) {
    for (const ThreadBlock& block : program->gpus[static_cast<std::size_t>(rank)].thread_blocks) {
      for (const Instruction& step : block.steps) {
        if (step.group != kNoGroup && sends(step.opcode)) heads.emplace(rank, block.channel);
      }
    }
  }
  CHECK(heads == std::set<std::pair<int, int>>{{1, 0}, {4, 0}, {2, 1}, {5, 1}});
  request.rings = {};
  request.ranks_per_server = 6;
  CHECK_THROWS_WITH(build_algorithm("collnet-chain", request),
                    "collnet-chain: all ranks are on one node; CollNet needs at least two");
}

TEST_CASE("groups: NVLS has two transfers per slice, NVLSTree two per slice and node",
          "[collectives][switch-groups]") {
  const auto groups_of = [](const char* name, int ranks, int servers) {
    AlgorithmRequest request;
    request.ranks = ranks;
    request.channels = 2;
    request.ranks_per_server = ranks / servers;
    const auto program = build_algorithm(name, request);
    int most = -1;
    for (const GpuProgram& gpu : program->gpus) {
      for (const ThreadBlock& block : gpu.thread_blocks) {
        for (const Instruction& step : block.steps) most = std::max(most, step.group);
      }
    }
    return most + 1;
  };
  CHECK(groups_of("nvls", 8, 1) == 2 * 8 * 2);
  // Over three nodes, four slices per channel have a transfer up and one down in each node, and a
  // sum in the network, which is two groups.
  CHECK(groups_of("nvls", 12, 3) == 2 * 4 * (2 * 3 + 2));
  CHECK(groups_of("collnet-direct", 12, 3) == 2 * 4 * 2);
  CHECK(groups_of("collnet-chain", 12, 3) == 2 * 2);
  CHECK(groups_of("nvls-tree", 12, 3) == 2 * 4 * 3 * 2);
  CHECK(groups_of("nvls-tree", 3, 3) == 0);  // with one GPU per node, only the trees remain
}
