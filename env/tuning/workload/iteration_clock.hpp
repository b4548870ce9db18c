// Time of an iteration of a job, from its calls and the computation between them.
#pragma once

#include <algorithm>

#include "env/tuning/workload/workload.hpp"

namespace cclgym {

/// Times that the compute and the communication stream of an iteration have reached, s. A call
/// starts when its data has been computed and the previous call has ended. If the job does not
/// compute during the call, it resumes when the call ends.
class IterationClock {
 public:
  void call(const CallContext& context, double time_s) {
    compute_s_ += context.compute_s;
    communication_s_ = std::max(communication_s_, compute_s_) + time_s;
    if (!context.overlaps) compute_s_ = communication_s_;
  }
  /// Time since the iteration began, with computation and calls that are under way, s.
  [[nodiscard]] double end_s() const { return std::max(compute_s_, communication_s_); }

 private:
  double compute_s_ = 0;
  double communication_s_ = 0;
};

}  // namespace cclgym
