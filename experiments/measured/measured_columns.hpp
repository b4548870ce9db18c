// Columns of files with measured times. All commands that read or write such files share them.
#pragma once

#include <string>
#include <vector>

namespace cclgym {

/// Column of the median time; "time_us" is a shorter name for it.
inline constexpr const char* kMedianColumn = "time_us_median";
inline constexpr const char* kShortMedianColumn = "time_us";

/// Columns of rccl-tests (-Z csv), under names of our own: GPUs of a process, and wrong values.
inline constexpr const char* kGpusPerRankColumn = "gpus_per_rank";
inline constexpr const char* kWrongColumn = "wrong";

/// Columns that a file must have, the median under either name.
[[nodiscard]] const std::vector<std::string>& required_measured_columns();
/// All columns that a file may have, in any order.
[[nodiscard]] const std::vector<std::string>& known_measured_columns();

/// Columns that a sweep writes after the plan's: status (ok, refused, failed, crashed, hung),
/// time_us_median, _q1, _q3, _min, _max of the samples, their number, the number of outliers
/// (samples further from the quartiles than three times the distance between them: kept, and marked
/// in the next column), samples_us (in order, separated by blanks, outliers with !), place in the
/// order, seconds since 1970, warmup, environment (key=value;…), extra (key=value;…), message.
[[nodiscard]] const std::vector<std::string>& sweep_result_columns();

}  // namespace cclgym
