// Wrappers that scale observations and rewards by their running moments, like Gymnasium's wrappers
// of the same names. Each environment of a vector has its own moments.
#pragma once

#include <vector>

#include "env/gym/wrapper.hpp"

namespace cclgym {

/// Element-wise mean and variance of a stream of vectors (Chan, Golub, LeVeque, "Updating formulae
/// and a pairwise algorithm for computing sample variances", 1979). They start at 0 and 1 with the
/// weight of 1e-4 values, as in Gymnasium.
class RunningMoments {
 public:
  explicit RunningMoments(std::size_t size) : mean_(size, 0.0), variance_(size, 1.0) {}

  void update(std::span<const float> value);
  void update(double value);  ///< requires size 1
  [[nodiscard]] const std::vector<double>& mean() const { return mean_; }
  [[nodiscard]] const std::vector<double>& variance() const { return variance_; }

 private:
  void update_element(std::size_t element, double value, double new_count);

  std::vector<double> mean_;
  std::vector<double> variance_;
  double count_ = 1e-4;
};

/// Subtracts the mean from observations and divides by their standard deviation.
class NormalizeObservation : public Wrapper {
 public:
  /// Throws std::invalid_argument if the observation space is not a Box, or epsilon <= 0.
  explicit NormalizeObservation(std::unique_ptr<Environment> inner, double epsilon = 1e-8);

  [[nodiscard]] const EnvironmentSpec& spec() const override { return spec_; }
  using Wrapper::reset;
  void reset(std::optional<std::uint64_t> seed, const YamlValue& options,
             const StepBuffers& out) override;
  StepOutcome step(std::span<const std::int32_t> action, const StepBuffers& out) override;

  /// Turns updating of the moments on (the default) or off (for evaluation).
  void set_updating(bool updating) { updating_ = updating; }
  [[nodiscard]] const RunningMoments& moments() const { return moments_; }

 private:
  void normalize(std::span<float> out);

  EnvironmentSpec spec_;
  std::vector<float> raw_;
  RunningMoments moments_;
  double epsilon_;
  bool updating_ = true;
};

/// Divides rewards by the standard deviation of their discounted sum.
class NormalizeReward : public Wrapper {
 public:
  /// Throws std::invalid_argument unless 0 <= gamma <= 1 and epsilon > 0.
  explicit NormalizeReward(std::unique_ptr<Environment> inner, double gamma = 0.99,
                           double epsilon = 1e-8);

  [[nodiscard]] const EnvironmentSpec& spec() const override { return spec_; }
  StepOutcome step(std::span<const std::int32_t> action, const StepBuffers& out) override;

  /// Turns updating of the moments on (the default) or off (for evaluation).
  void set_updating(bool updating) { updating_ = updating; }
  [[nodiscard]] const RunningMoments& moments() const { return moments_; }

 private:
  EnvironmentSpec spec_;
  RunningMoments moments_{1};
  double gamma_;
  double epsilon_;
  double discounted_ = 0;
  bool updating_ = true;
};

}  // namespace cclgym
