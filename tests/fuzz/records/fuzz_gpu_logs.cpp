// Feeds arbitrary bytes to the readers of what runs on GPUs leave: NCCL's log, as decisions and as
// communicators, and the rows of `cclgym calibrate cuda`.
#include "calibration/cuda/cuda_fit.hpp"
#include "calibration/cuda/nccl/nccl_log.hpp"
#include "calibration/debug_log/debug_log.hpp"
#include "calibration/debug_log/debug_reason.hpp"
#include "fuzz_support.hpp"

FUZZ_TARGET(gpu_logs) {
  using namespace cclgym;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::guarded([&] {
    for (const NcclDecision& decision : read_nccl_log(text, "fuzz.log")) {
      if (decision.channels < 1 || decision.line == 0) std::abort();
    }
  });
  fuzz::guarded([&] {
    for (const DebugCommunicator& communicator : read_debug_log(text, "fuzz.log").communicators) {
      for (const DebugRange& range :
           choices_by_estimates(communicator, kNewestNccl, NcclCollective::AllReduce)) {
        if (!range.at_start.predicted_us || range.to_bytes < range.from_bytes) std::abort();
      }
    }
  });
  fuzz::guarded([&] {
    const CudaMeasurements measured = parse_cuda_measurements(text, "fuzz.csv");
    for (const CudaRow& row : measured.rows) {
      if (!(row.time_s > 0)) std::abort();
    }
    (void)cuda_fit_text(fit_cuda(measured, CostModel{}));
  });
  return 0;
}
