// Do times come from the device's scheduler rather than from what was measured?
#pragma once

#include <string>
#include <vector>

namespace cclgym {

/// Processes that share a GPU without MPS take turns of some milliseconds, and what waits for
/// another one then takes whole turns, whatever its size.
struct Quantisation {
  double median_s = 0;
  double slice_s = 0;  ///< of which nearly all times are multiples; 0: there is none
  /// True if the median is far below a millisecond and there is no such slice.
  bool passed = false;

  /// "passed" or "failed: …".
  [[nodiscard]] std::string text() const;
};

/// Of times of one small message, at least 10 of them. Slices from 0.4 ms to 5 ms are tried.
[[nodiscard]] Quantisation check_quantisation(const std::vector<double>& times_s);

}  // namespace cclgym
