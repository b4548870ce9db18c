// The numeric parameters of a cost model, one record each: what fits them, writes them and compares
// them need not know the structure that holds them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "cost_models/cost_model.hpp"

namespace cclgym {

struct CostParameter {
  /// Where it stands in a parameter set: "kernel_launch", "protocols.LL.step_latency".
  std::string name;
  OptionKind kind = OptionKind::Real;  ///< Time (s), Rate (B/s), Real, Integer or Bytes
  /// Bounds within which a fit looks, SI units; both > 0.
  double least = 0;
  double most = 0;
  double typical = 0;   ///< where a fit begins if the start set has 0, SI units
  bool fitted = false;  ///< does `cclgym fit` fit it unless told otherwise?
  /// The value; nullopt where the model leaves it to the fabric (alpha) or without limit (rates).
  std::function<std::optional<double>(const CostModel&)> get;
  std::function<void(CostModel&, double)> set;

  /// Can it be fitted at all? Counts and sizes cannot.
  [[nodiscard]] bool continuous() const {
    return kind != OptionKind::Integer && kind != OptionKind::Bytes;
  }
};

/// All numeric parameters, in the order of a parameter set.
[[nodiscard]] const std::vector<CostParameter>& cost_parameters();
/// One of them. Throws UserError naming the nearest.
[[nodiscard]] const CostParameter& cost_parameter(std::string_view name);

/// "6.6us", "18.5 GB/s", "0.9375", "32KiB": the value as a parameter set says it, with four
/// significant digits if it is continuous.
[[nodiscard]] std::string parameter_text(const CostParameter& parameter, double value);
/// The value that this text stands for.
[[nodiscard]] double rounded_parameter(const CostParameter& parameter, double value);

}  // namespace cclgym
