#include "calibration/mpi/start_clock.hpp"

#include <sched.h>

namespace cclgym {

StartClock::StartClock(MPI_Comm comm) : comm_(comm) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
}

void StartClock::synchronise() {
  // An estimate becomes less certain with time, because clocks drift.
  const double age_s = MPI_Wtime() - known_at_s_;
  double least_s = known_at_s_ == 0 ? 1e9 : round_trip_s_ + 2 * kDrift * age_s;
  for (int other = 1; other < ranks_; ++other) {
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
        round_trip_s_ = took_s;
        known_at_s_ = sent_s;
        offset_s_ = answer_s - (sent_s + took_s / 2);
      }
    }
    // Waiting ranks would take the processors from the two that communicate.
    MPI_Barrier(comm_);
  }
  MPI_Allreduce(&round_trip_s_, &error_s_, 1, MPI_DOUBLE, MPI_MAX, comm_);
  error_s_ /= 2;
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
