#include "topology_models/machines/registry.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include "topology_models/fabric_without.hpp"
#include "topology_models/imported/fabric_source.hpp"
#include "topology_models/machines/clusters.hpp"
#include "topology_models/machines/machines.hpp"
#include "topology_models/text.hpp"

namespace cclgym {

namespace {

const std::vector<FabricModel>& models() {
  static const std::vector<FabricModel> all = [] {
    std::vector<FabricModel> every = {dgx1_model(), dgx2_model(), ndv2_model(), ndv4_model()};
    std::vector<FabricModel> clusters = cluster_models();
    every.insert(every.end(), clusters.begin(), clusters.end());
    for (const FabricModel& model :
         {abci_v_model(), abci_a_model(), z52_model(), amd_mi250x_model(), frontier_model(),
          perlmutter_model(), polaris_model(), alps_model(), ring_model(), torus_model(),
          fully_connected_model(), ethernet_model(), aws_g5_model(), a100_tcp_model()}) {
      every.push_back(model);
    }
    for (FabricModel& model : every) {
      // A dragonfly's routes need all of its links (fabric_without).
      std::vector<OptionSpec>& options = model.info.options;
      if (try_find_option(options, "routing") == nullptr) {
        options.push_back(fabric_option("without"));
      }
    }
    return every;
  }();
  return all;
}

// Runs an action whose UserErrors are mistakes in one option.
template <class Action>
auto with_option(const std::string& key, const Action& action) {
  try {
    return action();
  } catch (const UserError& error) {
    throw FabricOptionError(key, error.what());
  }
}

const FabricModel& model_named(const std::string& name) {
  std::vector<std::string> names;
  for (const FabricModel& model : models()) {
    if (model.info.name == name) return model;
    names.push_back(model.info.name);
  }
  throw FabricOptionError("name", unknown_name_message("fabric", name, names) +
                                      "; or the path of a file, with a dot or a slash in it "
                                      "(./topo)");
}

const FabricModel& model_named(const std::string& name, const SourceLocation& where) {
  try {
    return model_named(name);
  } catch (const UserError& error) {
    throw UserError(where, error.what());
  }
}

void refuse_foreign_options(const FabricSpec& spec, const std::vector<OptionSpec>& options) {
  for (const FabricField& field : fabric_fields()) {
    const std::optional<OptionValue> given = field.given.get(spec);
    if (!given || try_find_option(options, field.key()) != nullptr) continue;
    if (field.key() == "nodes") {
      if (spec.servers == 1) continue;
      throw FabricOptionError(
          field.key(), fmt::format("fabric '{}' has 1 node only; found nodes = {}", spec.name,
                                   option_text(*given, field.spec())));
    }
    std::string all;
    for (const OptionSpec& option : options) all += (all.empty() ? "" : ", ") + option.name;
    throw FabricOptionError(field.key(),
                            fmt::format("fabric '{}' has no option '{}'; it has {}", spec.name,
                                        field.key(), all.empty() ? "none" : all));
  }
}

FabricParameters parameters_of(const FabricSpec& spec, const std::vector<OptionSpec>& options) {
  FabricParameters parameters{.latency_stated = spec.latency_s.has_value()};
  for (const FabricField& field : fabric_fields()) {
    const OptionSpec* option = try_find_option(options, field.key());
    if (option == nullptr) continue;
    const std::optional<OptionValue> given = field.given.get(spec);
    if (given) with_option(field.key(), [&] { check_option(*given, *option); });
    if (!given && option->default_text.empty()) continue;
    field.resolved.set(parameters, given ? *given : read_option(option->default_text, *option));
  }
  return parameters;
}

std::shared_ptr<const Fabric> without_failed_parts(std::shared_ptr<const Fabric> fabric,
                                                   const FabricSpec& spec) {
  if (!spec.without) return fabric;
  return with_option(fabric_option("without").name,
                     [&] { return fabric_without(*fabric, *spec.without); });
}

// Options of fabrics from files. `nodes` is a part of a fabric file's nodes, or the number of nodes
// like the one that a file describes.
const std::vector<OptionSpec>& options_of_files() {
  constexpr double kMostNodesOfFiles = 2048;
  static const std::vector<OptionSpec> options{fabric_option("nodes", {.max = kMostNodesOfFiles}),
                                               fabric_option("without")};
  return options;
}

// A value in a label of results, with quantities as short as possible.
std::string label_text(const OptionValue& value, const OptionSpec& spec) {
  if (spec.kind == OptionKind::Rate) return short_rate(std::get<double>(value));
  if (spec.kind == OptionKind::Time) return short_time(std::get<double>(value));
  if (spec.name == fabric_option("without").name) {
    return label_of_parts(std::get<std::string>(value));
  }
  return option_text(value, spec);
}

const OptionSpec& name_option() {
  static const OptionSpec option{
      .name = "name",
      .description =
          "name of a fabric, or the path of a file: a fabric file (*.yaml), NCCL's "
          "topology (XML), or the output of nvidia-smi topo -m",
      .required = true};
  return option;
}

// Reads the name of a shipped fabric, or the path of a file, relative to the YAML file that names
// it.
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

bool is_fabric_file(std::string_view name) {
  return name.find_first_of("./") != std::string_view::npos;
}

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
    const std::vector<OptionSpec>& options = options_of_files();
    refuse_foreign_options(spec, options);
    static_cast<void>(parameters_of(spec, options));  // checks the options
    return without_failed_parts(load_any_fabric(spec.name, spec.servers), spec);
  }
  const FabricModel& model = model_named(spec.name);
  refuse_foreign_options(spec, model.info.options);
  const auto build = [&model](const FabricSpec& wanted) {
    return without_failed_parts(model.build(parameters_of(wanted, model.info.options)), wanted);
  };
  std::shared_ptr<const Fabric> fabric = build(spec);
  if (try_find_option(model.info.options, "nic_binding") == nullptr) return fabric;
  FabricBuilder bindable(*fabric);
  bindable.set_bindings([build, spec](NicBinding binding) {
    FabricSpec other = spec;
    other.nic_binding = binding;
    return build(other);
  });
  return bindable.build();
}

const FabricInfo* find_fabric_info(std::string_view name) {
  for (const FabricInfo& info : fabric_infos()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::string fabric_label(const FabricSpec& spec) {
  std::string label = spec.name;
  for (const FabricField& field : fabric_fields()) {
    const std::optional<OptionValue> given = field.given.get(spec);
    if (given) label += fmt::format(" {}={}", field.key(), label_text(*given, field.spec()));
  }
  return label;
}

std::string fabric_label(const FabricSpec& spec, const Fabric& fabric) {
  if (!is_fabric_file(spec.name)) return fabric_label(spec);
  FabricSpec named = spec;
  // The name of a fabric with failed parts names them, as the label does.
  named.name = fabric.name().substr(0, fabric.name().find(" without="));
  return fabric_label(named);
}

std::string comparable_fabric_label(std::string_view label) {
  std::string plain;
  while (!label.empty()) {
    const std::string_view word = label.substr(0, label.find(' '));
    label.remove_prefix(std::min(word.size() + 1, label.size()));
    const std::string_view key = word.substr(0, word.find('='));
    const auto field = std::ranges::find_if(fabric_fields(), [&](const FabricField& one) {
      return key.size() < word.size() && is_called(one.spec(), key);
    });
    plain += field == fabric_fields().end() ? key : std::string_view(field->key());
    plain += word.substr(key.size());
  }
  return plain;
}

const std::string* find_fabric_label(const std::vector<std::string>& known,
                                     std::string_view label) {
  auto found = std::ranges::find(known, label);
  if (found == known.end()) {
    found = std::ranges::find(known, comparable_fabric_label(label), comparable_fabric_label);
  }
  return found == known.end() ? nullptr : &*found;
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
    // Defaults and bounds differ between fabrics: these are the widest bounds.
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
  } else {
    options.insert(options.end(), options_of_files().begin(), options_of_files().end());
  }
  check_keys(value, options, "fabric " + spec.name);
  for (const FabricField& field : fabric_fields()) {
    const OptionSpec* option = try_find_option(options, field.key());
    const YamlValue* given = option == nullptr ? nullptr : find_value(value, *option);
    if (given == nullptr || given->is_null()) continue;
    field.given.set(spec, read_option(*given, *option));
  }
  return spec;
}

}  // namespace cclgym
