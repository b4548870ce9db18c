#include "experiments/measured/measured_columns.hpp"

#include <algorithm>

namespace cclgym {

const std::vector<std::string>& required_measured_columns() {
  static const std::vector<std::string> names{"ranks", "collective", "size_bytes", kMedianColumn};
  return names;
}

const std::vector<std::string>& known_measured_columns() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names{"system",        "gpu",
                                   "gpus_per_node", "ranks",
                                   "nodes",         "fabric",
                                   "nccl_version",  "config",
                                   "collective",    "size_bytes",
                                   kMedianColumn,   kShortMedianColumn,
                                   "time_us_min",   "time_us_max",
                                   "samples",       "source",
                                   "algorithm",     "protocol",
                                   "channels",      "in_place",
                                   "segment_bytes", "openmpi_algorithm",
                                   "round",         "role",
                                   kWrongColumn,    kGpusPerRankColumn};
    for (const std::string& name : sweep_result_columns()) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names;
  }();
  return all;
}

const std::vector<std::string>& sweep_result_columns() {
  static const std::vector<std::string> names{
      "status",      kMedianColumn, "time_us_q1",  "time_us_q3", "time_us_min",
      "time_us_max", "samples",     "outliers",    "samples_us", "order",
      "unix_time",   "warmup",      "environment", "extra",      "message"};
  return names;
}

}  // namespace cclgym
