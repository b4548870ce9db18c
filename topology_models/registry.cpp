#include "topology_models/registry.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include "core/units.hpp"
#include "topology_models/builders.hpp"
#include "topology_models/fabric_file.hpp"
#include "topology_models/text.hpp"

namespace cclgym {

OptionSpec servers_option(double max) {
  return {.name = "servers",
          .kind = OptionKind::Integer,
          .description = "number of servers (cluster nodes)",
          .min = 1,
          .max = max,
          .default_text = "1"};
}

OptionSpec gpus_option(double min, double max) {
  return {.name = "gpus",
          .kind = OptionKind::Integer,
          .description = "number of GPUs",
          .min = min,
          .max = max,
          .default_text = "8"};
}

OptionSpec bandwidth_option(std::string default_text) {
  return {.name = "bandwidth",
          .kind = OptionKind::Rate,
          .description = "of one GPU link unit, in one direction",
          .min = 0,
          .exclusive_min = true,
          .default_text = std::move(default_text)};
}

OptionSpec latency_option(std::string default_text) {
  return {.name = "latency",
          .kind = OptionKind::Time,
          .description = "of one traversal of a GPU link",
          .min = 0,
          .default_text = std::move(default_text)};
}

namespace {

const std::vector<FabricModel>& models() {
  static const std::vector<FabricModel> all = {dgx1_model(), dgx2_model(), ndv4_model(),
                                               ring_model(), fully_connected_model()};
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

// The options that a spec gives, as text that reads back as the same value.
std::vector<std::pair<std::string, std::string>> given_options(const FabricSpec& spec) {
  std::vector<std::pair<std::string, std::string>> given;
  if (spec.servers) given.emplace_back("servers", std::to_string(*spec.servers));
  if (spec.gpus) given.emplace_back("gpus", std::to_string(*spec.gpus));
  if (spec.bandwidth_Bps) {
    given.emplace_back("bandwidth", format_double(*spec.bandwidth_Bps) + " B/s");
  }
  if (spec.latency_s) given.emplace_back("latency", format_double(*spec.latency_s) + " s");
  return given;
}

void refuse_foreign_options(const FabricSpec& spec, const std::vector<OptionSpec>& options) {
  for (const auto& [name, text] : given_options(spec)) {
    const auto has = [&, &wanted = name](const OptionSpec& option) {
      return option.name == wanted;
    };
    if (std::any_of(options.begin(), options.end(), has)) continue;
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
  const auto given = given_options(spec);
  FabricParameters parameters;
  for (const OptionSpec& option : options) {
    std::string text = option.default_text;
    for (const auto& [name, value] : given) {
      if (name == option.name) text = value;
    }
    if (option.name == "servers") {
      parameters.servers = static_cast<int>(read_integer(text, option));
    } else if (option.name == "gpus") {
      parameters.gpus = static_cast<int>(read_integer(text, option));
    } else if (option.name == "bandwidth") {
      parameters.bandwidth_Bps = read_rate_Bps(text, option);
    } else {
      parameters.latency_s = read_time_s(text, option);
      parameters.latency_stated = spec.latency_s.has_value();
    }
  }
  return parameters;
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

std::string fabric_label(const FabricSpec& spec) {
  std::string label = spec.name;
  if (spec.servers) label += fmt::format(" servers={}", *spec.servers);
  if (spec.gpus) label += fmt::format(" gpus={}", *spec.gpus);
  if (spec.bandwidth_Bps) label += fmt::format(" bandwidth={}", short_rate(*spec.bandwidth_Bps));
  if (spec.latency_s) label += fmt::format(" latency={}", short_time(*spec.latency_s));
  return label;
}

const std::vector<OptionSpec>& fabric_spec_options() {
  static const std::vector<OptionSpec> options = [] {
    std::vector<OptionSpec> all = {name_option()};
    for (const FabricModel& model : models()) {
      for (const OptionSpec& option : model.info.options) {
        const auto same = [&](const OptionSpec& other) { return other.name == option.name; };
        if (std::none_of(all.begin(), all.end(), same)) all.push_back(option);
      }
    }
    // Defaults and bounds differ from fabric to fabric.
    for (OptionSpec& option : all) option.default_text.clear();
    for (OptionSpec& option : all) option.max.reset();
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
  for (const OptionSpec& option : options) {
    const YamlValue* given = value.find(option.name);
    if (given == nullptr || given->is_null()) continue;
    if (option.name == "servers") spec.servers = static_cast<int>(read_integer(*given, option));
    if (option.name == "gpus") spec.gpus = static_cast<int>(read_integer(*given, option));
    if (option.name == "bandwidth") spec.bandwidth_Bps = read_rate_Bps(*given, option);
    if (option.name == "latency") spec.latency_s = read_time_s(*given, option);
  }
  return spec;
}

}  // namespace cclgym
