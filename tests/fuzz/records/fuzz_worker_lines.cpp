// Feeds arbitrary lines to a measuring worker. It must answer each with one line and never throw.
#include <sstream>

#include "calibration/cuda/worker_lines.hpp"
#include "fuzz_support.hpp"

FUZZ_TARGET(worker_lines) {
  using namespace cclgym;
  std::istringstream requests{std::string(fuzz::text_of(data, size))};
  std::ostringstream answers;
  (void)serve(requests, answers, [](const WorkerRequest& request) {
    if (request.repeats < 1 || request.warmup < 0) std::abort();
    (void)request.number("size_bytes", 1);
    return WorkerAnswer{};
  });
  const std::string text = answers.str();
  if (!text.empty() && text.back() != '\n') std::abort();
  return 0;
}
