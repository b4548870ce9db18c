// The keys of `measured_speedup`.
#pragma once

#include <vector>

#include "core/options/option.hpp"

namespace cclgym {

/// The keys of `measured_speedup`.
[[nodiscard]] const std::vector<OptionSpec>& measured_speedup_options();

}  // namespace cclgym
