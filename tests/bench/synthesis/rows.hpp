// Rows of the bench of schedule synthesis. Each prints its bars; `quick` leaves out the cases that
// take more than 5 s, and names them.
#pragma once

#include <string>

namespace cclgym::bench {

// Synchronous schedules (SCCL).
void sccl_tables();
void dgx1_alltoall();
void dgx1_front();

// Schedules on a time grid (TE-CCL).
void teccl_table3(bool quick);
void ndv2_x2(bool quick);
void ndv2_x4();
void teccl_table4(bool quick);

// Trees at full throughput.
void published_fabrics();
void large_allgather(bool quick);
void failures_and_groups();

// Linear programs.
void allreduce_rows();
void large_alltoall();

// Simulated programs.
void lowered_programs(bool quick);

/// Writes the algorithms of SCCL's Figures 4 to 6 to FOLDER/COLLECTIVE-C-S-R-rINSTANCES.xml.
void write_sccl_programs(const std::string& folder);

}  // namespace cclgym::bench
