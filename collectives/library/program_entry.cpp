#include "collectives/library/program_entry.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

#include "collectives/msccl/msccl_xml.hpp"
#include "collectives/verifier/deadlock.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/files/text_file.hpp"
#include "core/hash.hpp"

namespace cclgym {

namespace {

/// Slots of NCCL's connections; no runtime has more.
constexpr int kMaxSlots = 8;

class ProgramHash {
 public:
  void add(const ThreadBlockProgram& program) {
    add_contract(program.contract);
    number(static_cast<int>(program.traits.runtime), program.traits.tree_latency, program.channels);
    const CostTraits& traits = program.traits;
    if (traits.initiator != Initiator::Push || traits.copy != CopyEngine::Kernel || traits.direct) {
      number(static_cast<int>(traits.initiator), static_cast<int>(traits.copy), traits.direct);
    }
    const CostTraits plain;
    if (traits.transport != plain.transport || traits.reducer != plain.reducer ||
        traits.nic != plain.nic) {
      number(static_cast<int>(traits.transport), static_cast<int>(traits.reducer),
             static_cast<int>(traits.nic));
    }
    for (const KernelGate& gate : program.gates) number(gate.rank, gate.kernel, gate.after);
    for (const GpuProgram& gpu : program.gpus) {
      number(gpu.input_chunks, gpu.output_chunks, gpu.scratch_chunks, gpu.thread_blocks.size());
      for (const ThreadBlock& block : gpu.thread_blocks) {
        number(block.send_peer, block.recv_peer, block.channel, block.kernel, block.steps.size());
        for (const Instruction& step : block.steps) add_step(step);
      }
    }
  }
  [[nodiscard]] std::string hex() const { return hash_.hex(); }

 private:
  template <class... Numbers>
  void number(Numbers... numbers) {
    (hash_.add(static_cast<std::uint64_t>(numbers)), ...);
  }

  void add_contract(const Contract& contract) {
    hash_.add(contract.name());
    number(static_cast<int>(contract.kind()), contract.ranks(), contract.root(),
           contract.in_place());
    for (int rank = 0; rank < contract.ranks(); ++rank) {
      number(contract.input_chunks(rank), contract.output_chunks(rank));
      for (int index = 0; index < contract.output_chunks(rank); ++index) {
        const auto value = contract.postcondition(rank, index);
        number(value ? value->size() + 1 : 0);
        if (!value) continue;
        for (const ChunkId& chunk : *value) number(chunk.rank, chunk.index);
      }
    }
  }

  void add_step(const Instruction& step) {
    number(static_cast<int>(step.opcode), static_cast<int>(step.source.buffer), step.source.index,
           static_cast<int>(step.target.buffer), step.target.index, step.count, step.group,
           step.dependencies.size());
    if (step.answers != kNoGroup) number(step.answers);
    for (const StepRef& wait : step.dependencies) number(wait.thread_block, wait.step);
  }

  TextHash hash_;
};

bool adds_while_receiving(const ThreadBlockProgram& program) {
  const auto adds = [](const Instruction& step) {
    return receives(step.opcode) && reduces(step.opcode);
  };
  for (const GpuProgram& gpu : program.gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      if (std::ranges::any_of(block.steps, adds)) return true;
    }
  }
  return false;
}

std::string description_of(const ThreadBlockProgram& program) {
  return fmt::format("program of {} channel{}, {} thread block{} on the busiest GPU",
                     program.channels, program.channels == 1 ? "" : "s",
                     program.most_resident_blocks(),
                     program.most_resident_blocks() == 1 ? "" : "s");
}

}  // namespace

std::optional<int> min_slots_of(const ThreadBlockProgram& program) {
  for (int slots = 1; slots <= kMaxSlots; ++slots) {
    if (!find_deadlock(program, slots)) return slots;
  }
  return std::nullopt;
}

AlgorithmEntry program_entry(std::string name, std::shared_ptr<const ThreadBlockProgram> program) {
  if (const VerifyReport report = verify(*program); !report.ok) {
    throw UserError(fmt::format("program '{}' is wrong (cclgym verify prints all problems): {}",
                                name, report.problems.front()));
  }
  AlgorithmEntry entry;
  entry.name = std::move(name);
  entry.description = description_of(*program);
  entry.collectives = {program->contract.kind()};
  entry.ranks = RankRule::exactly(program->contract.ranks());
  entry.traits = program->traits;
  entry.switches = program->uses_switches() ? SwitchUse::Everywhere : SwitchUse::None;
  const std::optional<int> min_slots = min_slots_of(*program);
  if (!min_slots) {
    throw UserError(fmt::format("program '{}': it deadlocks where a connection holds {} messages",
                                entry.name, kMaxSlots));
  }
  entry.min_slots = *min_slots;
  entry.adds_while_receiving = adds_while_receiving(*program);
  entry.program = std::move(program);
  return entry;
}

AlgorithmEntry read_program_entry(std::string name, const std::string& path,
                                  const SourceLocation& where) {
  const std::string text = [&] {
    try {
      return read_text_file(path, kMostXmlBytes);
    } catch (const UserError& error) {
      throw UserError(where, error.what());
    }
  }();
  XmlProgram file = parse_msccl_xml(text, path);
  try {
    AlgorithmEntry entry = program_entry(
        std::move(name), std::make_shared<const ThreadBlockProgram>(std::move(file.program)));
    entry.file = path;
    return entry;
  } catch (const UserError& error) {
    throw UserError(where, fmt::format("{}: {}", path, error.what()));
  }
}

std::optional<std::string> check_fixed_program(const AlgorithmEntry& algorithm, int channels,
                                               int instances, int root) {
  if (!algorithm.fixed()) return std::nullopt;
  const ThreadBlockProgram& program = *algorithm.program;
  if (channels != program.channels) {
    return fmt::format("channels of program '{}' must be {}, found {}", algorithm.name,
                       program.channels, channels);
  }
  if (instances != 1) {
    return fmt::format("instances of program '{}' must be 1, found {}", algorithm.name, instances);
  }
  if (is_rooted(program.contract.kind()) && root != program.contract.root()) {
    return fmt::format("root of program '{}' must be {}, found {}", algorithm.name,
                       program.contract.root(), root);
  }
  return std::nullopt;
}

std::string program_hash(const ThreadBlockProgram& program) {
  ProgramHash hash;
  hash.add(program);
  return hash.hex();
}

}  // namespace cclgym
