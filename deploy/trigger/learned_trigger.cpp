#include "deploy/trigger/learned_trigger.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/random.hpp"

namespace cclgym {

std::size_t learned_trigger_weights(std::size_t units) {
  return 4 * units * (kTriggerFeatures + units + 1) + units + 1;
}

std::string learned_trigger_fault(const LearnedTriggerParameters& parameters) {
  if (parameters.units < 1 || parameters.units > kMaxTriggerUnits) {
    return "the learned trigger has " + std::to_string(parameters.units) +
           " units, expected 1 to " + std::to_string(kMaxTriggerUnits);
  }
  const std::size_t expected = learned_trigger_weights(parameters.units);
  if (parameters.weights.size() != expected) {
    return "the learned trigger has " + std::to_string(parameters.weights.size()) +
           " weights, expected " + std::to_string(expected);
  }
  const bool finite =
      std::ranges::all_of(parameters.weights, [](double one) { return std::isfinite(one); });
  if (!finite) return "a weight of the learned trigger is not finite";
  if (!(parameters.sigma > 0) || !std::isfinite(parameters.sigma)) {
    return "sigma of the learned trigger is not a positive number";
  }
  return parameters.confirm < 1 ? "confirm of the learned trigger is 0" : "";
}

double trigger_sigmoid(double x) { return 1 / (1 + portable_exp(-x)); }

double learned_trigger_step(std::span<const double> weights, const TriggerFeatureRow& inputs,
                            std::span<double> gates, std::span<double> hidden,
                            std::span<double> cell) {
  const std::size_t units = hidden.size();
  const double* row = weights.data();
  for (double& gate : gates) {
    double sum = 0;
    for (const double input : inputs) sum += *row++ * input;
    for (const double state : hidden) sum += *row++ * state;
    gate = sum + *row++;
  }
  for (std::size_t i = 0; i < units; ++i) {
    double& input = gates[i];
    double& keep = gates[units + i];
    double& value = gates[2 * units + i];
    double& output = gates[3 * units + i];
    input = trigger_sigmoid(input);
    keep = trigger_sigmoid(keep);
    value = 2 * trigger_sigmoid(2 * value) - 1;  // tanh
    output = trigger_sigmoid(output);
    cell[i] = keep * cell[i] + input * value;
    hidden[i] = output * (2 * trigger_sigmoid(2 * cell[i]) - 1);
  }
  double logit = 0;
  for (const double state : hidden) logit += *row++ * state;
  return logit + *row;
}

LearnedTrigger::LearnedTrigger(const LearnedTriggerParameters& parameters)
    : parameters_(parameters), features_(parameters.sigma) {
  if (const std::string fault = learned_trigger_fault(parameters); !fault.empty()) {
    throw std::invalid_argument(fault);
  }
  gates_.resize(4 * parameters.units);
  hidden_.resize(parameters.units);
  cell_.resize(parameters.units);
}

void LearnedTrigger::start() {
  features_.start();
  forget();
  pause_ = 0;
}

void LearnedTrigger::forget() {
  std::ranges::fill(hidden_, 0.0);
  std::ranges::fill(cell_, 0.0);
  above_ = 0;
}

bool LearnedTrigger::observe(const TriggerInput& call) {
  const TriggerFeatureRow inputs = features_.observe(call);
  logit_ = learned_trigger_step(parameters_.weights, inputs, gates_, hidden_, cell_);
  above_ = logit_ > parameters_.threshold ? above_ + 1 : 0;
  if (pause_ > 0) {
    --pause_;
    return false;
  }
  if (above_ < parameters_.confirm) return false;
  features_.forget();
  forget();
  pause_ = parameters_.pause;
  return true;
}

}  // namespace cclgym
