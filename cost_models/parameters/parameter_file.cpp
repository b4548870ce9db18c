#include "cost_models/parameters/parameter_file.hpp"

#include <fmt/core.h>
#include <string_view>

#include "core/error.hpp"
#include "cost_models/cost_fields.hpp"
#include "cost_models/parameters/cost_parameters.hpp"
#include "cost_models/parameters/parameter_set.hpp"

namespace cclgym {

namespace {

const std::vector<OptionSpec>& value_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "value", .description = "value of the parameter", .required = true},
      {.name = "source", .description = "origin of the value: a measurement, a paper"}};
  return specs;
}

template <class Record>
std::vector<OptionSpec> specs_of(const std::vector<CostField<Record>>& fields) {
  std::vector<OptionSpec> specs;
  for (const CostField<Record>& each : fields) specs.push_back(each.field.spec());
  return specs;
}

// Returns the value inside "{value: …, source: …}", or a plain value as it is.
YamlValue plain_value(const YamlValue& value, const OptionSpec& spec) {
  if (!value.is_mapping()) return value;
  check_keys(value, value_options(), spec.name);
  return *value.find("value");
}

void check_all_keys(const YamlValue& document) {
  check_keys(document, cost_model_options(), "cost model");
  if (const YamlValue* alpha = document.find("alpha")) check_keys(*alpha, alpha_options(), "alpha");
  if (const YamlValue* efficiency = document.find("link_efficiency")) {
    check_keys(*efficiency, link_efficiency_options(), "link_efficiency");
  }
  if (const YamlValue* mpi = document.find("mpi")) check_keys(*mpi, mpi_options(), "mpi");
  if (const YamlValue* matching = document.find("matching")) {
    check_keys(*matching, matching_options(), "matching");
  }
  const YamlValue& protocols = *document.find("protocols");
  std::vector<OptionSpec> names;
  for (const Protocol protocol : all_protocols()) {
    names.push_back(
        {.name = std::string(to_string(protocol)), .kind = OptionKind::Mapping, .required = true});
  }
  check_keys(protocols, names, "protocols");
  for (const OptionSpec& name : names) {
    check_keys(*protocols.find(name.name), protocol_options(), "protocol " + name.name);
  }
}

// Sets the parameter to the stated value or to its default, if it has one.
void read_parameter(CostModel& model, const CostParameter& parameter, const YamlValue& document) {
  const OptionSpec& spec = parameter.spec;
  if (const YamlValue* stated = find_parameter(document, parameter.name)) {
    parameter.set(model, option_number(read_option(plain_value(*stated, spec), spec)));
  } else if (!spec.default_text.empty()) {
    parameter.set(model, option_number(read_option(spec.default_text, spec)));
  }
}

void check_message_slots(const CostModel& model, const YamlValue& document) {
  for (const Protocol protocol : all_protocols()) {
    const ProtocolCost& cost = model.protocols[static_cast<std::size_t>(protocol)];
    if (cost.slots == 0 || cost.message_slots <= cost.slots) continue;
    const YamlValue* stated =
        find_parameter(document, fmt::format("protocols.{}.message_slots", to_string(protocol)));
    throw UserError(
        plain_value(*stated, {.name = "message_slots"}).location(),
        fmt::format("protocol {}: message_slots is {}; expected at most {}, the number of slots",
                    to_string(protocol), cost.message_slots, cost.slots));
  }
}

}  // namespace

const std::vector<OptionSpec>& cost_model_options() {
  static const std::vector<OptionSpec> specs = [] {
    std::vector<OptionSpec> all{
        {.name = "name", .description = "name of the set, in tables and results", .required = true},
        {.name = "description", .description = "one line about the machine that the set describes"},
        {.name = "library",
         .description = "communication library that the values describe; default: NCCL and RCCL"},
        {.name = "unmeasured",
         .description = "reason why no measured times tell how wrong the set is; its times then "
                        "have no intervals"},
        {.name = "fitted_to",
         .kind = OptionKind::Mapping,
         .shape = OptionShape::List,
         .description = "measured rows to which the values were fitted (see below); []: none"}};
    for (OptionSpec& spec : specs_of(cost_model_fields())) all.push_back(std::move(spec));
    all.push_back({.name = "alpha",
                   .kind = OptionKind::Mapping,
                   .description = "latencies by link kind (see below)"});
    all.push_back({.name = "link_efficiency",
                   .kind = OptionKind::Mapping,
                   .description = "efficiencies by link kind (see below)"});
    all.push_back({.name = "mpi",
                   .kind = OptionKind::Mapping,
                   .description = "costs of messages between nodes by MPI point to point (see "
                                  "below); not given: those of the library"});
    all.push_back(
        {.name = "matching",
         .kind = OptionKind::Mapping,
         .description = "costs of the library's messages in very large jobs (see below)"});
    all.push_back({.name = "protocols",
                   .kind = OptionKind::Mapping,
                   .description = "parameters of LL, LL128 and Simple (see below)",
                   .required = true});
    return all;
  }();
  return specs;
}

const std::vector<OptionSpec>& protocol_options() {
  static const std::vector<OptionSpec> specs = specs_of(protocol_fields());
  return specs;
}

const std::vector<OptionSpec>& alpha_options() {
  static const std::vector<OptionSpec> specs = specs_of(alpha_fields());
  return specs;
}

const std::vector<OptionSpec>& link_efficiency_options() {
  static const std::vector<OptionSpec> specs = specs_of(link_efficiency_fields());
  return specs;
}

const std::vector<OptionSpec>& mpi_options() {
  static const std::vector<OptionSpec> specs = specs_of(mpi_fields());
  return specs;
}

const std::vector<OptionSpec>& matching_options() {
  static const std::vector<OptionSpec> specs = specs_of(matching_fields());
  return specs;
}

const YamlValue* find_parameter(const YamlValue& document, std::string_view name) {
  const YamlValue* value = &document;
  while (true) {
    if (!value->is_mapping()) return nullptr;
    const std::size_t dot = name.find('.');
    value = value->find(name.substr(0, dot));
    if (value == nullptr || value->is_null()) return nullptr;
    if (dot == std::string_view::npos) return value;
    name.remove_prefix(dot + 1);
  }
}

CostModel read_cost_model(const YamlValue& document) {
  check_all_keys(document);
  CostModel model;
  model.name = read_text(*document.find("name"), find_option(cost_model_options(), "name"));
  if (const YamlValue* description = document.find("description")) {
    model.description = read_text(*description, find_option(cost_model_options(), "description"));
  }
  for (const CostParameter& parameter : cost_parameters()) {
    read_parameter(model, parameter, document);
  }
  if (find_parameter(document, "local_reduce_rate") == nullptr) {
    model.local_reduce_rate_Bps = model.local_copy_rate_Bps;
  }
  check_message_slots(model, document);
  return model;
}

CostModel load_cost_model(const std::string& path) { return read_cost_model(load_yaml_file(path)); }

}  // namespace cclgym
