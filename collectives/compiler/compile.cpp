#include "collectives/compiler/compile.hpp"

#include <fmt/format.h>
#include <stdexcept>

#include "collectives/compiler/channels.hpp"
#include "collectives/compiler/chunk_dag.hpp"
#include "collectives/compiler/fuse.hpp"
#include "collectives/compiler/instruction_dag.hpp"
#include "collectives/compiler/resident_blocks.hpp"
#include "collectives/compiler/schedule.hpp"
#include "collectives/compiler/thread_blocks.hpp"
#include "collectives/expand_parallel.hpp"
#include "collectives/verifier/deadlock.hpp"
#include "core/error.hpp"

namespace cclgym {

namespace {

// The first passes of compile(): all but the assignment of thread blocks, which `finish` does with
// the expanded program and its instructions.
template <class Finish>
auto lowered(const Program& program, const CompileOptions& options, const Finish& finish) {
  if (options.slots < 1) {
    throw UserError(fmt::format("{} slots; expected at least 1", options.slots));
  }
  const bool fused = options.fuse && options.slots > 1;
  Program whole = program;
  assign_channels(whole, trace_dependencies(program), fused);
  whole = replicate(expand_parallel(whole), options.instances, options.policy);
  const auto lower = [&whole, &options, fused] {  // frees the chunk DAG's memory on return
    const ChunkDag chunks = trace_dependencies(whole);
    const Schedule schedule =
        options.keep_order ? schedule_in_trace_order(whole, chunks) : make_schedule(whole, chunks);
    return make_instructions(whole, chunks, schedule,
                             fused ? fuse(whole, chunks, schedule) : no_fusion(whole));
  };
  return finish(whole, lower(), BlockSharing{options.share_blocks, options.join_forwarding});
}

}  // namespace

ThreadBlockProgram compile(const Program& program, const CompileOptions& options) {
  ThreadBlockProgram compiled = lowered(program, options, assign_thread_blocks);
  if (const auto deadlock = find_deadlock(compiled, options.slots)) {
    throw std::logic_error(fmt::format(
        "the compiler made a program that deadlocks with {} slots at {}", options.slots,
        describe_step(compiled, deadlock->rank, deadlock->thread_block, deadlock->step)));
  }
  return compiled;
}

std::int64_t compiled_resident_blocks(const Program& program, const CompileOptions& options) {
  return lowered(program, options, count_resident_blocks);
}

}  // namespace cclgym
