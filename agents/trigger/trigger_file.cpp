#include "agents/trigger/trigger_file.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "agents/training/checkpoint.hpp"
#include "core/files/text_file.hpp"
#include "core/yaml/yaml.hpp"

namespace cclgym {

namespace {

std::string yaml_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::string measure_text(const TriggerMeasure& m) {
  return fmt::format(
      "{{calls: {}, changes: {}, silent_changes: {}, found: {}, median_delay: {}, "
      "false_alarms_per_1000: {:.4g}}}",
      m.calls, m.changes, m.silent_changes, m.found, m.median_delay, m.false_alarms_per_1000());
}

OptionSpec positive(const std::string& name, const std::string& description) {
  return {.name = name,
          .kind = OptionKind::Real,
          .description = description,
          .min = 0,
          .max = 1e6,
          .exclusive_min = true,
          .required = true};
}

}  // namespace

std::string trigger_path(const std::string& folder, std::uint64_t seed) {
  return seed_folder(folder, seed) + "/trigger.yaml";
}

const std::vector<OptionSpec>& trigger_file_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "fabric", .description = "fabric of the training run", .required = true},
      {.name = "noise",
       .description = "noise with the regimes of the training run",
       .required = true},
      positive("sigma", "spread of ln(time / expected) within a regime"),
      positive("drift", "deviation of a call from the mean from which on it counts, in sigmas"),
      positive("limit", "max deviation that counts for a call, in sigmas"),
      positive("threshold", "sum above which an alarm is raised, in sigmas"),
      {.name = "trained",
       .kind = OptionKind::Mapping,
       .description = "results on the training streams"},
      {.name = "held_out",
       .kind = OptionKind::Mapping,
       .description = "results on held-out streams"},
  };
  return specs;
}

std::string triggers_text(std::span<const TrainedTrigger> triggers) {
  if (triggers.empty()) return "[]\n";
  std::string text;
  for (const TrainedTrigger& one : triggers) {
    const TriggerParameters& parameters = one.trigger.parameters;
    text += fmt::format(
        "- fabric: {}\n  noise: {}\n  sigma: {:.6g}\n  drift: {:.6g}\n  limit: {:.6g}\n"
        "  threshold: {:.6g}\n  trained: {}\n  held_out: {}\n",
        yaml_quoted(one.trigger.fabric), yaml_quoted(one.trigger.noise), parameters.sigma,
        parameters.drift, parameters.limit, parameters.threshold, measure_text(one.trained),
        measure_text(one.held_out));
  }
  return text;
}

std::vector<TriggerOf> read_triggers(const std::string& text, const std::string& file) {
  const YamlValue list = parse_yaml(text, file);
  std::vector<TriggerOf> triggers;
  for (const YamlValue& item : list.items()) {
    check_keys(item, trigger_file_options(), "trigger");
    const auto value = [&](std::string_view key) {
      const auto& specs = trigger_file_options();
      const OptionSpec& spec = find_option(specs, key);
      return std::pair<YamlValue, const OptionSpec&>(option_value(item, spec), spec);
    };
    const auto name = [&](std::string_view key) {
      const auto [found, spec] = value(key);
      return read_text(found, spec);
    };
    const auto real = [&](std::string_view key) {
      const auto [found, spec] = value(key);
      return read_real(found, spec);
    };
    triggers.push_back({.fabric = name("fabric"),
                        .noise = name("noise"),
                        .parameters = {.sigma = real("sigma"),
                                       .drift = real("drift"),
                                       .limit = real("limit"),
                                       .threshold = real("threshold")}});
  }
  return triggers;
}

std::vector<TriggerOf> load_triggers(const std::string& path) {
  constexpr std::size_t kLargestFile = std::size_t{1} << 20;
  return read_triggers(read_text_file(path, kLargestFile), path);
}

const TriggerOf& nearest_trigger(std::span<const TriggerOf> triggers, const std::string& fabric,
                                 const std::string& noise) {
  const auto best = std::ranges::max_element(triggers, {}, [&](const TriggerOf& one) {
    return (one.noise == noise ? 1 : 0) + (one.noise == noise && one.fabric == fabric ? 1 : 0);
  });
  return *best;
}

}  // namespace cclgym
