// trigger.yaml: the triggers of a training, an item for each environment that changes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agents/trigger/trigger.hpp"
#include "core/options/option.hpp"

namespace cclgym {

/// DIR/seed-N/trigger.yaml
[[nodiscard]] std::string trigger_path(const std::string& folder, std::uint64_t seed);

/// Keys of an item.
[[nodiscard]] const std::vector<OptionSpec>& trigger_file_options();

/// The file: parameters, and what was measured with them.
[[nodiscard]] std::string triggers_text(std::span<const TrainedTrigger> triggers);
/// The parameters of a file, in order; none of an empty list. Throws UserError at the place of what
/// is wrong.
[[nodiscard]] std::vector<TriggerOf> read_triggers(const std::string& text,
                                                   const std::string& file);
[[nodiscard]] std::vector<TriggerOf> load_triggers(const std::string& path);

/// The trigger for a machine: that of the same fabric and noise, else of the same noise, else the
/// first (their parameters are ratios of times, which mean something on any machine). `triggers` is
/// not empty.
[[nodiscard]] const TriggerOf& nearest_trigger(std::span<const TriggerOf> triggers,
                                               const std::string& fabric, const std::string& noise);

}  // namespace cclgym
