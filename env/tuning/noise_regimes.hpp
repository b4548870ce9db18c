// The hidden state of a machine: conditions that come and go while a job runs, and what a call's
// time varies by within one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/options/option.hpp"
#include "core/random.hpp"
#include "core/yaml/yaml.hpp"
#include "sim/noise/noise_profile.hpp"

namespace cclgym {

/// What a measured time differs from the simulated one by: a factor exp(sigma Z), Z normal, and
/// with a small probability another 1 + X, P(X > x) = (tail_least / x)^tail_shape.
struct MeasurementNoise {
  double sigma = 0;
  double tail_probability = 0;
  double tail_least = 0;
  double tail_shape = 2;

  [[nodiscard]] bool any() const { return sigma > 0 || (tail_probability > 0 && tail_least > 0); }
  /// The factor of one call. Takes the same draws whatever comes of them.
  [[nodiscard]] double draw(Random& random) const;
};

/// One condition that the machine may be in.
struct NoiseRegime {
  NoiseProfile profile;
  double weight = 1;      ///< how likely it is to come next, relative to the others
  double mean_calls = 0;  ///< that it lasts for; 0: for ever
  /// Of a profile with random parts: how many moments of it are simulated, one of which a call
  /// meets by chance. Finitely many, so that times can be kept.
  int moments = 1;
};

struct NoiseRegimes {
  std::string name = "none";
  std::string description;
  MeasurementNoise measurement;
  std::vector<NoiseRegime> regimes{NoiseRegime{}};  ///< at least one
};

/// Keys of a list of regimes, of one of it, and of `measurement`.
[[nodiscard]] const std::vector<OptionSpec>& regimes_options();
[[nodiscard]] const std::vector<OptionSpec>& regime_options();
[[nodiscard]] const std::vector<OptionSpec>& measurement_options();

/// "none", "jitter", "cloud-ib", "stragglers".
[[nodiscard]] const std::vector<std::string>& noise_regimes_names();
/// One of these names, the path of a YAML file, or a mapping. Throws UserError at the place of what
/// is wrong.
[[nodiscard]] NoiseRegimes read_noise_regimes(const YamlValue& value);

/// A Markov chain over the regimes: after each call, regime i is left with probability
/// 1 / mean_calls, for another one drawn by weight. What it draws does not depend on what anybody
/// does.
class RegimeChain {
 public:
  explicit RegimeChain(const NoiseRegimes& regimes) : regimes_(&regimes) {}

  /// The first regime of an episode, drawn by weight.
  void start(Random& random);
  /// Before each call but the first.
  void advance(Random& random);

  /// In place of start and advance, for an episode in one regime.
  void hold(std::size_t regime, Random& random);
  void stay(Random& random) { draw_call(random); }

  [[nodiscard]] std::size_t regime() const { return regime_; }
  /// Of the regime, for this call.
  [[nodiscard]] std::uint16_t moment() const { return moment_; }
  /// What the simulated time of this call is multiplied by.
  [[nodiscard]] double factor() const { return factor_; }

 private:
  std::size_t draw(Random& random, bool other) const;
  void draw_call(Random& random);

  const NoiseRegimes* regimes_;
  std::size_t regime_ = 0;
  std::uint16_t moment_ = 0;
  double factor_ = 1;
};

}  // namespace cclgym
