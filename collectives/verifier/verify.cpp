#include "collectives/verifier/verify.hpp"

#include <fmt/format.h>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "collectives/expand_parallel.hpp"
#include "collectives/verifier/deadlock.hpp"
#include "collectives/verifier/symbolic_memory.hpp"
#include "collectives/verifier/verify_internal.hpp"
#include "core/index.hpp"

namespace cclgym {

namespace verifier {

namespace {

std::uint64_t connection_key(std::int32_t source, std::int32_t target, const ThreadBlock& block,
                             const ThreadBlockProgram& program) {
  const std::uint64_t pair =
      static_cast<std::uint64_t>(source) * program.gpus.size() + static_cast<std::uint64_t>(target);
  return (pair * static_cast<std::uint64_t>(program.channels) +
          static_cast<std::uint64_t>(block.channel)) *
             static_cast<std::uint64_t>(kMostKernels) +
         static_cast<std::uint64_t>(block.kernel);
}

}  // namespace

void Problems::add_all(std::vector<std::string> texts, std::size_t count) {
  count_ += count;
  texts_.insert(texts_.end(), std::make_move_iterator(texts.begin()),
                std::make_move_iterator(texts.end()));
}

VerifyReport Problems::report() && {
  VerifyReport report;
  report.ok = count_ == 0;
  report.problems = std::move(texts_);
  if (count_ > report.problems.size()) {
    report.problems.push_back(fmt::format("… and {} more", count_ - report.problems.size()));
  }
  return report;
}

BlockIndex::BlockIndex(const ThreadBlockProgram& program) {
  std::unordered_map<std::uint64_t, std::int32_t> known;
  const auto connection = [&](std::int32_t source, std::int32_t target, const ThreadBlock& block) {
    const auto [entry, is_new] = known.try_emplace(connection_key(source, target, block, program),
                                                   static_cast<std::int32_t>(connections_.size()));
    if (is_new) connections_.push_back({source, target, block.channel, block.kernel});
    return entry->second;
  };
  for (std::size_t rank = 0; rank < program.gpus.size(); ++rank) {
    first_.push_back(blocks_.size());
    const auto& blocks = program.gpus[rank].thread_blocks;
    for (std::size_t id = 0; id < blocks.size(); ++id) {
      const ThreadBlock& block = blocks[id];
      const auto number = static_cast<std::int32_t>(blocks_.size());
      Entry entry;
      entry.rank = static_cast<std::int32_t>(rank);
      entry.id = static_cast<std::int32_t>(id);
      entry.block = &block;
      if (block.send_peer >= 0) {
        entry.sends = connection(entry.rank, block.send_peer, block);
        connections_[at(entry.sends)].sender = number;
      }
      if (block.recv_peer >= 0) {
        entry.receives = connection(block.recv_peer, entry.rank, block);
        connections_[at(entry.receives)].receiver = number;
      }
      blocks_.push_back(entry);
    }
  }
  first_.push_back(blocks_.size());
}

void check_switches(const ThreadBlockProgram& program, std::int32_t slots, Problems& problems) {
  const auto stuck = find_deadlock(program, slots);
  if (!stuck) return;
  problems.add([&] {
    return fmt::format("deadlock: {}: waits for the other messages of a transfer by the switches",
                       describe_step(program, stuck->rank, stuck->thread_block, stuck->step));
  });
}

std::string closed_gates() { return "deadlock: kernels wait for each other's ends (gates)"; }

std::string in_kernel(std::int32_t kernel) {
  return kernel > 0 ? fmt::format(" in kernel {}", kernel) : std::string();
}

std::vector<std::int32_t> scratch_chunks(const ThreadBlockProgram& program) {
  std::vector<std::int32_t> chunks;
  for (const GpuProgram& gpu : program.gpus) chunks.push_back(gpu.scratch_chunks);
  return chunks;
}

}  // namespace verifier

std::string VerifyReport::to_string() const {
  std::string text;
  for (const std::string& problem : problems) text += problem + "\n";
  return text;
}

VerifyReport verify(const ThreadBlockProgram& program, const VerifyOptions& options) {
  verifier::Problems problems(options.most_problems);
  verifier::check_form(program, problems);
  if (problems.any()) return std::move(problems).report();
  const verifier::BlockIndex blocks(program);
  const auto execution = verifier::check_execution(program, blocks, options.slots, problems);
  if (!problems.any() && program.uses_switches()) {
    verifier::check_switches(program, options.slots, problems);
  }
  verifier::check_races(program, blocks, execution, options.slots, problems);
  return std::move(problems).report();
}

VerifyReport verify(const Program& program, const VerifyOptions& options) {
  if (has_partial_operations(program)) return verify(expand_parallel(program), options);
  verifier::Problems problems(options.most_problems);
  SymbolicMemory memory(program.contract, program.scratch_chunks);
  const MemoryLayout& layout = memory.layout();
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const Operation& operation = program.operations[i];
    const auto read = [&](Location location, std::int32_t offset) {
      location.index += offset;
      const ValueId value = memory.read(layout.place(location));
      if (value != kUninitialisedValue) return value;
      problems.add([&] {
        return fmt::format("operation {}: {}: {} holds nothing", i, describe(operation),
                           describe_location(location));
      });
      return kPoisonedValue;
    };
    values.clear();
    for (std::int32_t k = 0; k < operation.count; ++k) values.push_back(read(operation.source, k));
    for (std::int32_t k = 0; k < operation.count; ++k) {
      ValueId value = values[static_cast<std::size_t>(k)];
      if (operation.kind == OperationKind::Reduce) {
        value = memory.sum(value, read(operation.target, k));
      }
      memory.write(layout.place(operation.target) + static_cast<std::size_t>(k), value);
    }
  }
  std::vector<std::string> texts;
  const std::size_t wrong = memory.check_outputs(texts, problems.room());
  problems.add_all(std::move(texts), wrong);
  return std::move(problems).report();
}

}  // namespace cclgym
