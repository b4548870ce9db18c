#include "experiments/sweep/cost_model_choice.hpp"

#include <algorithm>
#include <filesystem>

#include "cost_models/parameters/cost_parameters.hpp"
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

  /// Overrides the parameter that a key names, or each parameter of the mapping under the key.
  void apply(const YamlEntry& entry) {
    if (entry.key == "alpha") {
      apply_all(entry.value, alpha_options(), "alpha", "alpha.", "alpha.");
    } else if (entry.key == "link_efficiency") {
      apply_all(entry.value, link_efficiency_options(), "link_efficiency", "link_efficiency.",
                "link_efficiency.");
    } else if (entry.key == "mpi") {
      apply_all(entry.value, mpi_options(), "mpi", "mpi.", "mpi.");
    } else if (entry.key == "matching") {
      apply_all(entry.value, matching_options(), "matching", "matching.", "matching.");
    } else if (entry.key == "protocols") {
      protocols(entry.value);
    } else {
      apply_one(entry.value, entry.key, entry.key);
    }
  }

  /// Adds the differences from the base to the model's name: each value, or only their number if
  /// the name would be long.
  void rename() {
    constexpr std::size_t kLongest = 60;
    model_.name += notes_.size() <= kLongest
                       ? notes_
                       : " with " + std::to_string(changes_) + " values overridden";
  }

 private:
  // `path` is the parameter's name in cost_parameters(), `shown` its short form in the model's
  // name.
  void apply_one(const YamlValue& value, const std::string& path, const std::string& shown) {
    const CostParameter& parameter = cost_parameter(path);
    parameter.set(model_, option_number(read_option(value, parameter.spec)));
    notes_ += " " + shown + "=" + value.as_text();
    ++changes_;
  }

  void apply_all(const YamlValue& mapping, std::vector<OptionSpec> specs, const std::string& what,
                 const std::string& path, const std::string& shown) {
    for (OptionSpec& spec : specs) spec.required = false;
    check_keys(mapping, specs, what);
    for (const YamlEntry& entry : mapping.entries()) {
      apply_one(entry.value, path + entry.key, shown + entry.key);
    }
  }

  void protocols(const YamlValue& mapping) {
    std::vector<OptionSpec> names;
    for (const Protocol protocol : all_protocols()) {
      names.push_back({.name = std::string(to_string(protocol)), .kind = OptionKind::Mapping});
    }
    check_keys(mapping, names, "protocols");
    for (const YamlEntry& entry : mapping.entries()) {
      apply_all(entry.value, protocol_options(), "protocol " + entry.key,
                "protocols." + entry.key + ".", entry.key + ".");
    }
  }

  CostModel& model_;
  std::string notes_;
  std::size_t changes_ = 0;
};

}  // namespace

bool is_parameter_file(const std::string& text) {
  return text.ends_with(".yaml") || text.ends_with(".yml");
}

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

namespace {

ParameterSet choose_parameter_set(const std::string& text, const Fabric& fabric,
                                  const SourceLocation& where) {
  if (is_parameter_file(text)) {
    return parameter_set_for(existing_path_beside(text, "parameter file", where), fabric);
  }
  std::vector<std::string> names = cost_model_names();
  names.emplace_back(kAuto);
  if (std::find(names.begin(), names.end(), text) != names.end()) {
    return parameter_set_for(text, fabric);
  }
  throw UserError(where, unknown_name_message("cost model", text, names) +
                             "; or the path of a parameter file (*.yaml)");
}

}  // namespace

CostModel choose_cost_model(const std::string& text, const Fabric& fabric,
                            const SourceLocation& where) {
  return choose_parameter_set(text, fabric, where).model;
}

CostModel read_cost_model_choice(const YamlValue& value, const Fabric& fabric) {
  return read_parameter_set_choice(value, fabric).model;
}

ParameterSet read_parameter_set_choice(const YamlValue& value, const Fabric& fabric) {
  const OptionSpec& base = find_option(cost_model_choice_options(), "base");
  if (!value.is_mapping()) {
    return choose_parameter_set(read_text(value, base), fabric, value.location());
  }
  check_keys(value, cost_model_choice_options(), "cost model");
  const YamlValue chosen = option_value(value, base);
  ParameterSet set = choose_parameter_set(read_text(chosen, base), fabric, chosen.location());
  Overrides overrides(set.model);
  for (const YamlEntry& entry : value.entries()) {
    if (entry.key == base.name) continue;
    if (set.model.hockney) {
      throw UserError(entry.key_location,
                      "cost model 'hockney' has no '" + entry.key +
                          "': it is made of the links' latencies and bandwidths alone");
    }
    overrides.apply(entry);
    set.fitted_to.reset();
  }
  overrides.rename();
  return set;
}

}  // namespace cclgym
