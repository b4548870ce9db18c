// The hidden state of a machine: conditions that come and go while a job runs, and the variation of
// a call's time under one condition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/options/option.hpp"
#include "core/random.hpp"
#include "core/yaml/yaml.hpp"
#include "sim/noise/noise_profile.hpp"

namespace cclgym {

/// Ratio of a measured time to the simulated one: a factor exp(sigma Z), Z normal, and with a small
/// probability another factor 1 + X, P(X > x) = (tail_least / x)^tail_shape.
struct MeasurementNoise {
  double sigma = 0;
  double tail_probability = 0;
  double tail_least = 0;
  double tail_shape = 2;

  [[nodiscard]] bool any() const { return sigma > 0 || (tail_probability > 0 && tail_least > 0); }
  /// Draws the factor of one call. The number of draws does not depend on their values.
  [[nodiscard]] double draw(Random& random) const;
};

/// A possible condition of the machine.
struct NoiseRegime {
  NoiseProfile profile;
  double weight = 1;      ///< probability of being the next regime, relative to the others
  double mean_calls = 0;  ///< mean duration in calls; 0: unlimited
  /// Number of simulated moments of a profile with random parts; each call meets one of them at
  /// random. It is finite so that times can be cached.
  int moments = 1;
};

struct NoiseRegimes {
  std::string name = "none";
  std::string description;
  MeasurementNoise measurement;
  std::vector<NoiseRegime> regimes{NoiseRegime{}};  ///< not empty
};

/// Keys of a list of regimes, of a single regime, and of `measurement`.
[[nodiscard]] const std::vector<OptionSpec>& regimes_options();
[[nodiscard]] const std::vector<OptionSpec>& regime_options();
[[nodiscard]] const std::vector<OptionSpec>& measurement_options();

/// Names of the shipped lists: "none", "jitter", "cloud-ib", "stragglers", "slingshot",
/// "cloud-faults".
[[nodiscard]] const std::vector<std::string>& noise_regimes_names();
/// Reads one of these names, the path of a YAML file, or a mapping. Throws UserError at the
/// location of the mistake.
[[nodiscard]] NoiseRegimes read_noise_regimes(const YamlValue& value);

/// A Markov chain over the regimes: after each call, regime i is left with probability 1 /
/// mean_calls for another regime, drawn by weight. The draws do not depend on the actions taken.
class RegimeChain {
 public:
  explicit RegimeChain(const NoiseRegimes& regimes) : regimes_(&regimes) {}

  /// Draws the first regime of an episode by weight.
  void start(Random& random);
  /// Advances the chain; called before every call except the first.
  void advance(Random& random);

  /// Fixes the regime of an episode; replaces start and advance.
  void hold(std::size_t regime, Random& random);
  void stay(Random& random) { draw_call(random); }

  [[nodiscard]] std::size_t regime() const { return regime_; }
  /// Moment of the regime for this call.
  [[nodiscard]] std::uint16_t moment() const { return moment_; }
  /// Factor on the simulated time of this call.
  [[nodiscard]] double factor() const { return factor_; }
  /// Moment and factor of another call in the same regime: the default's, with which a reward
  /// compares. They come from a stream of their own, so that calls do not depend on them.
  [[nodiscard]] std::uint16_t other_moment() const { return other_moment_; }
  [[nodiscard]] double other_factor() const { return other_factor_; }

 private:
  std::size_t draw(Random& random, bool other) const;
  void draw_call(Random& random);
  void begin(Random& random);

  const NoiseRegimes* regimes_;
  std::size_t regime_ = 0;
  std::uint16_t moment_ = 0;
  double factor_ = 1;
  Random other_{0};  ///< stream of the other call's noise
  std::uint16_t other_moment_ = 0;
  double other_factor_ = 1;
};

}  // namespace cclgym
