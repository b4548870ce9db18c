#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "collectives/verifier/verify_internal.hpp"

namespace cclgym::verifier {

namespace {

class FormCheck {
 public:
  FormCheck(const ThreadBlockProgram& program, Problems& problems)
      : program_(program), problems_(problems) {}

  void run();

 private:
  void check_gate(const KernelGate& gate);
  void check_gpu(int rank);
  void check_block(int rank, int id);
  void check_step(int rank, int id, int step);
  void check_slice(int rank, int id, int step, std::string_view what, const BufferSlice& slice);
  void check_overlap(int rank, int id, int step);
  [[nodiscard]] const GpuProgram& gpu(int rank) const {
    return program_.gpus[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const ThreadBlock& block(int rank, int id) const {
    return gpu(rank).thread_blocks[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] const Instruction& step(int rank, int id, int number) const {
    return block(rank, id).steps[static_cast<std::size_t>(number)];
  }
  void report(int rank, int id, int number, const std::string& what) {
    problems_.add([&] { return describe_step(program_, rank, id, number) + ": " + what; });
  }

  const ThreadBlockProgram& program_;
  Problems& problems_;
  void check_groups();

  struct Group {
    int rank = 0;
    int id = 0;
    int number = 0;  ///< step number
    std::set<int> sources{};
    std::set<int> targets{};
    std::set<std::tuple<int, int, int>> alike{};  ///< counts, kernels, and groups that are answered
    int messages = 0;
  };
  [[nodiscard]] bool goes_back(const Group& group) const;

  std::set<std::tuple<int, int, int, int, bool>> ends_;  ///< rank, kernel, channel, peer, sends
  std::map<int, Group> groups_;
};

// True if the messages of a group go back to the ranks from which the group that they answer came.
bool FormCheck::goes_back(const Group& group) const {
  const auto [count, kernel, answers] = *group.alike.begin();
  if (answers == kNoGroup) return true;
  const auto asked = groups_.find(answers);
  return asked != groups_.end() && asked->second.sources == group.targets &&
         asked->second.targets == group.sources && group.sources.size() == 1 &&
         asked->second.alike == std::set{std::tuple{count, kernel, int{kNoGroup}}};
}

// A group has one rank's messages to several others, or the messages of several ranks to one rank,
// all with equal counts.
void FormCheck::check_groups() {
  for (const auto& [name, group] : groups_) {
    const std::size_t ends = group.sources.size() + group.targets.size();
    const bool star = (group.sources.size() == 1 || group.targets.size() == 1) &&
                      ends == static_cast<std::size_t>(group.messages) + 1;
    if (star && group.alike.size() == 1) {
      if (!goes_back(group)) {
        report(
            group.rank, group.id, group.number,
            fmt::format("group {} does not send the sum of the group that it answers back to all "
                        "ranks that sent to it",
                        name));
      }
      continue;
    }
    report(group.rank, group.id, group.number,
           fmt::format("group {} is neither one rank's messages to several others nor several "
                       "ranks' to one, with equal counts in one kernel",
                       name));
  }
}

void FormCheck::run() {
  if (std::ssize(program_.gpus) != program_.contract.ranks()) {
    problems_.add([&] {
      return fmt::format("the program is for {} GPUs, its contract for {} ranks",
                         program_.gpus.size(), program_.contract.ranks());
    });
    return;
  }
  if (program_.channels < 1) {
    problems_.add(
        [&] { return fmt::format("{} channels; expected at least 1", program_.channels); });
    return;
  }
  for (int rank = 0; rank < program_.contract.ranks(); ++rank) check_gpu(rank);
  for (const KernelGate& gate : program_.gates) check_gate(gate);
  check_groups();
}

void FormCheck::check_gate(const KernelGate& gate) {
  const int ranks = program_.contract.ranks();
  const auto known = [ranks](int rank) { return rank >= 0 && rank < ranks; };
  if (known(gate.rank) && known(gate.after) && gate.rank != gate.after && gate.kernel >= 0 &&
      gate.kernel < program_.kernels()) {
    return;
  }
  problems_.add([&] {
    return fmt::format(
        "gate of rank {}, kernel {}, after rank {}; expected two ranks from 0 to {} and a kernel "
        "from 0 to {}",
        gate.rank, gate.kernel, gate.after, ranks - 1, program_.kernels() - 1);
  });
}

void FormCheck::check_gpu(int rank) {
  const int input = program_.contract.input_chunks(rank);
  const int output = program_.contract.output_chunks(rank);
  if (gpu(rank).input_chunks != input || gpu(rank).output_chunks != output ||
      gpu(rank).scratch_chunks < 0) {
    problems_.add([&] {
      return fmt::format(
          "rank {}: buffers of {} input, {} output and {} scratch chunks; the contract has {} and "
          "{}",
          rank, gpu(rank).input_chunks, gpu(rank).output_chunks, gpu(rank).scratch_chunks, input,
          output);
    });
    return;
  }
  for (int id = 0; id < std::ssize(gpu(rank).thread_blocks); ++id) check_block(rank, id);
}

void FormCheck::check_block(int rank, int id) {
  const ThreadBlock& checked = block(rank, id);
  if (checked.channel < 0 || checked.channel >= program_.channels) {
    problems_.add([&] {
      return fmt::format("rank {}, thread block {}: channel {}; expected 0 to {}", rank, id,
                         checked.channel, program_.channels - 1);
    });
  }
  const int least_kernel = id == 0 ? 0 : std::max(0, block(rank, id - 1).kernel);
  if (checked.kernel < least_kernel || checked.kernel >= kMostKernels) {
    problems_.add([&] {
      return fmt::format(
          "rank {}, thread block {}: kernel {}; expected {} (that of the one before) to {}", rank,
          id, checked.kernel, least_kernel, kMostKernels - 1);
    });
  }
  for (const bool sending : {true, false}) {
    const int peer = sending ? checked.send_peer : checked.recv_peer;
    const std::string_view name = sending ? "send" : "receive";
    if (peer == -1) continue;
    if (peer < 0 || peer >= program_.contract.ranks() || peer == rank) {
      problems_.add([&] {
        return fmt::format("rank {}, thread block {}: {} peer {}; expected another rank or none",
                           rank, id, name, peer);
      });
    } else if (!ends_.emplace(rank, checked.kernel, checked.channel, peer, sending).second) {
      problems_.add([&] {
        return fmt::format(
            "rank {}, thread block {}: another thread block has {} peer {} on channel {} already",
            rank, id, name, peer, checked.channel);
      });
    }
  }
  for (int number = 0; number < std::ssize(checked.steps); ++number) check_step(rank, id, number);
}

void FormCheck::check_step(int rank, int id, int number) {
  const ThreadBlock& of = block(rank, id);
  const Instruction& checked = step(rank, id, number);
  if (sends(checked.opcode) && of.send_peer < 0) report(rank, id, number, "no send peer");
  if (receives(checked.opcode) && of.recv_peer < 0) report(rank, id, number, "no receive peer");
  if (checked.group != kNoGroup && sends(checked.opcode)) {
    if (receives(checked.opcode)) report(rank, id, number, "a fused step in a group");
    Group& group = groups_.try_emplace(checked.group, Group{rank, id, number}).first->second;
    group.sources.insert(rank);
    group.targets.insert(of.send_peer);
    group.alike.emplace(checked.count, of.kernel, checked.answers);
    ++group.messages;
  }
  for (const StepRef& wait : checked.dependencies) {
    const bool exists = wait.thread_block >= 0 &&
                        wait.thread_block < std::ssize(gpu(rank).thread_blocks) && wait.step >= 0 &&
                        wait.step < std::ssize(block(rank, wait.thread_block).steps);
    if (!exists) {
      report(rank, id, number,
             fmt::format("depends on thread block {}, step {}, which does not exist",
                         wait.thread_block, wait.step));
    } else if (block(rank, wait.thread_block).kernel > of.kernel) {
      report(rank, id, number,
             fmt::format("depends on thread block {}, step {}, of a later kernel",
                         wait.thread_block, wait.step));
    }
  }
  if (checked.opcode == Opcode::Nop) return;
  if (checked.count < 1) {
    report(rank, id, number, fmt::format("count {}; expected at least 1", checked.count));
    return;
  }
  if (reads_source(checked.opcode)) check_slice(rank, id, number, "source", checked.source);
  if (writes_target(checked.opcode)) check_slice(rank, id, number, "target", checked.target);
  if (reads_source(checked.opcode) && writes_target(checked.opcode)) {
    check_overlap(rank, id, number);
  }
}

void FormCheck::check_slice(int rank, int id, int number, std::string_view what,
                            const BufferSlice& slice) {
  const int chunks = slice.buffer == Buffer::Input    ? gpu(rank).input_chunks
                     : slice.buffer == Buffer::Output ? gpu(rank).output_chunks
                                                      : gpu(rank).scratch_chunks;
  const int count = step(rank, id, number).count;
  if (slice.index >= 0 && slice.index <= chunks - count) return;
  report(rank, id, number,
         fmt::format("{} {} out of range: the {} buffer has {} chunks", what,
                     describe_location({rank, slice.buffer, slice.index}, count),
                     to_string(slice.buffer), chunks));
}

void FormCheck::check_overlap(int rank, int id, int number) {
  const Instruction& checked = step(rank, id, number);
  const Contract& contract = program_.contract;
  const Location source = contract.resolve({rank, checked.source.buffer, checked.source.index});
  const Location target = contract.resolve({rank, checked.target.buffer, checked.target.index});
  if (source.buffer != target.buffer || source == target) return;
  const std::int64_t distance =
      static_cast<std::int64_t>(source.index) - static_cast<std::int64_t>(target.index);
  if (distance >= checked.count || -distance >= checked.count) return;
  report(rank, id, number,
         fmt::format("source {} and target {} overlap", describe_location(source, checked.count),
                     describe_location(target, checked.count)));
}

}  // namespace

void check_form(const ThreadBlockProgram& program, Problems& problems) {
  FormCheck(program, problems).run();
}

}  // namespace cclgym::verifier
