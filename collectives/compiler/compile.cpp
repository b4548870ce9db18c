#include "collectives/compiler/compile.hpp"

#include "collectives/compiler/chunk_dag.hpp"
#include "collectives/compiler/instruction_dag.hpp"
#include "collectives/compiler/schedule.hpp"
#include "collectives/compiler/thread_blocks.hpp"

namespace cclgym {

ThreadBlockProgram compile(const Program& program) {
  const auto lower = [&program] {  // the chunk DAG's memory is free again after this
    const ChunkDag chunks = trace_dependencies(program);
    return make_instructions(program, chunks, make_schedule(program, chunks));
  };
  return assign_thread_blocks(program, lower());
}

}  // namespace cclgym
