// Feeds arbitrary bytes to the reader of job files. An accepted job must be consistent, and be
// written and read again to the same bytes.
#include "core/yaml/yaml.hpp"
#include "fuzz_support.hpp"
#include "workloads/readers/job_file.hpp"

FUZZ_TARGET(job) {
  using namespace cclgym;
  fuzz::guarded([&] {
    const YamlLimits yaml{.bytes = 1 << 16, .nodes = 500, .depth = 16};
    const JobLimits limits{
        .ranks = 64, .communicators = 8, .ops = 1000, .ops_of_all = 4000, .dependencies = 4000};
    const JobGraph job = read_job(parse_yaml(fuzz::text_of(data, size), "fuzz.yaml", yaml), limits);
    check_job(job);
    const std::string written = write_job(job);
    std::string again;
    // Repetitions are written out, so the text may have more values than the input.
    const YamlLimits roomy{.bytes = 1 << 24, .nodes = 1'000'000};
    if (!fuzz::guarded(
            [&] { again = write_job(read_job(parse_yaml(written, "a.yaml", roomy))); })) {
      std::abort();
    }
    if (again != written) std::abort();
  });
  return 0;
}
