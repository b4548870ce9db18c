#include "experiments/sweep/cost_model_choice.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "cost_models/parameters/parameter_file.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "experiments/sweep/experiment_options.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kAuto = "auto";

// Values that a mapping overrides one by one.
class Overrides {
 public:
  explicit Overrides(CostModel& model) : model_(model) {}

  void apply(const YamlEntry& entry) {
    const OptionSpec& spec = find_option(cost_model_choice_options(), entry.key);
    if (entry.key == "kernel_launch") {
      time(model_.kernel_launch_s, entry.value, spec, entry.key);
    } else if (entry.key == "channel_overhead") {
      time(model_.channel_overhead_s, entry.value, spec, entry.key);
    } else if (entry.key == "interpreter_launch") {
      time(model_.interpreter_launch_s, entry.value, spec, entry.key);
    } else if (entry.key == "interpreter_block") {
      time(model_.interpreter_block_s, entry.value, spec, entry.key);
    } else if (entry.key == "interpreter_step") {
      time(model_.interpreter_step_s, entry.value, spec, entry.key);
    } else if (entry.key == "kernel_gap") {
      time(model_.kernel_gap_s, entry.value, spec, entry.key);
    } else if (entry.key == "start_skew") {
      time(model_.start_skew_s, entry.value, spec, entry.key);
    } else if (entry.key == "instruction_overhead") {
      time(model_.instruction_overhead_s, entry.value, spec, entry.key);
    } else if (entry.key == "max_thread_blocks") {
      model_.max_thread_blocks = static_cast<int>(read_integer(entry.value, spec));
      note(entry.key, entry.value);
    } else if (entry.key == "resident_threads") {
      model_.resident_threads = static_cast<int>(read_integer(entry.value, spec));
      note(entry.key, entry.value);
    } else if (entry.key == "full_threads") {
      model_.full_threads = static_cast<int>(read_integer(entry.value, spec));
      note(entry.key, entry.value);
    } else if (entry.key == "half_rate_threads") {
      model_.half_rate_threads = static_cast<int>(read_integer(entry.value, spec));
      note(entry.key, entry.value);
    } else if (entry.key == "local_copy_rate") {
      model_.local_copy_rate_Bps = read_rate_Bps(entry.value, spec);
      note(entry.key, entry.value);
    } else if (entry.key == "local_reduce_rate") {
      model_.local_reduce_rate_Bps = read_rate_Bps(entry.value, spec);
      note(entry.key, entry.value);
    } else if (entry.key == "switch_efficiency") {
      model_.switch_efficiency = read_real(entry.value, spec);
      note(entry.key, entry.value);
    } else if (entry.key == "switch_latency") {
      time(model_.switch_latency_s, entry.value, spec, entry.key);
    } else if (entry.key == "proxy_message") {
      time(model_.proxy_message_s, entry.value, spec, entry.key);
    } else if (entry.key == "copy_latency") {
      time(model_.copy_latency_s, entry.value, spec, entry.key);
    } else if (entry.key == "rendezvous_latency") {
      time(model_.rendezvous_latency_s, entry.value, spec, entry.key);
    } else if (entry.key == "proxy_rendezvous") {
      time(model_.proxy_rendezvous_s, entry.value, spec, entry.key);
    } else if (entry.key == "inline_limit") {
      size(model_.inline_limit_bytes, entry.value, spec, entry.key);
    } else if (entry.key == "copy_limit") {
      size(model_.copy_limit_bytes, entry.value, spec, entry.key);
    } else if (entry.key == "eager_limit") {
      size(model_.eager_limit_bytes, entry.value, spec, entry.key);
    } else if (entry.key == "network_burst") {
      size(model_.network_burst_bytes, entry.value, spec, entry.key);
    } else if (entry.key == "connection_rate") {
      model_.connection_rate_Bps = read_rate_Bps(entry.value, spec);
      note(entry.key, entry.value);
    } else if (entry.key == "alpha") {
      alpha(entry.value);
    } else if (entry.key == "link_efficiency") {
      link_efficiency(entry.value);
    } else if (entry.key == "protocols") {
      protocols(entry.value);
    } else {
      throw std::logic_error("cost model key '" + entry.key + "' has a record but no reader");
    }
  }

  /// Renames the model to say what differs from its base: each value, or how many if that is long.
  void rename() {
    constexpr std::size_t kLongest = 60;
    model_.name += notes_.size() <= kLongest
                       ? notes_
                       : " with " + std::to_string(changes_) + " values overridden";
  }

 private:
  void time(double& target, const YamlValue& value, const OptionSpec& spec,
            const std::string& name) {
    target = read_time_s(value, spec);
    note(name, value);
  }

  void size(std::uint64_t& target, const YamlValue& value, const OptionSpec& spec,
            const std::string& name) {
    target = read_bytes(value, spec);
    note(name, value);
  }

  void note(const std::string& name, const YamlValue& value) {
    notes_ += " " + name + "=" + value.as_text();
    ++changes_;
  }

  void alpha(const YamlValue& mapping) {
    check_keys(mapping, alpha_options(), "alpha");
    for (const YamlEntry& entry : mapping.entries()) {
      const OptionSpec& spec = find_option(alpha_options(), entry.key);
      double value_s = 0;
      time(value_s, entry.value, spec, "alpha." + entry.key);
      model_.alpha_s[kind_of(entry.key)] = value_s;
    }
  }

  void link_efficiency(const YamlValue& mapping) {
    check_keys(mapping, link_efficiency_options(), "link_efficiency");
    for (const YamlEntry& entry : mapping.entries()) {
      const OptionSpec& spec = find_option(link_efficiency_options(), entry.key);
      model_.link_efficiency[kind_of(entry.key)] = read_real(entry.value, spec);
      note("link_efficiency." + entry.key, entry.value);
    }
  }

  void protocols(const YamlValue& mapping) {
    std::vector<OptionSpec> names;
    for (const Protocol protocol : all_protocols()) {
      names.push_back({.name = std::string(to_string(protocol)), .kind = OptionKind::Mapping});
    }
    check_keys(mapping, names, "protocols");
    std::vector<OptionSpec> specs = protocol_options();
    for (OptionSpec& spec : specs) spec.required = false;
    for (const YamlEntry& entry : mapping.entries()) {
      check_keys(entry.value, specs, "protocol " + entry.key);
      ProtocolCost& cost = model_.protocols[static_cast<std::size_t>(*parse_protocol(entry.key))];
      for (const YamlEntry& value : entry.value.entries()) {
        protocol_value(cost, value, find_option(specs, value.key), entry.key);
      }
    }
  }

  void protocol_value(ProtocolCost& cost, const YamlEntry& entry, const OptionSpec& spec,
                      const std::string& protocol) {
    if (entry.key == "step_latency") {
      cost.step_latency_s = read_time_s(entry.value, spec);
    } else if (entry.key == "network_latency") {
      cost.network_latency_s = read_time_s(entry.value, spec);
    } else if (entry.key == "efficiency") {
      cost.efficiency = read_real(entry.value, spec);
    } else if (entry.key == "thread_block_rate") {
      cost.thread_block_rate_Bps = read_rate_Bps(entry.value, spec);
    } else if (entry.key == "reduce_rate") {
      cost.reduce_rate_Bps = read_rate_Bps(entry.value, spec);
    } else if (entry.key == "network_rate") {
      cost.network_rate_Bps = read_rate_Bps(entry.value, spec);
    } else if (entry.key == "tree_latency") {
      cost.tree_latency_s = read_time_s(entry.value, spec);
    } else if (entry.key == "proxy_message") {
      cost.proxy_message_s = read_time_s(entry.value, spec);
    } else if (entry.key == "proxy_inline") {
      cost.proxy_inline_s = read_time_s(entry.value, spec);
    } else if (entry.key == "proxy_copy") {
      cost.proxy_copy_s = read_time_s(entry.value, spec);
    } else if (entry.key == "proxy_rate") {
      cost.proxy_rate_Bps = read_rate_Bps(entry.value, spec);
    } else if (entry.key == "slot_data") {
      cost.slot_bytes = read_bytes(entry.value, spec);
    } else if (entry.key == "slots") {
      cost.slots = static_cast<int>(read_integer(entry.value, spec));
    } else if (entry.key == "message_slots") {
      cost.message_slots = static_cast<int>(read_integer(entry.value, spec));
    } else {
      throw std::logic_error("protocol key '" + entry.key + "' has a record but no reader");
    }
    note(protocol + "." + entry.key, entry.value);
  }

  static std::size_t kind_of(std::string_view name) {
    const auto& specs = alpha_options();  // in the order of LinkKind
    const auto found = std::find_if(specs.begin(), specs.end(),
                                    [&](const OptionSpec& spec) { return spec.name == name; });
    return static_cast<std::size_t>(found - specs.begin());
  }

  CostModel& model_;
  std::string notes_;
  std::size_t changes_ = 0;
};

bool is_parameter_file(const std::string& text) {
  return text.ends_with(".yaml") || text.ends_with(".yml");
}

}  // namespace

void check_exists(const std::string& path, std::string_view what, const SourceLocation& where) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw UserError(where, std::string(what) + " " + quoted(path, 200) + " does not exist");
  }
}

std::string existing_path_beside(const std::string& path, std::string_view what,
                                 const SourceLocation& where) {
  std::string seen = (std::filesystem::path(where.file).parent_path() / path).string();
  check_exists(seen, what, where);
  return seen;
}

CostModel choose_cost_model(const std::string& text, const Fabric& fabric,
                            const SourceLocation& where) {
  if (is_parameter_file(text)) {
    return cost_model_for(existing_path_beside(text, "parameter file", where), fabric);
  }
  std::vector<std::string> names = cost_model_names();
  names.emplace_back(kAuto);
  if (std::find(names.begin(), names.end(), text) != names.end()) {
    return cost_model_for(text, fabric);
  }
  throw UserError(where, unknown_name_message("cost model", text, names) +
                             "; or the path of a parameter file (*.yaml)");
}

CostModel read_cost_model_choice(const YamlValue& value, const Fabric& fabric) {
  const OptionSpec& base = find_option(cost_model_choice_options(), "base");
  if (!value.is_mapping()) {
    return choose_cost_model(read_text(value, base), fabric, value.location());
  }
  check_keys(value, cost_model_choice_options(), "cost model");
  const YamlValue chosen = option_value(value, base);
  CostModel model = choose_cost_model(read_text(chosen, base), fabric, chosen.location());
  Overrides overrides(model);
  for (const YamlEntry& entry : value.entries()) {
    if (entry.key == base.name) continue;
    if (model.hockney) {
      throw UserError(entry.key_location,
                      "cost model 'hockney' has no '" + entry.key +
                          "': it is made of the links' latencies and bandwidths alone");
    }
    overrides.apply(entry);
  }
  overrides.rename();
  return model;
}

}  // namespace cclgym
