#include "agents/trigger/detector_table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace cclgym {

std::string detector_table(std::span<const SeedTrigger> triggers) {
  const auto learned = [](const SeedTrigger& one) {
    return one.trained.trigger.learned.has_value();
  };
  if (std::ranges::all_of(triggers, learned) || std::ranges::none_of(triggers, learned)) return "";
  std::string text = fmt::format("{:<44} {:>5}  {:<6} {:>11} {:>7} {:>6} {:>14}\n",
                                 "detectors on held-out streams", "seed", "form", "found", "median",
                                 "p90", "false / 1,000");
  for (const SeedTrigger& one : triggers) {
    const TriggerMeasure& found = one.trained.held_out;
    const TriggerOf& trigger = one.trained.trigger;
    text += fmt::format("{:<44} {:>5}  {:<6} {:>11} {:>7g} {:>6g} {:>14.3f}\n",
                        trigger.fabric + ", " + trigger.noise, one.seed,
                        trigger.learned ? "lstm" : "cusum",
                        fmt::format("{} of {}", found.found, found.changes), found.median_delay,
                        found.p90_delay, found.false_alarms_per_1000());
  }
  return text + "delays in calls\n";
}

}  // namespace cclgym
