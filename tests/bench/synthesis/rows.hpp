// Rows of the bench of schedule synthesis. Each prints its bars; `quick` leaves out the cases that
// take more than 5 s.
#pragma once

namespace cclgym::bench {

// Synchronous schedules (SCCL).
void sccl_tables();
void dgx1_alltoall();
void dgx1_front();

// Schedules on a time grid (TE-CCL).
void teccl_table3(bool quick);
void ndv2_x2(bool quick);
void ndv2_x4();

// Trees at full throughput.
void published_fabrics();
void large_allgather(bool quick);
void failures_and_groups();

// Linear programs.
void allreduce_rows();
void large_alltoall();

// Simulated programs.
void lowered_programs(bool quick);

}  // namespace cclgym::bench
