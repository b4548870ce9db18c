#include "collectives/compiler/compile.hpp"

#include <fmt/format.h>
#include <stdexcept>

#include "collectives/compiler/channels.hpp"
#include "collectives/compiler/chunk_dag.hpp"
#include "collectives/compiler/fuse.hpp"
#include "collectives/compiler/instruction_dag.hpp"
#include "collectives/compiler/schedule.hpp"
#include "collectives/compiler/thread_blocks.hpp"
#include "collectives/expand_parallel.hpp"
#include "collectives/verifier/deadlock.hpp"
#include "core/error.hpp"

namespace cclgym {

ThreadBlockProgram compile(const Program& program, const CompileOptions& options) {
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
  ThreadBlockProgram compiled =
      assign_thread_blocks(whole, lower(), {options.share_blocks, options.join_forwarding});
  if (const auto deadlock = find_deadlock(compiled, options.slots)) {
    throw std::logic_error(fmt::format(
        "the compiler made a program that deadlocks with {} slots at {}", options.slots,
        describe_step(compiled, deadlock->rank, deadlock->thread_block, deadlock->step)));
  }
  return compiled;
}

}  // namespace cclgym
