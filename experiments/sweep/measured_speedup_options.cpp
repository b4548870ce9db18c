#include "experiments/sweep/measured_speedup_options.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace cclgym {

const std::vector<OptionSpec>& measured_speedup_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "of",
       .description = "measured configuration (column config) whose speedup is shown",
       .required = true},
      {.name = "over",
       .description = "measured configuration that the speedup is over",
       .required = true}};
  return specs;
}

void check_measured_speedup(const Experiment& experiment, std::span<const MeasuredRow> measured) {
  if (!experiment.measured_speedup) return;
  std::vector<std::string> configs;
  for (const MeasuredRow& row : measured) {
    if (std::find(configs.begin(), configs.end(), row.config) == configs.end()) {
      configs.push_back(row.config);
    }
  }
  const MeasuredSpeedupChoice& choice = *experiment.measured_speedup;
  for (const auto& [config, where] :
       {std::pair{&choice.of, &choice.of_where}, {&choice.over, &choice.over_where}}) {
    if (std::find(configs.begin(), configs.end(), *config) != configs.end()) continue;
    throw UserError(*where, unknown_name_message("measured config", *config, configs));
  }
}

}  // namespace cclgym
