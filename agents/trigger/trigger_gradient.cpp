#include "agents/trigger/trigger_gradient.hpp"

#include <algorithm>
#include <cmath>

#include "core/random.hpp"

namespace cclgym {

namespace {

// ln(1 + exp(x))
double softplus(double x) {
  return std::max(x, 0.0) + portable_log(1 + portable_exp(-std::abs(x)));
}

double tanh_of(double x) { return 2 * trigger_sigmoid(2 * x) - 1; }

}  // namespace

double trigger_loss(std::span<const double> weights, std::size_t units,
                    const TriggerSequence& sequence, std::span<double> gradient) {
  const std::size_t steps = sequence.inputs.size();
  const std::size_t columns = kTriggerFeatures + units + 1;
  const std::size_t out = 4 * units * columns;
  // Row t + 1 of the states is the state after call t.
  std::vector<double> gates(steps * 4 * units);
  std::vector<double> hidden((steps + 1) * units);
  std::vector<double> cell((steps + 1) * units);
  std::vector<double> slope(steps);  // derivative of the loss by the logit
  double loss = 0;
  for (std::size_t t = 0; t < steps; ++t) {
    const auto own = [&](std::vector<double>& states) {
      const auto before = states.begin() + static_cast<std::ptrdiff_t>(t * units);
      const auto after = before + static_cast<std::ptrdiff_t>(units);
      std::copy(before, after, after);
      return std::span(states).subspan((t + 1) * units, units);
    };
    const double logit = learned_trigger_step(weights, sequence.inputs[t],
                                              std::span(gates).subspan(4 * t * units, 4 * units),
                                              own(hidden), own(cell));
    loss += softplus(logit) - sequence.changed[t] * logit;
    slope[t] = trigger_sigmoid(logit) - sequence.changed[t];
  }
  if (gradient.empty()) return loss;
  std::vector<double> of_hidden(units);  // slope in the state after call t
  std::vector<double> of_cell(units);
  std::vector<double> of_gate(4 * units);
  for (std::size_t t = steps; t-- > 0;) {
    const double* gate = &gates[4 * t * units];
    const double* before = &cell[t * units];
    const double* after = &cell[(t + 1) * units];
    gradient[out + units] += slope[t];
    for (std::size_t i = 0; i < units; ++i) {
      gradient[out + i] += slope[t] * hidden[(t + 1) * units + i];
      const double of_h = of_hidden[i] + slope[t] * weights[out + i];
      const double in = gate[i];
      const double keep = gate[units + i];
      const double value = gate[2 * units + i];
      const double output = gate[3 * units + i];
      const double squashed = tanh_of(after[i]);
      const double of_c = of_cell[i] + of_h * output * (1 - squashed * squashed);
      of_gate[i] = of_c * value * in * (1 - in);
      of_gate[units + i] = of_c * before[i] * keep * (1 - keep);
      of_gate[2 * units + i] = of_c * in * (1 - value * value);
      of_gate[3 * units + i] = of_h * squashed * output * (1 - output);
      of_cell[i] = of_c * keep;
      of_hidden[i] = 0;
    }
    for (std::size_t row = 0; row < 4 * units; ++row) {
      const double one = of_gate[row];
      const double* weight = &weights[row * columns];
      double* own = &gradient[row * columns];
      for (std::size_t k = 0; k < kTriggerFeatures; ++k) own[k] += one * sequence.inputs[t][k];
      for (std::size_t k = 0; k < units; ++k) {
        own[kTriggerFeatures + k] += one * hidden[t * units + k];
        of_hidden[k] += one * weight[kTriggerFeatures + k];
      }
      own[columns - 1] += one;
    }
  }
  return loss;
}

}  // namespace cclgym
