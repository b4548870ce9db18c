// Short texts of quantities, for drawings and table cells. Internal to this layer.
#pragma once

#include <string>

namespace cclgym {

/// "25 GB/s", "12.5 MB/s": decimal units, as many digits as needed (at most 12).
[[nodiscard]] std::string short_rate(double bytes_per_second);
/// "0.7 us", "30 ns", "0 s": as many digits as needed (at most 12).
[[nodiscard]] std::string short_time(double seconds);

}  // namespace cclgym
