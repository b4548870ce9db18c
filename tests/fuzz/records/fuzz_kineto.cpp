// Feeds arbitrary texts to the reader of traces of PyTorch's profiler. A trace that is accepted
// becomes a job, with its own ranks and replicated.
#include "fuzz_support.hpp"
#include "workloads/readers/traces/kineto_reader.hpp"
#include "workloads/readers/traces/trace_reader.hpp"

FUZZ_TARGET(kineto) {
  using namespace cclgym;
  const std::string_view text = fuzz::text_of(data, size);
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  if (text.starts_with("\x1f\x8b")) {
    fuzz::guarded([&] { (void)gunzip(text, "fuzz.json.gz", kMostBytes); });
  }
  KinetoTrace trace;
  if (!fuzz::guarded([&] { trace = parse_kineto(text, "fuzz.json"); })) return 0;
  // Large jobs take time, but have no further code.
  constexpr std::int64_t kMostRanks = 64;
  if (trace.world_size.value_or(1) > kMostRanks) trace.world_size = kMostRanks;
  for (const bool replicate : {false, true}) {
    fuzz::guarded([&] {
      const JobGraph job = kineto_job({trace}, {.idle = replicate, .replicate = replicate});
      for (const RankProgram& program : job.programs) {
        for (std::int32_t i = 0; i < program.size(); ++i) {
          for (std::uint32_t d = program.dep_begin[at(i)]; d < program.dep_begin[at(i) + 1]; ++d) {
            if (program.deps[d] >= i) std::abort();  // only what ran earlier
          }
        }
      }
    });
  }
  return 0;
}
