// A clock that all ranks read alike, so that they can begin a call together.
//
// Ranks leave a barrier one after the other, later than a small broadcast takes: a call that is
// timed from there looks shorter than it is where nobody waits for the last to come (Hunold and
// Carpen-Amarie, "Reproducible MPI benchmarking is still not as easy as you think", 2016).
#pragma once

#include <algorithm>
#include <mpi.h>

namespace cclgym {

class StartClock {
 public:
  explicit StartClock(MPI_Comm comm);

  /// Finds out how far each rank's clock is from rank 0's: of all messages there and back so far
  /// the one that took least, whose answer came half-way; older ones count as if they had taken
  /// longer, as clocks drift. All ranks call it.
  void synchronise();
  /// The most that any rank's clock can be wrong, s: half of that way there and back.
  [[nodiscard]] double error_s() const { return error_s_; }
  /// Seconds on rank 0's clock.
  [[nodiscard]] double now_s() const { return MPI_Wtime() + offset_s_; }
  /// Agrees on a moment a little later than now and waits for it. Returns the moment; `late`: this
  /// rank heard of it too late. All ranks call it.
  [[nodiscard]] double start_together(bool& late);
  /// How long ranks have to hear of the moment: longer after one was late, and less again later. As
  /// short as it can be: ranks that wait for long have cold caches.
  void adapt(bool late) {
    lead_s_ = late ? std::min(2 * lead_s_, 5e-3) : std::max(lead_s_ * 0.7, kLead_s);
  }

 private:
  static constexpr int kExchanges = 20;
  static constexpr double kLead_s = 150e-6;
  static constexpr double kDrift = 1e-6;  ///< of two clocks apart, s in a second

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
