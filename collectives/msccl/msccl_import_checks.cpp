#include "collectives/msccl/msccl_import_checks.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <string>

#include "collectives/verifier/deadlock.hpp"
#include "collectives/verifier/verify_internal.hpp"
#include "core/index.hpp"

namespace cclgym::msccl {

namespace {}  // namespace

void check_dependencies(const ImportedSteps& steps, int rank) {
  const auto& blocks = steps.program.gpus[at(rank)].thread_blocks;
  for (std::int32_t id = 0; id < std::ssize(blocks); ++id) {
    const auto& instructions = blocks[at(id)].steps;
    for (std::int32_t number = 0; number < std::ssize(instructions); ++number) {
      for (const StepRef& wait : instructions[at(number)].dependencies) {
        const pugi::xml_node& node = steps.node(rank, id, number);
        if (wait.thread_block >= std::ssize(blocks) ||
            wait.step >= std::ssize(blocks[at(wait.thread_block)].steps)) {
          steps.document.fail(node,
                              fmt::format("waits for thread block {}, step {}, which does not "
                                          "exist",
                                          wait.thread_block, wait.step));
        }
        if (!steps.document.flag(steps.node(rank, wait.thread_block, wait.step), "hasdep")) {
          steps.document.fail(node,
                              fmt::format("waits for thread block {}, step {}, whose hasdep is 0: "
                                          "it never publishes its completion",
                                          wait.thread_block, wait.step));
        }
      }
    }
  }
}

void check_messages(const ImportedSteps& steps) {
  const verifier::BlockIndex blocks(steps.program);
  for (const auto& connection : blocks.connections()) {
    // The steps of one end that send or receive on the connection.
    const auto messages = [&](std::int32_t block, bool sending) {
      std::vector<std::int32_t> found;
      if (block < 0) return found;
      const auto& all = blocks[block].block->steps;
      for (std::int32_t i = 0; i < std::ssize(all); ++i) {
        if (sending ? sends(all[at(i)].opcode) : receives(all[at(i)].opcode)) found.push_back(i);
      }
      return found;
    };
    const auto sent = messages(connection.sender, true);
    const auto received = messages(connection.receiver, false);
    const auto node = [&](std::int32_t block, std::int32_t step) {
      return steps.node(blocks[block].rank, blocks[block].id, step);
    };
    const std::string where = fmt::format("from GPU {} to GPU {} on channel {}", connection.source,
                                          connection.target, connection.channel);
    if (received.size() > sent.size()) {
      steps.document.fail(node(connection.receiver, received[sent.size()]),
                          fmt::format("unmatched receive: message {} {}, of which {} are sent",
                                      sent.size(), where, sent.size()));
    }
    if (sent.size() > received.size()) {
      steps.document.fail(node(connection.sender, sent[received.size()]),
                          fmt::format("unmatched send: message {} {}, of which {} are received",
                                      received.size(), where, received.size()));
    }
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const std::int32_t count = blocks[connection.sender].block->steps[at(sent[i])].count;
      const std::int32_t expected = blocks[connection.receiver].block->steps[at(received[i])].count;
      if (count == expected) continue;
      steps.document.fail(
          node(connection.receiver, received[i]),
          fmt::format("cnt {}; message {} {} has cnt {}", expected, i, where, count));
    }
  }
}

void check_order(const ImportedSteps& steps) {
  if (const auto stuck = find_deadlock(steps.program, 0)) {
    steps.document.fail(steps.node(stuck->rank, stuck->thread_block, stuck->step),
                        "deadlock: this step is part of a cycle of waits");
  }
}

}  // namespace cclgym::msccl
