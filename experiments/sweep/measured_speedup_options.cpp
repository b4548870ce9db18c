#include "experiments/sweep/measured_speedup_options.hpp"

namespace cclgym {

const std::vector<OptionSpec>& measured_speedup_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "of",
       .description = "measured configuration (column config) whose speedup is shown",
       .required = true},
      {.name = "over",
       .description = "measured configuration to which the speedup is relative",
       .required = true}};
  return specs;
}

}  // namespace cclgym
