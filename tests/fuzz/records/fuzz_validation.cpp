// Feeds arbitrary bytes to the reader of the rows of `cclgym validate`.
#include <cmath>

#include "calibration/validate/validation_rows.hpp"
#include "fuzz_support.hpp"

FUZZ_TARGET(validation) {
  using namespace cclgym;
  fuzz::guarded([&] {
    const ValidationRows rows = read_validation_rows(fuzz::file_of(fuzz::text_of(data, size)));
    for (const auto& [call, of_call] : rows.calls) {
      for (const auto& [config, times] : of_call.times_s) {
        for (const auto& [round, time_s] : times) {
          if (!(time_s > 0) || !std::isfinite(time_s)) std::abort();
        }
      }
    }
  });
  return 0;
}
