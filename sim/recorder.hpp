// Observers that fill the record of a run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/simulator.hpp"

namespace cclgym {

/// Keeps the dates of every firing of record.graph, and the alternative route that it took.
class Recorder final : public FiringObserver {
 public:
  /// `unfolded`: true if the observed nodes are firings.
  Recorder(SimulationRecord& record, bool unfolded);
  [[nodiscard]] bool needs_order() const override { return false; }
  void on_firing(TransferId node, std::int32_t tile, double start_s, double end_s) override;
  void on_choice(TransferId node, std::int32_t tile, std::int32_t way) override {
    record_.way[firing(node, tile)] = static_cast<std::uint16_t>(way);
  }

 private:
  [[nodiscard]] std::size_t firing(TransferId node, std::int32_t tile) const {
    return unfolded_ ? static_cast<std::size_t>(node) : record_.firing(node, tile);
  }
  SimulationRecord& record_;
  bool unfolded_;
  static constexpr std::size_t kKept = 8;
  struct Kept {
    std::array<double, kKept> start_s;
    std::array<double, kKept> end_s;
  };
  std::vector<Kept> kept_;  // by node; empty: each firing is written at once
};

}  // namespace cclgym
