#include "agents/trigger/agent_triggers.hpp"

#include <fmt/format.h>

#include "agents/training/learned_policy.hpp"
#include "agents/trigger/learned_training.hpp"
#include "agents/trigger/made_up_noise.hpp"
#include "agents/trigger/trigger_file.hpp"

namespace cclgym {

namespace {

// Parts of the streams of a seed.
constexpr std::uint64_t kTrainingStreams = 0;
constexpr std::uint64_t kHeldOutStreams = 1;
constexpr std::uint64_t kFitStreams = 2;
constexpr std::uint64_t kRoughNoise = 3;

std::string result_line(const TrainedTrigger& trained) {
  const TriggerMeasure& found = trained.held_out;
  const bool learned = trained.trigger.learned.has_value();
  return fmt::format(
      "{} on {}: {} of {} changes found, median after {:g} calls, {}{:.3f} false alarms in "
      "1,000 calls; {} other changes make no call {:g} % slower",
      learned ? "learned trigger" : "trigger", trained.trigger.fabric, found.found, found.changes,
      found.median_delay, learned ? fmt::format("p90 after {:g}, ", found.p90_delay) : "",
      found.false_alarms_per_1000(), found.silent_changes, 100 * kSilentShare);
}

}  // namespace

AgentTriggers train_agent_triggers(const TrainConfig& config, const Checkpoint& state) {
  AgentTriggers trained;
  const TriggerOptions& options = config.trigger;
  if (options.streams == 0) return trained;
  std::vector<TrainedTrigger> triggers;
  LearnedPolicy policy(state.weights);
  for (const TrainingPart& part : config.parts) {
    const TuningSetup& setup = *part.environment->setup();
    if (setup.regimes.regimes.size() < 2) continue;
    const auto record = [&](std::uint64_t streams, int count) {
      std::vector<TriggerStream> recorded;
      for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
        recorded.push_back(record_stream(*part.environment, policy,
                                         static_cast<std::size_t>(options.calls),
                                         Random::stream(state.seed, {streams, i})()));
        Random random = Random::stream(state.seed, {kRoughNoise, streams, i});
        if (random.uniform() < options.rough) {
          recorded.back() = with_rough_noise(recorded.back(), random);
        }
      }
      return recorded;
    };
    const std::vector<TriggerStream> known = record(kTrainingStreams, options.streams);
    const std::vector<TriggerStream> held_out = record(kHeldOutStreams, options.streams);
    const auto add = [&](TriggerOf trigger) {
      trigger.fabric = setup.fabric_label;
      trigger.noise = setup.regimes.name;
      TrainedTrigger one{.trigger = std::move(trigger), .trained = {}, .held_out = {}};
      one.trained = measure_detector(one.trigger.detector(), known);
      one.held_out = measure_detector(one.trigger.detector(), held_out);
      trained.lines.push_back(result_line(one));
      triggers.push_back(std::move(one));
    };
    if (options.form != TriggerForm::Lstm) {
      add({.fabric = "", .noise = "", .parameters = train_trigger(known, options.false_alarms)});
    }
    if (options.form != TriggerForm::Cusum) {
      const LearnedTriggerTraining training{.units = static_cast<std::size_t>(options.units),
                                            .epochs = static_cast<std::size_t>(options.epochs)};
      const LearnedTriggerParameters fitted =
          fit_trigger_weights(record(kFitStreams, options.fit_streams),
                              spread_within_regimes(known), training, state.seed);
      add({.fabric = "",
           .noise = "",
           .parameters = {},
           .learned = choose_threshold(fitted, known, options.false_alarms)});
    }
  }
  trained.text = triggers_text(triggers);
  return trained;
}

}  // namespace cclgym
