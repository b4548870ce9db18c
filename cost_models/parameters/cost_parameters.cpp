#include "cost_models/parameters/cost_parameters.hpp"

#include <cstdint>
#include <fmt/core.h>

#include "core/error.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

// The value of a member; nullopt for an alpha that is left to the fabric and for a rate without
// limit, neither of which a parameter set states.
template <class Record>
std::optional<double> stated(const Field<Record>& field, const Record& record) {
  const std::optional<OptionValue> value = field.get(record);
  if (!value) return std::nullopt;
  const double number = option_number(*value);
  return number < ProtocolCost::kUnlimited ? std::optional<double>(number) : std::nullopt;
}

// A field of the model, or of the part of it that `part` returns, as a parameter called
// `prefix` + key.
template <class Record, class Part>
CostParameter parameter_of(const CostField<Record>& each, const std::string& prefix, Part part) {
  return {
      .name = prefix + each.field.key(),
      .spec = each.field.spec(),
      .fit = each.fit,
      .network = each.network,
      .get = [&each, part](const CostModel& model) { return stated(each.field, part(model)); },
      .set = [&each, part](CostModel& model, double value) { each.field.set(part(model), value); }};
}

std::vector<CostParameter> make_table() {
  std::vector<CostParameter> table;
  const auto add_all = [&table](const auto& fields, const std::string& prefix, auto part) {
    for (const auto& each : fields) table.push_back(parameter_of(each, prefix, part));
  };
  // The parameters of a section have no value if the set does not have the section.
  const auto add_section = [&table](const auto& fields, const std::string& prefix, auto part) {
    for (const auto& each : fields) {
      CostParameter parameter = parameter_of(each, prefix, part);
      parameter.network = true;
      parameter.get = [get = parameter.get, part](const CostModel& model) {
        return part(model).given() ? get(model) : std::nullopt;
      };
      table.push_back(std::move(parameter));
    }
  };
  const auto whole = [](auto& model) -> auto& { return model; };
  add_all(cost_model_fields(), "", whole);
  add_all(alpha_fields(), "alpha.", whole);
  add_all(link_efficiency_fields(), "link_efficiency.", whole);
  add_section(
      mpi_fields(), "mpi.", [](auto& model) -> auto& { return model.mpi; });
  add_section(
      matching_fields(), "matching.", [](auto& model) -> auto& { return model.matching; });
  for (const Protocol protocol : all_protocols()) {
    add_all(
        protocol_fields(), fmt::format("protocols.{}.", to_string(protocol)),
        [index = static_cast<std::size_t>(protocol)](auto& model) -> auto& {
          return model.protocols[index];
        });
  }
  return table;
}

// The shortest text of the value to four significant digits.
std::string four_digits(double value) {
  return format_double(std::stod(fmt::format("{:.3e}", value)));
}

}  // namespace

const std::vector<CostParameter>& cost_parameters() {
  static const std::vector<CostParameter> table = make_table();
  return table;
}

const CostParameter& cost_parameter(std::string_view name) {
  std::vector<std::string> names;
  for (const CostParameter& parameter : cost_parameters()) {
    if (parameter.name == name) return parameter;
    names.push_back(parameter.name);
  }
  throw UserError(unknown_name_message("parameter", name, names));
}

std::string parameter_text(const CostParameter& parameter, double value) {
  switch (parameter.spec.kind) {
    case OptionKind::Time:
      return four_digits(value * 1e6) + "us";
    case OptionKind::Rate:
      return four_digits(value / 1e9) + " GB/s";
    case OptionKind::Bytes:
      return format_bytes(static_cast<std::uint64_t>(value));
    case OptionKind::Integer:
      return fmt::format("{}", static_cast<std::int64_t>(value));
    default:
      return four_digits(value);
  }
}

double rounded_parameter(const CostParameter& parameter, double value) {
  const std::string text = parameter_text(parameter, value);
  switch (parameter.spec.kind) {
    case OptionKind::Time:
      return parse_time_s(text);
    case OptionKind::Rate:
      return parse_rate_Bps(text);
    case OptionKind::Bytes:
      return static_cast<double>(parse_bytes(text));
    case OptionKind::Integer:
      return static_cast<double>(parse_integer(text));
    default:
      return parse_real(text);
  }
}

}  // namespace cclgym
