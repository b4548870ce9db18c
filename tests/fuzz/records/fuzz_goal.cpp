// Feeds arbitrary bytes to the reader of GOAL schedules. An accepted schedule is a consistent job
// whose operations come after those that they wait for.
#include "fuzz_support.hpp"
#include "workloads/readers/goal_reader.hpp"

FUZZ_TARGET(goal) {
  using namespace cclgym;
  fuzz::guarded([&] {
    const JobGraph job = read_goal(fuzz::text_of(data, size), "fuzz.goal");
    check_job(job);
    for (const RankProgram& program : job.programs) {
      if (execution_order(job, program).size() != program.ops.size()) std::abort();
      for (std::int32_t op = 0; op < program.size(); ++op) {
        for (std::uint32_t d = program.dep_begin[at(op)]; d < program.dep_begin[at(op) + 1]; ++d) {
          if (program.deps[d] < 0 || program.deps[d] >= op) std::abort();
        }
      }
    }
  });
  return 0;
}
