#include "calibration/fit/prediction.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "core/tasks/field_reader.hpp"
#include "core/tasks/wire.hpp"
#include "cost_models/parameters/cost_parameters.hpp"
#include "sim/call/config_wire.hpp"

namespace cclgym {

namespace {

[[noreturn]] void throw_incomplete() {
  throw std::runtime_error("a message about predictions is incomplete");
}

// Checks that a parameter can hold the value: conversions beyond the range of a whole number are
// undefined.
bool holds(const OptionSpec& spec, double value) {
  switch (spec.kind) {
    case OptionKind::Integer:
      return std::abs(value) <= std::numeric_limits<int>::max();
    case OptionKind::Bytes:
      return value >= 0 && value < std::ldexp(1.0, std::numeric_limits<std::uint64_t>::digits);
    case OptionKind::Choice:
      return value >= 0 && value < static_cast<double>(spec.choices.size());
    default:
      return std::isfinite(value);
  }
}

}  // namespace

std::string prediction_bytes(const Prediction& prediction) {
  std::string bytes;
  put(bytes, prediction.time_s);
  put_config(bytes, prediction.config);
  put_text(bytes, prediction.cost_model);
  put_text(bytes, prediction.refusal);
  return bytes;
}

Prediction read_prediction(std::string_view bytes) {
  FieldReader in(bytes);
  Prediction prediction;
  in.number(prediction.time_s);
  prediction.config = get_config(in);
  in.text(prediction.cost_model);
  in.text(prediction.refusal);
  if (!in.at_end()) throw_incomplete();
  return prediction;
}

std::string difference_bytes(const CostModel& base, const CostModel& model) {
  const std::vector<CostParameter>& parameters = cost_parameters();
  std::string bytes;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::optional<double> value = parameters[i].get(model);
    if (value == parameters[i].get(base)) continue;
    if (!value) throw std::logic_error("parameter " + parameters[i].name + " cannot be unset");
    put(bytes, i);
    put(bytes, *value);
  }
  if (read_difference(base, bytes).canonical_text() != model.canonical_text()) {
    throw std::logic_error("the cost models differ in more than numeric parameters");
  }
  return bytes;
}

CostModel read_difference(const CostModel& base, std::string_view bytes) {
  CostModel model = base;
  FieldReader in(bytes);
  while (!in.at_end()) {
    std::size_t parameter = 0;
    double value = 0;
    in.number(parameter);
    in.number(value);
    if (!in.ok()) throw_incomplete();
    const CostParameter& target = cost_parameters().at(parameter);
    if (!holds(target.spec, value)) {
      throw std::runtime_error("a message about predictions has no valid value of " + target.name);
    }
    target.set(model, value);
  }
  return model;
}

}  // namespace cclgym
