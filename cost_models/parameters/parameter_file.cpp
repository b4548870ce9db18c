#include "cost_models/parameters/parameter_file.hpp"

#include <cstdint>
#include <fmt/core.h>
#include <string_view>

#include "core/error.hpp"
#include "cost_models/parameters/parameter_set.hpp"

namespace cclgym {

namespace {

const std::vector<OptionSpec>& value_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "value", .description = "the value", .required = true},
      {.name = "source", .description = "where the value comes from: a measurement, a paper"}};
  return specs;
}

// The record of a key.
const OptionSpec& spec_of(const std::vector<OptionSpec>& specs, std::string_view name) {
  for (const OptionSpec& spec : specs) {
    if (spec.name == name) return spec;
  }
  throw std::logic_error("no option record '" + std::string(name) + "'");
}

// Looks through "{value: …, source: …}".
YamlValue plain_value(const YamlValue& value, const OptionSpec& spec) {
  if (!value.is_mapping()) return value;
  check_keys(value, value_options(), spec.name);
  return *value.find("value");
}

YamlValue lookup(const YamlValue& mapping, const OptionSpec& spec) {
  return plain_value(option_value(mapping, spec), spec);
}

// Reads `key` of a mapping into `target` if it is there or has a default.
void read_into(double& target, const YamlValue& mapping, const std::vector<OptionSpec>& specs,
               std::string_view key) {
  const OptionSpec& spec = spec_of(specs, key);
  const YamlValue value = lookup(mapping, spec);
  if (value.is_null()) return;
  switch (spec.kind) {
    case OptionKind::Time:
      target = read_time_s(value, spec);
      break;
    case OptionKind::Rate:
      target = read_rate_Bps(value, spec);
      break;
    default:
      target = read_real(value, spec);
      break;
  }
}

ProtocolCost read_protocol(const YamlValue& mapping, std::string_view name) {
  const std::vector<OptionSpec>& specs = protocol_options();
  check_keys(mapping, specs, "protocol " + std::string(name));
  ProtocolCost cost;
  read_into(cost.step_latency_s, mapping, specs, "step_latency");
  read_into(cost.network_latency_s, mapping, specs, "network_latency");
  read_into(cost.tree_latency_s, mapping, specs, "tree_latency");
  read_into(cost.efficiency, mapping, specs, "efficiency");
  read_into(cost.thread_block_rate_Bps, mapping, specs, "thread_block_rate");
  read_into(cost.reduce_rate_Bps, mapping, specs, "reduce_rate");
  read_into(cost.network_rate_Bps, mapping, specs, "network_rate");
  read_into(cost.proxy_message_s, mapping, specs, "proxy_message");
  read_into(cost.proxy_inline_s, mapping, specs, "proxy_inline");
  read_into(cost.proxy_copy_s, mapping, specs, "proxy_copy");
  read_into(cost.proxy_rate_Bps, mapping, specs, "proxy_rate");
  const OptionSpec& slot_data = spec_of(specs, "slot_data");
  cost.slot_bytes = read_bytes(lookup(mapping, slot_data), slot_data);
  const OptionSpec& slots = spec_of(specs, "slots");
  cost.slots = static_cast<int>(read_integer(lookup(mapping, slots), slots));
  const OptionSpec& message_slots = spec_of(specs, "message_slots");
  const YamlValue in_message = lookup(mapping, message_slots);
  cost.message_slots = static_cast<int>(read_integer(in_message, message_slots));
  if (cost.slots > 0 && cost.message_slots > cost.slots) {
    throw UserError(
        in_message.location(),
        fmt::format("protocol {}: message_slots is {}, more than the {} slots there are", name,
                    cost.message_slots, cost.slots));
  }
  return cost;
}

}  // namespace

CostModel read_cost_model(const YamlValue& document) {
  const std::vector<OptionSpec>& specs = cost_model_options();
  check_keys(document, specs, "cost model");
  CostModel model;
  model.name = read_text(*document.find("name"), spec_of(specs, "name"));
  if (const YamlValue* description = document.find("description")) {
    model.description = read_text(*description, spec_of(specs, "description"));
  }
  read_into(model.kernel_launch_s, document, specs, "kernel_launch");
  read_into(model.channel_overhead_s, document, specs, "channel_overhead");
  read_into(model.interpreter_launch_s, document, specs, "interpreter_launch");
  read_into(model.interpreter_block_s, document, specs, "interpreter_block");
  read_into(model.interpreter_step_s, document, specs, "interpreter_step");
  read_into(model.kernel_gap_s, document, specs, "kernel_gap");
  read_into(model.start_skew_s, document, specs, "start_skew");
  read_into(model.instruction_overhead_s, document, specs, "instruction_overhead");
  read_into(model.local_copy_rate_Bps, document, specs, "local_copy_rate");
  model.local_reduce_rate_Bps = model.local_copy_rate_Bps;
  read_into(model.local_reduce_rate_Bps, document, specs, "local_reduce_rate");
  read_into(model.switch_efficiency, document, specs, "switch_efficiency");
  read_into(model.switch_latency_s, document, specs, "switch_latency");
  read_into(model.proxy_message_s, document, specs, "proxy_message");
  read_into(model.copy_latency_s, document, specs, "copy_latency");
  read_into(model.rendezvous_latency_s, document, specs, "rendezvous_latency");
  read_into(model.proxy_rendezvous_s, document, specs, "proxy_rendezvous");
  read_into(model.connection_rate_Bps, document, specs, "connection_rate");
  const auto size = [&](std::string_view name) {
    const OptionSpec& spec = spec_of(specs, name);
    return read_bytes(lookup(document, spec), spec);
  };
  model.inline_limit_bytes = size("inline_limit");
  model.copy_limit_bytes = size("copy_limit");
  model.eager_limit_bytes = size("eager_limit");
  model.network_burst_bytes = size("network_burst");
  const auto count = [&](std::string_view name) {
    const OptionSpec& spec = spec_of(specs, name);
    return static_cast<int>(read_integer(lookup(document, spec), spec));
  };
  model.full_threads = count("full_threads");
  model.max_thread_blocks = count("max_thread_blocks");
  model.half_rate_threads = count("half_rate_threads");
  model.resident_threads = count("resident_threads");
  if (const YamlValue* alpha = document.find("alpha")) {
    check_keys(*alpha, alpha_options(), "alpha");
    for (const LinkKind kind : kLinkKinds) {
      double value_s = -1;
      read_into(value_s, *alpha, alpha_options(), to_string(kind));
      if (value_s >= 0) model.alpha_s[static_cast<std::size_t>(kind)] = value_s;
    }
  }
  if (const YamlValue* efficiency = document.find("link_efficiency")) {
    check_keys(*efficiency, link_efficiency_options(), "link_efficiency");
    for (const LinkKind kind : kLinkKinds) {
      read_into(model.link_efficiency[static_cast<std::size_t>(kind)], *efficiency,
                link_efficiency_options(), to_string(kind));
    }
  }
  std::vector<OptionSpec> protocol_keys;
  for (const Protocol protocol : all_protocols()) {
    protocol_keys.push_back(
        {.name = std::string(to_string(protocol)), .kind = OptionKind::Mapping, .required = true});
  }
  const YamlValue& protocols = *document.find("protocols");
  check_keys(protocols, protocol_keys, "protocols");
  for (const Protocol protocol : all_protocols()) {
    model.protocols[static_cast<std::size_t>(protocol)] =
        read_protocol(*protocols.find(to_string(protocol)), to_string(protocol));
  }
  return model;
}

CostModel load_cost_model(const std::string& path) { return read_cost_model(load_yaml_file(path)); }

}  // namespace cclgym
