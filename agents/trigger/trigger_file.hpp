// trigger.yaml: the triggers of a training, one item per environment that changes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agents/trigger/trigger.hpp"
#include "core/options/option.hpp"

namespace cclgym {

/// Path of the file: DIR/seed-N/trigger.yaml.
[[nodiscard]] std::string trigger_path(const std::string& folder, std::uint64_t seed);

/// Keys of an item with a CUSUM, and of one with `form: lstm`.
[[nodiscard]] const std::vector<OptionSpec>& trigger_file_options();
[[nodiscard]] const std::vector<OptionSpec>& learned_trigger_file_options();

/// Text of the file: parameters and measured results.
[[nodiscard]] std::string triggers_text(std::span<const TrainedTrigger> triggers);
/// Reads the triggers of a file in order; an empty list gives none. Throws UserError at the
/// location of the mistake.
[[nodiscard]] std::vector<TriggerOf> read_triggers(const std::string& text,
                                                   const std::string& file);
/// The same with the results that the file states; 0 for those that it lacks.
[[nodiscard]] std::vector<TrainedTrigger> read_trained_triggers(const std::string& text,
                                                                const std::string& file);
[[nodiscard]] std::vector<TrainedTrigger> load_trained_triggers(const std::string& path);

/// The trigger for a machine: the one for the same fabric and noise, else one for the same noise,
/// else the first one (parameters are ratios of times and therefore transfer between machines).
/// `triggers` must not be empty.
[[nodiscard]] const TriggerOf& nearest_trigger(std::span<const TriggerOf> triggers,
                                               const std::string& fabric, const std::string& noise);

}  // namespace cclgym
