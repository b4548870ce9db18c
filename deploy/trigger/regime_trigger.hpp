// Detects from the times of calls, or from counters, that the machine has changed. docs/agents.md,
// "The Trigger agent", has the equations and their parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cclgym {

struct TriggerParameters {
  double sigma = 0.02;
  double drift = 1;
  double limit = 4;
  double threshold = 6;

  friend bool operator==(const TriggerParameters&, const TriggerParameters&) = default;
};

/// Kind and time of a call, as its caller can measure them.
struct TriggerInput {
  std::uint64_t kind = 0;  ///< calls of the same kind take the same time unless the machine changes
  double log_ratio = 0;    ///< ln(time / expected)
  // Only some detectors use these.
  std::uint64_t group = 0;  ///< class of the call: calls of a class have a similar spread of times
  bool counted = false;     ///< the interfaces' bytes are known
  double log_bytes = 0;     ///< ln(bytes that the interfaces received during the call)
};

/// Detector with the given parameters. Does not allocate after construction.
class RegimeTrigger {
 public:
  explicit RegimeTrigger(const TriggerParameters& parameters);

  /// Forgets all calls, for a new stream or new configurations.
  void start();
  /// Feeds a call. Returns true if the machine has changed; means and sums are then forgotten.
  bool observe(const TriggerInput& call);

 private:
  /// Mean of a kind, in a table of fixed size in which colliding kinds replace each other.
  struct Mean {
    std::uint64_t kind = 0;
    std::uint32_t count = 0;
    double mean = 0;
  };
  static constexpr std::size_t kMeans = 4096;

  TriggerParameters parameters_;
  std::vector<Mean> means_;
  double up_ = 0;
  double down_ = 0;
};

}  // namespace cclgym
