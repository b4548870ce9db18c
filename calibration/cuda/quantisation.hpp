// Detects times that come from the device's scheduler rather than from the measured work.
#pragma once

#include <string>
#include <vector>

namespace cclgym {

/// Processes that share a GPU without MPS take turns of some milliseconds. Work that waits for
/// another process then takes complete turns, regardless of its size.
struct Quantisation {
  double median_s = 0;
  double slice_s = 0;  ///< slice of which nearly all times are multiples; 0: none
  /// True if the median is far below a millisecond and there is no such slice.
  bool passed = false;

  /// Result in words: "passed" or "failed: …".
  [[nodiscard]] std::string text() const;
};

/// Checks at least 10 times of one small message. Tries slices from 0.4 ms to 5 ms.
[[nodiscard]] Quantisation check_quantisation(const std::vector<double>& times_s);

}  // namespace cclgym
