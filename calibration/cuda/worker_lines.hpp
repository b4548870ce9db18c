// Protocol between a measuring worker and its driver: one line of JSON in each direction
// (docs/calibration-gpu.md).
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibration/cuda/cell_table.hpp"

namespace cclgym {

struct WorkerRequest {
  std::int64_t id = 0;
  int warmup = 20;   ///< discarded samples, >= 0
  int repeats = 50;  ///< samples, >= 1
  CalibrationCell cell;

  /// The value of a column. Throws std::runtime_error that names the column if it is missing, or if
  /// it is not a number >= least.
  [[nodiscard]] const std::string& text(const std::string& column) const;
  [[nodiscard]] std::uint64_t number(const std::string& column, std::uint64_t least = 0) const;
};

struct WorkerAnswer {
  std::vector<double> samples_s;             ///< one per repeat
  std::map<std::string, std::string> extra;  ///< additional facts about the samples
};

/// Thrown for a cell that this device or library cannot run, which is not an error.
class CellRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Environment = std::map<std::string, std::string>;

/// The first line of a worker: {"worker":NAME,"environment":{…}}.
[[nodiscard]] std::string environment_line(const std::string& worker,
                                           const Environment& environment);
/// The line of a worker that cannot start: {"worker":NAME,"refused":WHY}.
[[nodiscard]] std::string refused_line(const std::string& worker, const std::string& why);

/// A request as one line, and the inverse. Throws std::exception if it is not one.
[[nodiscard]] std::string request_line(const WorkerRequest& request);
[[nodiscard]] WorkerRequest parse_request(const std::string& line);

/// Answers requests line by line until the input ends: {"id":…,"samples_s":[…],"extra":{…}}, or
/// "refused" for CellRefused. Any other exception is answered with "error" and ends the worker,
/// because a device that failed once cannot be trusted. Returns the exit code: 0, or 1 after an
/// error.
int serve(std::istream& requests, std::ostream& answers,
          const std::function<WorkerAnswer(const WorkerRequest&)>& measure);

}  // namespace cclgym
