// The numeric parameters of a cost model as one flat list of names: code that fits, writes, reads
// or compares them need not know the structure that holds them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "cost_models/cost_fields.hpp"
#include "cost_models/cost_model.hpp"

namespace cclgym {

struct CostParameter {
  /// Path in a parameter set: "kernel_launch", "protocols.LL.step_latency".
  std::string name;
  OptionSpec spec;  ///< record of its key, the last part of the path; SI units
  /// Bounds and start of a fit; nullopt: a count or a size, which is not fitted.
  std::optional<FitRange> fit{};
  bool network = false;  ///< true: a cost of messages between nodes
  /// The value; nullopt where the model leaves it to the fabric (alpha) or without limit (rates).
  std::function<std::optional<double>(const CostModel&)> get;
  std::function<void(CostModel&, double)> set;
};

/// All numeric parameters, in the order of a parameter set.
[[nodiscard]] const std::vector<CostParameter>& cost_parameters();
/// The parameter of this name. Throws UserError naming the nearest one.
[[nodiscard]] const CostParameter& cost_parameter(std::string_view name);

/// The value as a parameter set states it, with four significant digits if it is continuous:
/// "6.6us", "18.5 GB/s", "0.9375", "32KiB".
[[nodiscard]] std::string parameter_text(const CostParameter& parameter, double value);
/// The value to which parameter_text rounds.
[[nodiscard]] double rounded_parameter(const CostParameter& parameter, double value);

}  // namespace cclgym
