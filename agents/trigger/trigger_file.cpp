#include "agents/trigger/trigger_file.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <limits>
#include <utility>

#include "agents/training/checkpoint.hpp"
#include "core/files/text_file.hpp"
#include "core/yaml/yaml.hpp"
#include "core/yaml/yaml_scalar.hpp"

namespace cclgym {

namespace {

std::string yaml_quoted(const std::string& text) {
  // Single quotes keep neither line breaks nor other control characters.
  if (std::any_of(text.begin(), text.end(),
                  [](unsigned char c) { return c < 0x20 || c >= 0x7f; })) {
    return yaml_scalar(text);
  }
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

// Files whose triggers are all CUSUMs have no p90_delay.
std::string measure_text(const TriggerMeasure& m, bool with_p90) {
  return fmt::format(
      "{{calls: {}, changes: {}, silent_changes: {}, found: {}, median_delay: {}, {}"
      "false_alarms_per_1000: {:.4g}}}",
      m.calls, m.changes, m.silent_changes, m.found, m.median_delay,
      with_p90 ? fmt::format("p90_delay: {}, ", m.p90_delay) : "", m.false_alarms_per_1000());
}

OptionSpec trigger_number(const std::string& name, const std::string& description) {
  return {.name = name,
          .kind = OptionKind::Real,
          .description = description,
          .min = 0,
          .max = 1e6,
          .exclusive_min = true,
          .required = true};
}

OptionSpec form_option() {
  return {.name = "form",
          .kind = OptionKind::Choice,
          .description = "detector",
          .default_text = "cusum",
          .choices = {"cusum", "lstm"}};
}

std::vector<OptionSpec> with_common_options(std::vector<OptionSpec> specs) {
  const std::vector<OptionSpec> first{
      form_option(),
      {.name = "fabric", .description = "fabric of the training run", .required = true},
      {.name = "noise",
       .description = "noise with the regimes of the training run",
       .required = true},
      trigger_number("sigma", "spread of ln(time / expected) within a regime")};
  specs.insert(specs.begin(), first.begin(), first.end());
  specs.push_back({.name = "trained",
                   .kind = OptionKind::Mapping,
                   .description = "results on the training streams"});
  specs.push_back({.name = "held_out",
                   .kind = OptionKind::Mapping,
                   .description = "results on held-out streams"});
  return specs;
}

std::string learned_text(const LearnedTriggerParameters& learned) {
  std::string text =
      fmt::format("  units: {}\n  threshold: {:.6g}\n  confirm: {}\n  pause: {}\n  weights: [",
                  learned.units, learned.threshold, learned.confirm, learned.pause);
  constexpr std::size_t kPerLine = 8;
  for (std::size_t i = 0; i < learned.weights.size(); ++i) {
    text += i == 0 ? "" : i % kPerLine == 0 ? ",\n    " : ", ";
    text += fmt::format("{:.9g}", learned.weights[i]);
  }
  return text + "]\n";
}

// Values of an item by key.
class TriggerItem {
 public:
  TriggerItem(const YamlValue& item, const std::vector<OptionSpec>& specs)
      : item_(item), specs_(specs) {
    check_keys(item, specs, "trigger");
  }

  [[nodiscard]] YamlValue value(std::string_view key) const {
    return option_value(item_, spec(key));
  }
  [[nodiscard]] const OptionSpec& spec(std::string_view key) const {
    return find_option(specs_, key);
  }
  [[nodiscard]] std::string text(std::string_view key) const {
    return read_text(value(key), spec(key));
  }
  [[nodiscard]] double real(std::string_view key) const { return read_real(value(key), spec(key)); }
  template <class Count>
  [[nodiscard]] Count count(std::string_view key) const {
    return static_cast<Count>(read_integer(value(key), spec(key)));
  }

 private:
  const YamlValue& item_;
  const std::vector<OptionSpec>& specs_;
};

LearnedTriggerParameters read_learned(const TriggerItem& item) {
  LearnedTriggerParameters learned{.sigma = item.real("sigma"),
                                   .units = item.count<std::size_t>("units"),
                                   .threshold = item.real("threshold"),
                                   .confirm = item.count<std::uint32_t>("confirm"),
                                   .pause = item.count<std::uint32_t>("pause")};
  const YamlValue weights = item.value("weights");
  OptionSpec one = item.spec("weights");
  one.shape = OptionShape::One;
  for (const YamlValue& weight : read_items(weights, item.spec("weights"))) {
    learned.weights.push_back(static_cast<double>(static_cast<float>(read_real(weight, one))));
  }
  if (const std::string fault = learned_trigger_fault(learned); !fault.empty()) {
    throw UserError(weights.location(), fault);
  }
  return learned;
}

double read_delay(const YamlValue& results, std::string_view key) {
  const YamlValue* value = results.find(key);
  if (value == nullptr) return 0;
  if (value->as_text() == "inf") return std::numeric_limits<double>::infinity();
  return read_real(*value, {.name = std::string(key), .kind = OptionKind::Real, .min = 0});
}

// Results of a file, which may lack some; 0 for those.
TriggerMeasure read_measure(const YamlValue& results) {
  TriggerMeasure measure;
  if (results.is_null()) return measure;
  const auto count = [&](std::string_view key) -> std::size_t {
    const YamlValue* value = results.find(key);
    if (value == nullptr) return 0;
    return static_cast<std::size_t>(read_integer(
        *value, {.name = std::string(key), .kind = OptionKind::Integer, .min = 0, .max = 1e12}));
  };
  measure.calls = count("calls");
  measure.changes = count("changes");
  measure.silent_changes = count("silent_changes");
  measure.found = count("found");
  measure.median_delay = read_delay(results, "median_delay");
  measure.p90_delay = read_delay(results, "p90_delay");
  measure.false_alarms = static_cast<std::size_t>(std::llround(
      read_delay(results, "false_alarms_per_1000") * static_cast<double>(measure.calls) / 1000));
  return measure;
}

}  // namespace

std::string trigger_path(const std::string& folder, std::uint64_t seed) {
  return seed_folder(folder, seed) + "/trigger.yaml";
}

const std::vector<OptionSpec>& trigger_file_options() {
  static const std::vector<OptionSpec> specs = with_common_options({
      trigger_number("drift",
                     "deviation of a call from the mean from which on it counts, in sigmas"),
      trigger_number("limit", "max deviation that counts for a call, in sigmas"),
      trigger_number("threshold", "sum above which an alarm is raised, in sigmas"),
  });
  return specs;
}

const std::vector<OptionSpec>& learned_trigger_file_options() {
  static const std::vector<OptionSpec> specs = with_common_options({
      {.name = "units",
       .kind = OptionKind::Integer,
       .description = "units of the LSTM",
       .min = 1,
       .max = static_cast<double>(kMaxTriggerUnits),
       .required = true},
      {.name = "threshold",
       .kind = OptionKind::Real,
       .description = "logit above which a call counts",
       .min = -100,
       .max = 100,
       .required = true},
      {.name = "confirm",
       .kind = OptionKind::Integer,
       .description = "successive calls above the threshold that raise an alarm",
       .min = 1,
       .max = 1000,
       .required = true},
      {.name = "pause",
       .kind = OptionKind::Integer,
       .description = "calls after an alarm without another one",
       .min = 0,
       .max = 1000,
       .required = true},
      {.name = "weights",
       .kind = OptionKind::Real,
       .shape = OptionShape::List,
       .description = "weights of the LSTM and its output, in the order of deploy/trigger",
       .min = -1e6,
       .max = 1e6,
       .required = true},
  });
  return specs;
}

std::string triggers_text(std::span<const TrainedTrigger> triggers) {
  if (triggers.empty()) return "[]\n";
  const bool with_p90 = std::ranges::any_of(
      triggers, [](const TrainedTrigger& one) { return one.trigger.learned.has_value(); });
  std::string text;
  for (const TrainedTrigger& one : triggers) {
    const TriggerParameters& parameters = one.trigger.parameters;
    const auto& learned = one.trigger.learned;
    text +=
        fmt::format("- fabric: {}\n  noise: {}\n{}  sigma: {:.6g}\n",
                    yaml_quoted(one.trigger.fabric), yaml_quoted(one.trigger.noise),
                    learned ? "  form: lstm\n" : "", learned ? learned->sigma : parameters.sigma);
    text += learned ? learned_text(*learned)
                    : fmt::format("  drift: {:.6g}\n  limit: {:.6g}\n  threshold: {:.6g}\n",
                                  parameters.drift, parameters.limit, parameters.threshold);
    text += fmt::format("  trained: {}\n  held_out: {}\n", measure_text(one.trained, with_p90),
                        measure_text(one.held_out, with_p90));
  }
  return text;
}

std::vector<TrainedTrigger> read_trained_triggers(const std::string& text,
                                                  const std::string& file) {
  const YamlValue list = parse_yaml(text, file);
  std::vector<TrainedTrigger> triggers;
  for (const YamlValue& one : list.items()) {
    const YamlValue* form = one.is_mapping() ? one.find("form") : nullptr;
    const bool learned = form != nullptr && read_choice(*form, form_option()) == 1;
    const TriggerItem item(one, learned ? learned_trigger_file_options() : trigger_file_options());
    TrainedTrigger& read = triggers.emplace_back();
    read.trigger.fabric = item.text("fabric");
    read.trigger.noise = item.text("noise");
    if (learned) {
      read.trigger.learned = read_learned(item);
    } else {
      read.trigger.parameters = {.sigma = item.real("sigma"),
                                 .drift = item.real("drift"),
                                 .limit = item.real("limit"),
                                 .threshold = item.real("threshold")};
    }
    read.trained = read_measure(item.value("trained"));
    read.held_out = read_measure(item.value("held_out"));
  }
  return triggers;
}

std::vector<TriggerOf> read_triggers(const std::string& text, const std::string& file) {
  std::vector<TriggerOf> triggers;
  for (TrainedTrigger& one : read_trained_triggers(text, file)) {
    triggers.push_back(std::move(one.trigger));
  }
  return triggers;
}

std::vector<TrainedTrigger> load_trained_triggers(const std::string& path) {
  constexpr std::size_t kLargestFile = std::size_t{1} << 20;
  return read_trained_triggers(read_text_file(path, kLargestFile), path);
}

const TriggerOf& nearest_trigger(std::span<const TriggerOf> triggers, const std::string& fabric,
                                 const std::string& noise) {
  const auto best = std::ranges::max_element(triggers, {}, [&](const TriggerOf& one) {
    return (one.noise == noise ? 1 : 0) + (one.noise == noise && one.fabric == fabric ? 1 : 0);
  });
  return *best;
}

}  // namespace cclgym
