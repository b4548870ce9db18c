// Use of links over time.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/engine.hpp"

namespace cclgym {

/// Bytes on each link in each of several equal intervals of a run.
struct LinkSeries {
  double interval_s = 0;
  int intervals = 0;
  std::vector<double> capacity_Bps;      ///< by link
  std::vector<std::vector<double>> use;  ///< by link: share of capacity by interval; empty: none
  std::vector<double> bytes;             ///< by link: total

  [[nodiscard]] bool empty() const { return intervals == 0; }
};

/// Adds up the use of links while an engine runs. A flow counts as if it moved its bytes evenly
/// from the end of its latency to its own end, although its rate may change in between.
class LinkSeriesRecorder final : public FiringObserver {
 public:
  explicit LinkSeriesRecorder(const TransferGraph& graph) : graph_(graph) {}
  void on_firing(TransferId node, std::int32_t iteration, double start_s, double end_s) override;
  /// The use up to `end_s`.
  [[nodiscard]] LinkSeries series(double end_s, int intervals) const;

 private:
  struct Moved {
    std::int32_t node;
    float start_s;
    float end_s;
  };
  const TransferGraph& graph_;
  std::vector<Moved> moved_;
};

}  // namespace cclgym
