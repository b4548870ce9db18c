// Order statistics of samples.
#pragma once

#include <vector>

namespace cclgym {

/// The median of a non-empty list: the middle value, or the mean of the middle two.
[[nodiscard]] double median(std::vector<double> values);

/// The middle one of at least one value, the larger of the middle two if their number is even.
[[nodiscard]] double upper_median(std::vector<double> values);

}  // namespace cclgym
