// A row of a measured file for tests.
#pragma once

#include "experiments/measured/measured_file.hpp"

namespace cclgym::test {

/// An AllReduce of 1 KiB on 8 ranks that took 10 us, in line 2 of m.csv.
inline Measurement measured_row(const std::string& nccl_version) {
  Measurement row;
  row.ranks = 8;
  row.nccl_version = nccl_version;
  row.bytes = 1024;
  row.time_s = 1e-5;
  row.where = {"m.csv", 2, 1};
  return row;
}

}  // namespace cclgym::test
