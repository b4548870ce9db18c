// A predicted time, and its exact form between processes.
#pragma once

#include <string>
#include <string_view>

#include "sim/call/call.hpp"

namespace cclgym {

/// The simulator's answer for a cell.
struct Prediction {
  double time_s = 0;  ///< 0: it could not be simulated
  Config config{};
  std::string cost_model{};  ///< CostModel::label() of the parameter set
  std::string refusal{};     ///< reason why it could not be simulated; empty if it was

  friend bool operator==(const Prediction&, const Prediction&) = default;
};

/// A prediction with all its bits, for another process of the same program.
[[nodiscard]] std::string prediction_bytes(const Prediction& prediction);
/// The prediction of prediction_bytes(). Throws std::runtime_error if it is incomplete.
[[nodiscard]] Prediction read_prediction(std::string_view bytes);

/// The numeric parameters (cost_parameters) in which two cost models differ, as bytes.
[[nodiscard]] std::string difference_bytes(const CostModel& base, const CostModel& model);
/// `base` with the parameters of difference_bytes(). Throws std::runtime_error if they are
/// incomplete.
[[nodiscard]] CostModel read_difference(const CostModel& base, std::string_view bytes);

}  // namespace cclgym
