#include "agents/trigger/learned_training.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <tuple>

namespace cclgym {

namespace {

// Set by hand.
constexpr std::int64_t kMostDelay = 32;
constexpr double kFalseAlarms = 1.0 / 400;
constexpr double kLearningRate = 5e-3;
constexpr double kLeastRate = 5e-4;
constexpr double kMaxNorm = 1;
constexpr double kMostMismatch = 1.5;  // in ln(sigma)

std::vector<double> initial_weights(std::size_t units, double share, Random& random) {
  const std::size_t columns = kTriggerFeatures + units + 1;
  std::vector<double> weights;
  const double range = std::sqrt(3 / static_cast<double>(columns - 1));
  for (std::size_t row = 0; row < 4 * units; ++row) {
    for (std::size_t k = 0; k + 1 < columns; ++k) weights.push_back(random.uniform(-range, range));
    const bool keeps = row / units == 1;
    weights.push_back(keeps ? 1 : 0);
  }
  for (std::size_t k = 0; k < units; ++k) weights.push_back(random.uniform(-0.1, 0.1));
  weights.push_back(portable_log(share / (1 - share)));
  return weights;
}

// Adam (Kingma and Ba 2015, algorithm 1) with a bound on the gradient's norm.
class TriggerAdam {
 public:
  explicit TriggerAdam(std::size_t weights) : mean_(weights), square_(weights) {}

  void step(std::vector<double>& weights, std::vector<double>& gradient, double rate) {
    double squares = 0;
    for (const double g : gradient) squares += g * g;
    const double norm = std::sqrt(squares);
    if (!std::isfinite(norm)) {
      throw std::runtime_error("training of the trigger diverged: a gradient is not finite");
    }
    const double scale = norm > kMaxNorm ? kMaxNorm / norm : 1;
    mean_decay_ *= kMeanDecay;
    square_decay_ *= kSquareDecay;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double g = gradient[i] * scale;
      mean_[i] = kMeanDecay * mean_[i] + (1 - kMeanDecay) * g;
      square_[i] = kSquareDecay * square_[i] + (1 - kSquareDecay) * g * g;
      weights[i] -= rate * mean_[i] / (1 - mean_decay_) /
                    (std::sqrt(square_[i] / (1 - square_decay_)) + 1e-8);
    }
  }

 private:
  static constexpr double kMeanDecay = 0.9;
  static constexpr double kSquareDecay = 0.999;
  std::vector<double> mean_;
  std::vector<double> square_;
  double mean_decay_ = 1;
  double square_decay_ = 1;
};

}  // namespace

std::vector<TriggerSequence> trigger_sequences(const TriggerStream& stream, double sigma,
                                               Random& random) {
  std::vector<TriggerSequence> sequences(1);
  TriggerFeatures features(sigma);
  bool changed = false;
  std::size_t alarm_at = 0;
  for (std::size_t t = 0; t < stream.calls.size(); ++t) {
    if (t > 0 && stream.regimes[t] != stream.regimes[t - 1] && !changed) {
      changed = true;
      alarm_at = t + static_cast<std::size_t>(random.integer(0, kMostDelay - 1));
    }
    sequences.back().inputs.push_back(features.observe(stream.calls[t]));
    sequences.back().changed.push_back(changed ? 1 : 0);
    const bool alarm = changed ? t >= alarm_at : random.uniform() < kFalseAlarms;
    if (!alarm) continue;
    features.forget();
    changed = false;
    sequences.emplace_back();
  }
  return sequences;
}

LearnedTriggerParameters fit_trigger_weights(std::span<const TriggerStream> streams, double sigma,
                                             const LearnedTriggerTraining& training,
                                             std::uint64_t seed) {
  Random random = Random::stream(seed, {0x7472696767657273U});
  LearnedTriggerParameters parameters{.sigma = sigma, .units = training.units};
  constexpr double kUsualShare = 0.05;  // share of calls after a change, from which the bias starts
  std::vector<double> weights = initial_weights(training.units, kUsualShare, random);
  TriggerAdam adam(weights.size());
  const std::size_t steps = training.epochs * streams.size();
  for (std::size_t step = 0; step < steps; ++step) {
    const TriggerStream made = with_made_up_bytes(streams[step % streams.size()], sigma, random);
    std::vector<double> gradient(weights.size());
    double calls = 0;
    // Another machine has another jitter than the first assumption.
    const double factor = portable_exp(random.uniform(-kMostMismatch, kMostMismatch));
    const double assumed = random.uniform() < 0.5 ? sigma : sigma * factor;
    for (const TriggerSequence& sequence : trigger_sequences(made, assumed, random)) {
      (void)trigger_loss(weights, training.units, sequence, gradient);
      calls += static_cast<double>(sequence.inputs.size());
    }
    for (double& one : gradient) one /= std::max(1.0, calls);
    const double left = 1 - static_cast<double>(step) / static_cast<double>(steps);
    adam.step(weights, gradient, kLeastRate + (kLearningRate - kLeastRate) * left);
  }
  // As the file has them.
  for (const double one : weights) {
    parameters.weights.push_back(static_cast<double>(static_cast<float>(one)));
  }
  return parameters;
}

LearnedTriggerParameters choose_threshold(LearnedTriggerParameters parameters,
                                          std::span<const TriggerStream> streams,
                                          double false_alarms_per_1000) {
  constexpr double kHighest = 10;
  constexpr double kLowest = -2;
  constexpr double kStep = 0.5;
  LearnedTriggerParameters best = parameters;
  best.threshold = kHighest;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::pair<double, double> least{kNever, kNever};
  for (double threshold = kHighest; threshold >= kLowest; threshold -= kStep) {
    for (const std::uint32_t confirm : {1U, 2U, 3U}) {
      for (const std::uint32_t pause : {0U, 8U}) {
        parameters.threshold = threshold;
        parameters.confirm = confirm;
        parameters.pause = pause;
        const TriggerMeasure measure = measure_detector(ChangeDetector(parameters), streams);
        if (measure.false_alarms_per_1000() >= false_alarms_per_1000) continue;
        const double missed = static_cast<double>(measure.changes - measure.found) /
                              static_cast<double>(std::max<std::size_t>(1, measure.changes));
        // As train_trigger weighs them.
        const std::pair score{std::min(measure.median_delay, 1e3) + 20 * missed,
                              std::min(measure.p90_delay, 1e3)};
        if (score < least) {
          least = score;
          best = parameters;
        }
      }
    }
  }
  return best;
}

}  // namespace cclgym
