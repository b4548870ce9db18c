// A clock that all ranks read alike, so that they can begin a call together.
//
// Ranks leave a barrier one after the other, later than a small broadcast takes: a call that is
// timed from there looks shorter than it is where nobody waits for the last to come (Hunold and
// Carpen-Amarie, "Reproducible MPI benchmarking is still not as easy as you think", 2016).
#pragma once

#include <mpi.h>

namespace cclgym {

class StartClock {
 public:
  explicit StartClock(MPI_Comm comm);

  /// Finds out how far each rank's clock is from rank 0's: of `kExchanges` messages there and back
  /// the one that took least, whose answer came half-way. All ranks call it.
  void synchronise();
  /// Seconds on rank 0's clock.
  [[nodiscard]] double now_s() const { return MPI_Wtime() + offset_s_; }
  /// Agrees on a moment a little later than now and waits for it. Returns the moment; `late`: this
  /// rank heard of it too late. All ranks call it.
  [[nodiscard]] double start_together(bool& late);
  /// Gives ranks longer to hear of the moment.
  void wait_longer() { lead_s_ *= 2; }

 private:
  static constexpr int kExchanges = 12;

  MPI_Comm comm_;
  int rank_ = 0;
  int ranks_ = 1;
  double offset_s_ = 0;
  double lead_s_ = 200e-6;
};

}  // namespace cclgym
