#include "calibration/mpi/start_clock.hpp"

#include <sched.h>

namespace cclgym {

StartClock::StartClock(MPI_Comm comm) : comm_(comm) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
}

void StartClock::synchronise() {
  for (int other = 1; other < ranks_; ++other) {
    double least_s = 1e9;
    for (int i = 0; i < kExchanges; ++i) {
      double answer_s = 0;
      if (rank_ == 0) {
        MPI_Recv(&answer_s, 1, MPI_DOUBLE, other, 0, comm_, MPI_STATUS_IGNORE);
        answer_s = MPI_Wtime();
        MPI_Send(&answer_s, 1, MPI_DOUBLE, other, 0, comm_);
      } else if (rank_ == other) {
        const double sent_s = MPI_Wtime();
        MPI_Send(&sent_s, 1, MPI_DOUBLE, 0, 0, comm_);
        MPI_Recv(&answer_s, 1, MPI_DOUBLE, 0, 0, comm_, MPI_STATUS_IGNORE);
        const double took_s = MPI_Wtime() - sent_s;
        if (took_s >= least_s) continue;
        least_s = took_s;
        offset_s_ = answer_s - (sent_s + took_s / 2);
      }
    }
  }
}

double StartClock::start_together(bool& late) {
  MPI_Barrier(comm_);
  double start_s = now_s() + lead_s_;
  MPI_Bcast(&start_s, 1, MPI_DOUBLE, 0, comm_);
  late = now_s() > start_s;
  // Other ranks may need this processor to get here.
  while (now_s() < start_s) sched_yield();
  return start_s;
}

}  // namespace cclgym
