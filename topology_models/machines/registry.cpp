#include "topology_models/machines/registry.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include "core/units.hpp"
#include "topology_models/fabric_file.hpp"
#include "topology_models/machines/machines.hpp"
#include "topology_models/text.hpp"

namespace cclgym {

std::string_view to_string(NicBinding binding) {
  switch (binding) {
    case NicBinding::PcieLocal:
      return "pcie_local";
    case NicBinding::RoundRobin:
      return "round_robin";
    case NicBinding::SingleNic:
      break;
  }
  return "single_nic";
}

namespace {

const std::vector<FabricModel>& models() {
  static const std::vector<FabricModel> all = {dgx1_model(),
                                               dgx2_model(),
                                               ndv2_model(),
                                               ndv4_model(),
                                               hgx_h100_model(),
                                               h200_model(),
                                               abci_v_model(),
                                               abci_a_model(),
                                               z52_model(),
                                               amd_mi250x_model(),
                                               mi300x_model(),
                                               frontier_model(),
                                               perlmutter_model(),
                                               polaris_model(),
                                               alps_model(),
                                               ring_model(),
                                               fully_connected_model(),
                                               ethernet_model()};
  return all;
}

const FabricModel& model_named(const std::string& name, SourceLocation where = {}) {
  std::vector<std::string> names;
  for (const FabricModel& model : models()) {
    if (model.info.name == name) return model;
    names.push_back(model.info.name);
  }
  throw UserError(where, unknown_name_message("fabric", name, names) +
                             "; or the path of a fabric file (*.yaml)");
}

bool is_fabric_file(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

// Calls `visit(name, value, text of a value)` for each option of a spec. The text reads back as
// the same value.
template <class Spec, class Visit>
void for_each_option(Spec& spec, Visit visit) {
  const auto whole = [](int value) { return std::to_string(value); };
  visit("servers", spec.servers, whole);
  visit("gpus", spec.gpus, whole);
  visit("gpus_per_server", spec.gpus_per_server, whole);
  visit("bandwidth", spec.bandwidth_Bps,
        [](double value) { return format_double(value) + " B/s"; });
  visit("latency", spec.latency_s, [](double value) { return format_double(value) + " s"; });
  visit("nic_binding", spec.nic_binding,
        [](NicBinding value) { return std::string(to_string(value)); });
  visit("oversubscription", spec.oversubscription,
        [](double value) { return format_double(value); });
  visit("servers_per_leaf", spec.servers_per_leaf, whole);
  visit("groups", spec.groups, whole);
  visit("routing", spec.routing, [](Routing value) { return std::string(to_string(value)); });
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  visit("nvls", spec.nvls, flag);
  visit("sharp", spec.sharp, flag);
}

// Reads the value of an option, from text or YAML.
template <class Source>
void read_into(std::optional<int>& value, const Source& source, const OptionSpec& option) {
  value = static_cast<int>(read_integer(source, option));
}
template <class Source>
void read_into(std::optional<bool>& value, const Source& source, const OptionSpec& option) {
  value = read_flag(source, option);
}
template <class Source>
void read_into(std::optional<double>& value, const Source& source, const OptionSpec& option) {
  value = option.kind == OptionKind::Rate   ? read_rate_Bps(source, option)
          : option.kind == OptionKind::Time ? read_time_s(source, option)
                                            : read_real(source, option);
}
template <class Source>
void read_into(std::optional<NicBinding>& value, const Source& source, const OptionSpec& option) {
  value = static_cast<NicBinding>(read_choice(source, option));
}

template <class Source>
void read_into(std::optional<Routing>& value, const Source& source, const OptionSpec& option) {
  value = static_cast<Routing>(read_choice(source, option));
}

std::vector<std::pair<std::string, std::string>> given_options(const FabricSpec& spec) {
  std::vector<std::pair<std::string, std::string>> given;
  for_each_option(spec, [&](const char* name, const auto& value, const auto& text) {
    if (value) given.emplace_back(name, text(*value));
  });
  return given;
}

const OptionSpec* find(const std::vector<OptionSpec>& options, std::string_view name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const OptionSpec& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

void refuse_foreign_options(const FabricSpec& spec, const std::vector<OptionSpec>& options) {
  for (const auto& [name, text] : given_options(spec)) {
    if (find(options, name) != nullptr) continue;
    if (name == "servers") {
      if (spec.servers == 1) continue;
      throw UserError(
          fmt::format("fabric '{}' comes as 1 server only; found servers = {}", spec.name, text));
    }
    std::string all;
    for (const OptionSpec& option : options) all += (all.empty() ? "" : ", ") + option.name;
    throw UserError(fmt::format("fabric '{}' has no option '{}'; it has {}", spec.name, name,
                                all.empty() ? "none" : all));
  }
}

FabricParameters parameters_of(const FabricSpec& spec, const std::vector<OptionSpec>& options) {
  FabricSpec full;  // every option that the fabric has, checked
  const auto given = given_options(spec);
  for_each_option(full, [&](const char* name, auto& value, const auto&) {
    const OptionSpec* option = find(options, name);
    if (option == nullptr) return;
    const auto stated = std::find_if(given.begin(), given.end(),
                                     [&](const auto& item) { return item.first == name; });
    read_into(value, stated == given.end() ? option->default_text : stated->second, *option);
  });
  return {.servers = full.servers.value_or(1),
          .gpus = full.gpus.value_or(0),
          .bandwidth_Bps = full.bandwidth_Bps.value_or(0),
          .latency_s = full.latency_s.value_or(0),
          .latency_stated = spec.latency_s.has_value(),
          .gpus_per_server = full.gpus_per_server.value_or(0),
          .nic_binding = full.nic_binding.value_or(NicBinding::PcieLocal),
          .oversubscription = full.oversubscription.value_or(1),
          .servers_per_leaf = full.servers_per_leaf.value_or(1),
          .groups = full.groups.value_or(0),
          .routing = full.routing.value_or(Routing::Minimal),
          .nvls = full.nvls.value_or(false),
          .sharp = full.sharp.value_or(false)};
}

const OptionSpec& name_option() {
  static const OptionSpec option{.name = "name",
                                 .description = "a fabric, or the path of a fabric file (*.yaml)",
                                 .required = true};
  return option;
}

// The name of a fabric that exists; the path of a file as seen from the working directory.
std::string read_fabric_name(const YamlValue& value) {
  std::string name = read_text(value, name_option());
  if (!is_fabric_file(name)) {
    model_named(name, value.location());
    return name;
  }
  const std::filesystem::path path(name);
  if (path.is_absolute()) return name;
  return (std::filesystem::path(value.location().file).parent_path() / path).string();
}

}  // namespace

const std::vector<FabricInfo>& fabric_infos() {
  static const std::vector<FabricInfo> infos = [] {
    std::vector<FabricInfo> all;
    for (const FabricModel& model : models()) all.push_back(model.info);
    return all;
  }();
  return infos;
}

std::shared_ptr<const Fabric> make_fabric(const FabricSpec& spec) {
  if (is_fabric_file(spec.name)) {
    refuse_foreign_options(spec, {});
    return load_fabric(spec.name);
  }
  const FabricModel& model = model_named(spec.name);
  refuse_foreign_options(spec, model.info.options);
  return model.build(parameters_of(spec, model.info.options));
}

const FabricInfo* find_fabric_info(std::string_view name) {
  for (const FabricInfo& info : fabric_infos()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::string fabric_label(const FabricSpec& spec) {
  std::string label = spec.name;
  for (const auto& [name, text] : given_options(spec)) {
    std::string brief = text;
    if (name == "bandwidth") brief = short_rate(*spec.bandwidth_Bps);
    if (name == "latency") brief = short_time(*spec.latency_s);
    label += fmt::format(" {}={}", name, brief);
  }
  return label;
}

const std::vector<OptionSpec>& fabric_spec_options() {
  static const std::vector<OptionSpec> options = [] {
    std::vector<OptionSpec> all = {name_option()};
    for (const FabricModel& model : models()) {
      for (const OptionSpec& option : model.info.options) {
        const auto known = std::find_if(all.begin(), all.end(), [&](const OptionSpec& other) {
          return other.name == option.name;
        });
        if (known == all.end()) {
          all.push_back(option);
        } else if (known->max && option.max) {
          known->max = std::max(*known->max, *option.max);
        } else {
          known->max.reset();
        }
      }
    }
    // Defaults and bounds differ from fabric to fabric: here, the widest.
    for (OptionSpec& option : all) option.default_text.clear();
    return all;
  }();
  return options;
}

FabricSpec read_fabric_spec(const YamlValue& value) {
  FabricSpec spec;
  if (!value.is_mapping()) {
    spec.name = read_fabric_name(value);
    return spec;
  }
  const YamlValue* name = value.find(name_option().name);
  if (name == nullptr) check_keys(value, fabric_spec_options(), "fabric");
  spec.name = read_fabric_name(*name);
  std::vector<OptionSpec> options = {name_option()};
  if (!is_fabric_file(spec.name)) {
    const std::vector<OptionSpec>& own = model_named(spec.name).info.options;
    options.insert(options.end(), own.begin(), own.end());
  }
  check_keys(value, options, "fabric " + spec.name);
  for_each_option(spec, [&](const char* option_name, auto& field, const auto&) {
    const OptionSpec* option = find(options, option_name);
    const YamlValue* given = option == nullptr ? nullptr : value.find(option_name);
    if (given != nullptr && !given->is_null()) read_into(field, *given, *option);
  });
  return spec;
}

}  // namespace cclgym
