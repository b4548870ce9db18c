// Feeds arbitrary bytes to the reader of measured times: CSV of each dialect, and the output of
// nccl-tests. Accepted rows have sizes, times and ranks that can be simulated.
#include <cmath>

#include "experiments/measured/measured_file.hpp"
#include "fuzz_support.hpp"

FUZZ_TARGET(measured) {
  using namespace cclgym;
  const std::string path = fuzz::file_of(fuzz::text_of(data, size));
  const MeasuredFileContext known{.system = "lab",
                                  .collective = CollectiveKind::AllReduce,
                                  .ranks = 8,
                                  .nodes = 1,
                                  .nccl_version = "2.18"};
  for (const MeasuredFileContext& context : {MeasuredFileContext{}, known}) {
    fuzz::guarded([&] {
      for (const Measurement& row : read_measured_file(path, context)) {
        if (row.ranks < 2 || row.nodes < 1 || row.nodes > row.ranks || row.bytes == 0) std::abort();
        if (!(row.time_s > 0) || !std::isfinite(row.time_s)) std::abort();
        for (const double sample : row.samples_s) {
          if (!std::isfinite(sample)) std::abort();
        }
      }
    });
  }
  return 0;
}
