#include "calibration/loop/loop_config.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <string>

#include "agents/trigger/trigger_file.hpp"
#include "core/error.hpp"

namespace cclgym {

namespace {

std::string beside(const std::string& file, const std::string& path) {
  if (std::filesystem::path(path).is_absolute()) return path;
  return (std::filesystem::path(file).parent_path() / path).string();
}

// A name that can be a field of a CSV file.
std::string read_label(const YamlValue& value, const OptionSpec& spec) {
  std::string text = read_text(value, spec);
  const bool plain = std::ranges::none_of(
      text, [](char c) { return c == ',' || c == '"' || static_cast<unsigned char>(c) < ' '; });
  if (plain) return text;
  throw UserError(value.location(), fmt::format("{} is {}; expected a name without commas, quotes "
                                                "and control characters",
                                                spec.name, quoted(text)));
}

void read_calls(const YamlValue& item, std::vector<LoopCallSpec>& calls) {
  const auto& specs = loop_call_options();
  check_keys(item, specs, "call");
  const auto value = [&](std::string_view key) {
    return option_value(item, find_option(specs, key));
  };
  const auto& kinds = all_collectives();
  const OptionSpec& collective = find_option(specs, "collective");
  LoopCallSpec call{.collective = kinds[read_choice(value("collective"), collective)]};
  call.root = static_cast<int>(read_integer(value("root"), find_option(specs, "root")));
  call.where = value("root").location();
  if (call.root != 0 && !is_rooted(call.collective)) {
    throw UserError(call.where, fmt::format("{} has no root", to_string(call.collective)));
  }
  for (const std::uint64_t bytes : read_byte_sizes(value("sizes"), find_option(specs, "sizes"))) {
    call.bytes = bytes;
    calls.push_back(call);
  }
}

LoopSweep read_sweep_item(const YamlValue& item, const std::string& file) {
  const auto& specs = loop_sweep_options();
  check_keys(item, specs, "sweep");
  const OptionSpec& measured = find_option(specs, "measured");
  const OptionSpec& weight = find_option(specs, "weight");
  const YamlValue path = option_value(item, measured);
  return {.measured = beside(file, read_text(path, measured)),
          .where = path.location(),
          .weight = read_real(option_value(item, weight), weight)};
}

// The first learned trigger of a file of `cclgym train`.
LearnedTriggerParameters read_trigger(const YamlValue& path, const OptionSpec& spec,
                                      const std::string& file) {
  const std::string trigger = beside(file, read_text(path, spec));
  if (!std::filesystem::is_regular_file(trigger)) {
    throw UserError(path.location(),
                    fmt::format("there is no file '{}'; expected a trigger.yaml", trigger));
  }
  try {
    for (const TrainedTrigger& one : load_trained_triggers(trigger)) {
      if (one.trigger.learned) return *one.trigger.learned;
    }
  } catch (const UserError& fault) {
    throw UserError(path.location(), fault.what());
  }
  throw UserError(path.location(),
                  fmt::format("'{}' has no learned trigger; expected an item with form: lstm, as "
                              "cclgym train writes with trigger: {{form: lstm}}",
                              trigger));
}

LoopPolicySpec read_policy_spec(const YamlValue& item, const std::string& file) {
  const auto& specs = loop_policy_options();
  check_keys(item, specs, "policy");
  const OptionSpec& path = find_option(specs, "file");
  const YamlValue value = option_value(item, path);
  LoopPolicySpec policy{.file = beside(file, read_text(value, path)), .where = value.location()};
  const OptionSpec& seed = find_option(specs, "seed");
  if (const YamlValue* number = find_value(item, seed)) {
    policy.seed = std::to_string(read_integer(*number, seed));
    policy.seed_where = number->location();
  }
  const OptionSpec& machine = find_option(specs, "machine");
  if (const YamlValue* label = find_value(item, machine)) {
    policy.machine = read_text(*label, machine);
    policy.machine_where = label->location();
  }
  const OptionSpec& set = find_option(specs, "cost_model");
  const YamlValue name = option_value(item, set);
  policy.cost_model = read_text(name, set);
  policy.cost_model_where = name.location();
  if (policy.cost_model.ends_with(".yaml") || policy.cost_model.ends_with(".yml")) {
    policy.cost_model = std::filesystem::absolute(beside(file, policy.cost_model)).string();
  }
  const OptionSpec& within = find_option(specs, "within");
  if (const YamlValue* most = find_value(item, within)) policy.within = read_real(*most, within);
  return policy;
}

// The next event of a loop whose duration and earlier events are known.
LoopEvent read_event(const YamlValue& item, const LoopConfig& config) {
  const auto& specs = loop_event_options();
  check_keys(item, specs, "event");
  const OptionSpec& at = find_option(specs, "at");
  const OptionSpec& label = find_option(specs, "label");
  const OptionSpec& run = find_option(specs, "run");
  const YamlValue time = option_value(item, at);
  LoopEvent event{.at_s = read_real(time, at)};
  event.label = read_label(option_value(item, label), label);
  if (const YamlValue* command = find_value(item, run)) event.run = read_text(*command, run);
  if (!config.events.empty() && event.at_s < config.events.back().at_s) {
    throw UserError(time.location(),
                    fmt::format("at is {:g} s; expected a time that is not before the event before "
                                "it, at {:g} s",
                                event.at_s, config.events.back().at_s));
  }
  if (event.at_s >= config.seconds) {
    throw UserError(time.location(), fmt::format("at is {:g} s, but the loop ends after {:g} s",
                                                 event.at_s, config.seconds));
  }
  return event;
}

}  // namespace

const std::vector<OptionSpec>& loop_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "name", .description = "name of the loop", .required = true},
      {.name = "seconds",
       .kind = OptionKind::Real,
       .description = "duration of the loop",
       .unit = "s",
       .min = 1,
       .max = 1e6,
       .default_text = "600"},
      {.name = "compute",
       .kind = OptionKind::Time,
       .description = "pause before each call, in the place of computation",
       .max = 60,
       .default_text = "2ms"},
      {.name = "calls",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "calls of one iteration, in order",
       .required = true},
      {.name = "prior",
       .description = "CSV of `calibrate mpi`: what the policies know when the loop starts",
       .required = true},
      {.name = "hindsight",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "sweeps in the states of the machine, of which the best single table is "
                      "made, as a further policy"},
      {.name = "policy",
       .kind = OptionKind::Mapping,
       .description = "trained policy, for the lanes policy and policy-frozen"},
      {.name = "start",
       .description = "state of the machine before the first event",
       .default_text = "idle"},
      {.name = "events",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "changes of the machine, which the policies are not told"},
      {.name = "seed",
       .kind = OptionKind::Integer,
       .description = "seed of the order of the policies",
       .min = 0,
       .max = 1e9,
       .default_text = "1"},
      {.name = "interface",
       .description = "network interface through which the ranks agree, or how its name begins; "
                      "the first that is up if not given"},
      {.name = "trigger",
       .description = "file with a learned trigger (`trigger.yaml` of `train`), with which the "
                      "agent detects changes; two CUSUMs if not given"},
  };
  return specs;
}

const std::vector<OptionSpec>& loop_call_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "collective",
       .kind = OptionKind::Choice,
       .description = "collective",
       .required = true,
       .choices = collective_names()},
      {.name = "sizes",
       .kind = OptionKind::Bytes,
       .shape = OptionShape::OneOrList,
       .description = "sizes as counted by nccl-tests; one call of each",
       .min = 4,
       .max = 1 << 30,
       .required = true},
      {.name = "root",
       .kind = OptionKind::Integer,
       .description = "rank of the root, for broadcast and reduce",
       .min = 0,
       .max = 1e6,
       .default_text = "0"},
  };
  return specs;
}

const std::vector<OptionSpec>& loop_sweep_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "measured", .description = "CSV of `calibrate mpi`", .required = true},
      {.name = "weight",
       .kind = OptionKind::Real,
       .description = "share of the loop's calls that meet this state",
       .min = 0,
       .max = 1e6,
       .exclusive_min = true,
       .default_text = "1"},
  };
  return specs;
}

const std::vector<OptionSpec>& loop_policy_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "file",
       .description =
           "policy file of `cclgym export`, or folder of a training with actions: openmpi",
       .required = true},
      {.name = "seed",
       .kind = OptionKind::Integer,
       .description = "seed of the training's agent; the first that was trained if not given",
       .min = 0,
       .max = 9e15},
      {.name = "machine",
       .description =
           "machine among those of the policy; the one with the loop's ranks if not given"},
      {.name = "cost_model",
       .description =
           "parameter set of the machine, by which calls that the prior lacks are expected",
       .default_text = "auto"},
      {.name = "within",
       .kind = OptionKind::Real,
       .description =
           "max time of a configuration in the prior, relative to the best of its call, "
           "for the policy to choose it; the policy chooses among all its actions if not "
           "given",
       .min = 1,
       .max = 1e6},
  };
  return specs;
}

const std::vector<OptionSpec>& loop_event_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "at",
       .kind = OptionKind::Real,
       .description = "time since the start of the loop",
       .unit = "s",
       .min = 0,
       .max = 1e6,
       .required = true},
      {.name = "run", .description = "command line, which a shell runs in the working directory"},
      {.name = "label", .description = "name of the state from then on", .required = true},
  };
  return specs;
}

LoopConfig load_loop_config(const std::string& path) {
  const YamlValue file = load_yaml_file(path);
  const auto& specs = loop_options();
  check_keys(file, specs, "loop");
  const auto value = [&](std::string_view key) {
    return option_value(file, find_option(specs, key));
  };
  LoopConfig config{.name = read_text(value("name"), find_option(specs, "name"))};
  config.seconds = read_real(value("seconds"), find_option(specs, "seconds"));
  config.compute_s = read_time_s(value("compute"), find_option(specs, "compute"));
  for (const YamlValue& item : read_items(value("calls"), find_option(specs, "calls"))) {
    read_calls(item, config.calls);
  }
  config.prior = beside(path, read_text(value("prior"), find_option(specs, "prior")));
  config.prior_where = value("prior").location();
  if (const YamlValue sweeps = value("hindsight"); !sweeps.is_null()) {
    for (const YamlValue& item : read_items(sweeps, find_option(specs, "hindsight"))) {
      config.hindsight.push_back(read_sweep_item(item, path));
    }
  }
  if (const YamlValue* policy = find_value(file, find_option(specs, "policy"))) {
    config.policy = read_policy_spec(*policy, path);
  }
  config.start = read_label(value("start"), find_option(specs, "start"));
  if (const YamlValue events = value("events"); !events.is_null()) {
    for (const YamlValue& item : read_items(events, find_option(specs, "events"))) {
      config.events.push_back(read_event(item, config));
    }
  }
  config.seed = static_cast<std::uint64_t>(read_integer(value("seed"), find_option(specs, "seed")));
  if (const YamlValue* name = find_value(file, find_option(specs, "interface"))) {
    config.interface = read_text(*name, find_option(specs, "interface"));
  }
  if (const YamlValue* trigger = find_value(file, find_option(specs, "trigger"))) {
    config.trigger = read_trigger(*trigger, find_option(specs, "trigger"), path);
  }
  return config;
}

}  // namespace cclgym
