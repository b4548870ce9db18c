// Order statistics of samples.
#pragma once

#include <vector>

namespace cclgym {

/// The median of a non-empty list: the middle value, or the mean of the middle two.
[[nodiscard]] double median(std::vector<double> values);

/// The middle value of a non-empty list; the larger of the middle two if its length is even.
[[nodiscard]] double upper_median(std::vector<double> values);

}  // namespace cclgym
