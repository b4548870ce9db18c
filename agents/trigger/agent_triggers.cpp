#include "agents/trigger/agent_triggers.hpp"

#include <fmt/format.h>

#include "agents/trigger/trigger_file.hpp"

namespace cclgym {

AgentTriggers train_agent_triggers(const TrainConfig& config, const Checkpoint& state) {
  AgentTriggers trained;
  if (config.trigger.streams == 0) return trained;
  std::vector<TrainedTrigger> triggers;
  for (const TrainingPart& part : config.parts) {
    const TuningSetup& setup = *part.environment->setup();
    if (setup.regimes.regimes.size() < 2) continue;
    triggers.push_back(train_trigger(
        *part.environment, state.weights, static_cast<std::size_t>(config.trigger.streams),
        static_cast<std::size_t>(config.trigger.calls), config.trigger.false_alarms, state.seed));
    const TriggerMeasure& found = triggers.back().held_out;
    trained.lines.push_back(fmt::format(
        "trigger on {}: {} of {} changes found, median after {:g} calls, {:.3f} false alarms in "
        "1,000 calls; {} other changes make no call {:g} % slower",
        setup.fabric_label, found.found, found.changes, found.median_delay,
        found.false_alarms_per_1000(), found.silent_changes, 100 * kSilentShare));
  }
  trained.text = triggers_text(triggers);
  return trained;
}

}  // namespace cclgym
