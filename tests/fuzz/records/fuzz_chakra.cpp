// Feeds arbitrary bytes to the reader of Chakra execution traces. A trace that is accepted becomes
// a job of one rank and, if it is its own counterpart, of two.
#include "fuzz_support.hpp"
#include "workloads/readers/traces/chakra_reader.hpp"

FUZZ_TARGET(chakra) {
  using namespace cclgym;
  std::string_view bytes = fuzz::text_of(data, size);
  const ChakraOptions options{.one_communication = fuzz::take_kind(bytes, 2) == 1};
  constexpr std::size_t kMostNodes = 10'000;
  ChakraTrace trace;
  if (!fuzz::guarded([&] { trace = read_chakra_node_stream(bytes, "fuzz.et", kMostNodes); })) {
    return 0;
  }
  for (std::size_t ranks = 1; ranks <= 2; ++ranks) {
    fuzz::guarded([&] {
      const JobGraph job = chakra_job(std::vector<ChakraTrace>(ranks, trace), options);
      for (const RankProgram& program : job.programs) {
        if (at(program.size()) > trace.nodes.size()) std::abort();
        for (std::int32_t i = 0; i < program.size(); ++i) {
          for (std::uint32_t d = program.dep_begin[at(i)]; d < program.dep_begin[at(i) + 1]; ++d) {
            if (program.deps[d] >= i) std::abort();  // the order respects dependencies
          }
        }
      }
    });
  }
  fuzz::guarded([&] { (void)parse_chakra_groups(bytes, "fuzz.json"); });
  return 0;
}
