#include "collectives/compiler/compile.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <vector>

#include "collectives/compiler/channels.hpp"
#include "collectives/compiler/chunk_dag.hpp"
#include "collectives/compiler/fuse.hpp"
#include "collectives/compiler/instruction_dag.hpp"
#include "collectives/compiler/resident_blocks.hpp"
#include "collectives/compiler/schedule.hpp"
#include "collectives/compiler/thread_blocks.hpp"
#include "collectives/expand_parallel.hpp"
#include "collectives/memory_layout.hpp"
#include "collectives/verifier/deadlock.hpp"
#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym {

namespace {

bool fuses(const CompileOptions& options) { return options.fuse && options.slots > 1; }

// The first pass: every operation has a channel.
Program with_channels(const Program& program, const CompileOptions& options) {
  if (options.slots < 1) {
    throw UserError(fmt::format("{} slots; expected at least 1", options.slots));
  }
  Program whole = program;
  assign_channels(whole, trace_dependencies(program), fuses(options));
  return whole;
}

// The passes between replicate() and the assignment of thread blocks, which `finish` does with the
// program and its instructions.
template <class Finish>
auto lowered(const Program& whole, const CompileOptions& options, const Finish& finish) {
  const auto lower = [&whole, &options] {  // frees the chunk DAG's memory on return
    const ChunkDag chunks = trace_dependencies(whole);
    const Schedule schedule =
        options.keep_order ? schedule_in_trace_order(whole, chunks) : make_schedule(whole, chunks);
    return make_instructions(whole, chunks, schedule,
                             fuses(options) ? fuse(whole, chunks, schedule) : no_fusion(whole));
  };
  return finish(whole, lower(), BlockSharing{options.share_blocks, options.join_forwarding});
}

// True if any two runs of chunks that operations read or write are equal or disjoint. If each
// operation is then cut into n parts, part i of one operation touches no place of part j of
// another.
bool cuts_evenly(const Program& program) {
  const MemoryLayout layout(program.contract, program.scratch_chunks);
  struct Run {
    std::size_t begin = 0;
    std::int32_t count = 0;  // 0: no operation has touched the place
    bool operator==(const Run&) const = default;
  };
  std::vector<Run> run_of(layout.size());  // by place
  const auto fits = [&](const Location& location, std::int32_t count) {
    const Run run{layout.place(location), count};
    for (std::size_t place = run.begin; place < run.begin + at(count); ++place) {
      if (run_of[place].count == 0) run_of[place] = run;
      if (run_of[place] != run) return false;
    }
    return true;
  };
  return std::ranges::all_of(program.operations, [&](const Operation& operation) {
    return fits(operation.source, operation.count) && fits(operation.target, operation.count);
  });
}

// Takes one of the parts into which all operations are split, if these are alike: if part i of each
// operation runs on a channel of its own, with its own part of the data, no pass sees another part.
// Returns the number of parts; 1 if the parts are not known to be alike.
std::int32_t take_one_part(Program& whole) {
  if (whole.operations.empty()) return 1;
  const Operation first = whole.operations.front();
  const auto like_first = [&](const Operation& operation) {
    return operation.channel == first.channel && operation.parallel == first.parallel &&
           operation.first_instance == 0 && operation.instance_step == 1;
  };
  if (!std::ranges::all_of(whole.operations, like_first) || !cuts_evenly(whole)) return 1;
  for (Operation& operation : whole.operations) operation.parallel = 1;
  whole.channels = first.channel + 1;
  return first.parallel;
}

}  // namespace

ThreadBlockProgram compile(const Program& program, const CompileOptions& options) {
  ThreadBlockProgram compiled = lowered(replicate(expand_parallel(with_channels(program, options)),
                                                  options.instances, options.policy),
                                        options, assign_thread_blocks);
  if (const auto deadlock = find_deadlock(compiled, options.slots)) {
    throw std::logic_error(fmt::format(
        "the compiler made a program that deadlocks with {} slots at {}", options.slots,
        describe_step(compiled, deadlock->rank, deadlock->thread_block, deadlock->step)));
  }
  return compiled;
}

// Instances have channels of their own, like the parts of take_one_part().
ResidentBlocks compiled_resident_blocks(const Program& program, const CompileOptions& options) {
  Program whole = with_channels(program, options);
  const std::int64_t parts = take_one_part(whole);
  whole = expand_parallel(whole);
  const bool alike = options.policy == InstancePolicy::Interleaved && cuts_evenly(whole);
  const bool once = alike && options.instances > 1;
  whole = replicate(whole, once ? 1 : options.instances, options.policy);
  const std::int64_t count = lowered(whole, options, count_resident_blocks);
  return {.count = parts * (once ? options.instances : 1) * count, .by_instance = alike};
}

}  // namespace cclgym
