// A clock common to all ranks, so that they can start a call together.
//
// Ranks leave a barrier one after the other, over a longer time than a small broadcast takes: a
// call timed from there looks too short if no rank waits for the last one (Hunold and
// Carpen-Amarie, "Reproducible MPI benchmarking is still not as easy as you think", 2016).
#pragma once

#include <algorithm>
#include <mpi.h>

namespace cclgym {

class StartClock {
 public:
  explicit StartClock(MPI_Comm comm);

  /// Estimates the offset of each rank's clock from rank 0's by the fastest round trip so far: rank
  /// 0 is assumed to answer halfway through it. Older round trips are rated as slower, because
  /// clocks drift. Collective call.
  void synchronise();
  /// Max error of any rank's clock, s: half of that round trip.
  [[nodiscard]] double error_s() const { return error_s_; }
  /// Seconds on rank 0's clock.
  [[nodiscard]] double now_s() const { return MPI_Wtime() + offset_s_; }
  /// Agrees on a moment a little later than now and waits for it. Returns the moment, and sets
  /// `late` if this rank learned of it too late. Collective call.
  [[nodiscard]] double start_together(bool& late);
  /// Adapts the time that ranks have to learn of the moment: longer after a late start, then
  /// shorter again. It is kept as short as possible: ranks that wait for long have cold caches.
  void adapt(bool late) {
    lead_s_ = late ? std::min(2 * lead_s_, 5e-3) : std::max(lead_s_ * 0.7, kLead_s);
  }

 private:
  static constexpr int kExchanges = 20;
  static constexpr double kLead_s = 150e-6;
  static constexpr double kDrift = 1e-6;  ///< relative drift of two clocks, s per second

  MPI_Comm comm_;
  int rank_ = 0;
  int ranks_ = 1;
  double offset_s_ = 0;
  double round_trip_s_ = 0;
  double known_at_s_ = 0;
  double error_s_ = 0;
  double lead_s_ = kLead_s;
};

}  // namespace cclgym
